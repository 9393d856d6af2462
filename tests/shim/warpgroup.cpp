#include "tests/shim/warpgroup.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {
namespace {

constexpr int kRows = 64;    // the rows of an instruction
constexpr int kKBytes = 32;  // the bytes of a row of A or a column of B
constexpr int kMostColumns = 256;
constexpr unsigned kNan = ~0u;

/// Where a tile lies in shared memory (PTX ISA, Matrix Descriptor Format and Canonical Layouts).
class Tile {
 public:
  Tile(Block& block, unsigned long long descriptor, bool along_k, int element_bytes)
      : block_(block),
        address_(field(descriptor, 0)),
        column_bytes_(static_cast<int>(field(descriptor, 16))),
        group_bytes_(static_cast<int>(field(descriptor, 32))),
        line_bytes_(256 >> (descriptor >> 62)),
        along_k_(along_k),
        element_bytes_(element_bytes) {
    if (descriptor >> 62 == 0) complain("a tile that is not swizzled is not simulated");
    if ((descriptor >> 49 & 7) != 0) complain("a tile with a base offset is not simulated");
  }

  /// The bytes of the row or column number `i` of an operand, at a step along k.
  const unsigned char* at(int i, int k) const {
    const int line = along_k_ ? i : k;
    const int byte = (along_k_ ? k : i) * element_bytes_;
    const int offset =
        byte / line_bytes_ * column_bytes_ + line / 8 * group_bytes_ + line % 8 * line_bytes_ + byte % line_bytes_;
    unsigned char* const element = shared_at(block_, address_ + static_cast<unsigned>(offset), element_bytes_);
    return swizzled(element, line_bytes_);
  }

 private:
  /// 14 bits in units of 16 bytes.
  static unsigned field(unsigned long long descriptor, int shift) {
    return static_cast<unsigned>(descriptor >> shift & 0x3fff) * 16;
  }

  Block& block_;
  unsigned address_;
  int column_bytes_;  ///< the distance from one column of lines to the next
  int group_bytes_;   ///< the distance from eight lines to the next
  int line_bytes_;
  bool along_k_;
  int element_bytes_;
};

/// Where sum number `i` of a thread is in the tile (wgmma.cuh).
struct Place {
  int row, column;

  Place(int thread, int i)
      : row(16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2)), column(i / 4 * 8 + 2 * (thread % 4) + i % 2) {}
};

Warpgroup& own_warpgroup() {
  const Thread& thread = self();
  auto& warpgroups = thread.block->warpgroups;
  if (warpgroups.empty()) {
    for (std::size_t i = 0; i < thread.block->threads.size() / Warpgroup::kThreads; ++i) {
      warpgroups.emplace_back(*thread.block);
    }
  }
  const auto number = static_cast<std::size_t>(thread.number / Warpgroup::kThreads);
  if (number >= warpgroups.size()) complain("an instruction of a warpgroup in less than four warps");
  return warpgroups[number];
}

int number_in_warpgroup() { return self().number % Warpgroup::kThreads; }

}  // namespace

Warpgroup::Sums& Warpgroup::hide(Member& member, unsigned* registers, int count) {
  for (Sums& sums : member.sums) {
    if (sums.registers != registers) continue;
    if (sums.values.size() != static_cast<std::size_t>(count)) {
      complain("a multiplication adds to sums of an unfinished one of another shape");
    }
    return sums;
  }
  if (!member.is_fenced) complain("a multiplication without wgmma_fence() since its registers were written");
  member.sums.push_back({registers, {registers, registers + count}, 0});
  std::fill_n(registers, count, kNan);
  return member.sums.back();
}

void Warpgroup::multiply(int thread, const Multiplication& what, unsigned* sums, const unsigned* a) {
  Member& member = members_[static_cast<std::size_t>(thread)];
  if (a != nullptr && !member.is_fenced) complain("a multiplication without wgmma_fence() since A was written");
  const auto number = static_cast<std::size_t>(member.asked++ - finished_);
  if (number == unfinished_.size()) unfinished_.push_back({what, {}, 0});
  Instruction& instruction = unfinished_[number];
  if (instruction.what != what) complain("the threads of a warpgroup want different multiplications");
  Sums& hidden = hide(member, sums, what.columns / 2);
  ++hidden.pending;
  instruction.operands[static_cast<std::size_t>(thread)] = {&hidden, a};
  ++instruction.threads;
}

void Warpgroup::commit(int thread) {
  Member& member = members_[static_cast<std::size_t>(thread)];
  member.groups.push_back(member.asked);
}

void Warpgroup::wait(int thread, int pending) {
  Member& member = members_[static_cast<std::size_t>(thread)];
  member.is_fenced = false;
  long long until = 0;
  const auto ending = static_cast<std::ptrdiff_t>(member.groups.size()) - pending;
  if (ending > 0) {
    until = member.groups[static_cast<std::size_t>(ending - 1)];
    member.groups.erase(member.groups.begin(), member.groups.begin() + ending);
  }
  if (finished_ >= until) return;
  wanted_ = std::max(wanted_, until);
  wait_until("multiplications of the warpgroup", 0, [this, until] { return finished_ >= until; });
}

bool Warpgroup::run() {
  bool any = false;
  for (; finished_ < wanted_ && unfinished_.front().threads == kThreads; ++finished_, any = true) {
    const Instruction& next = unfinished_.front();
    if (next.what.in_integers) {
      run<unsigned>(next);
    } else {
      run<float>(next);
    }
    unfinished_.pop_front();
  }
  return any;
}

bool Warpgroup::is_idle() const { return unfinished_.empty(); }

template <class Number>
void Warpgroup::run(const Instruction& instruction) {
  const Multiplication& what = instruction.what;
  const int columns = what.columns, steps = kKBytes / what.element_bytes;
  static Number a[kRows][kKBytes], b[kKBytes][kMostColumns], tile[kRows][kMostColumns];  // much for a stack

  const Tile tile_b(block_, what.b, what.b_along_k, what.element_bytes);
  for (int k = 0; k < steps; ++k) {
    for (int j = 0; j < columns; ++j) what.value(tile_b.at(j, k), &b[k][j]);
  }
  if (what.a_in_registers) {
    for (int thread = 0; thread < kThreads; ++thread) {
      const unsigned* const own = instruction.operands.at(static_cast<std::size_t>(thread)).a;
      const int elements = 4 / what.element_bytes;  // of a register, neighbours along k
      for (int i = 0; i < 4 * elements; ++i) {
        const int at = i / elements;
        const int k = (thread % 4 + at / 2 * 4) * elements + i % elements;
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&own[at]);
        what.value(bytes + i % elements * what.element_bytes, &a[Place(thread, at % 2 * 2).row][k]);
      }
    }
  } else {
    const Tile tile_a(block_, what.a, what.a_along_k, what.element_bytes);
    for (int i = 0; i < kRows; ++i) {
      for (int k = 0; k < steps; ++k) what.value(tile_a.at(i, k), &a[i][k]);
    }
  }

  const auto for_each_sum = [&](const auto& visit) {
    for (int thread = 0; thread < kThreads; ++thread) {
      unsigned* const values = instruction.operands.at(static_cast<std::size_t>(thread)).sums->values.data();
      for (int i = 0; i < columns / 2; ++i) {
        const Place place(thread, i);
        visit(tile[place.row][place.column], values[i]);
      }
    }
  };
  for_each_sum([&](Number& sum, unsigned value) { sum = what.adds ? std::bit_cast<Number>(value) : Number(0); });
  // One fused sum, as on a GPU: rounded once.
  using Wide = std::conditional_t<std::is_floating_point_v<Number>, double, Number>;
  Wide total[kMostColumns];
  for (int i = 0; i < kRows; ++i) {
    std::copy_n(tile[i], columns, total);
    for (int k = 0; k < steps; ++k) {
      for (int j = 0; j < columns; ++j) total[j] += static_cast<Wide>(a[i][k]) * static_cast<Wide>(b[k][j]);
    }
    for (int j = 0; j < columns; ++j) tile[i][j] = static_cast<Number>(total[j]);
  }
  for_each_sum([](Number sum, unsigned& value) { value = std::bit_cast<unsigned>(sum); });
  for (int thread = 0; thread < kThreads; ++thread)
    show(thread, *instruction.operands.at(static_cast<std::size_t>(thread)).sums);
}

void Warpgroup::show(int thread, Sums& sums) {
  if (--sums.pending > 0) return;
  if (!std::all_of(sums.registers, sums.registers + sums.values.size(), [](unsigned at) { return at == kNan; })) {
    complain("sums of an unfinished multiplication were written");
  }
  std::copy(sums.values.begin(), sums.values.end(), sums.registers);
  members_[static_cast<std::size_t>(thread)].sums.remove_if([&](const Sums& each) { return &each == &sums; });
}

// What kernels call; see device/calls.h.

void multiply_tiles(const Multiplication& multiplication, void* sums, const unsigned* a) {
  own_warpgroup().multiply(number_in_warpgroup(), multiplication, static_cast<unsigned*>(sums), a);
}
void fence_registers() { own_warpgroup().fence(number_in_warpgroup()); }
void commit_multiplications() { own_warpgroup().commit(number_in_warpgroup()); }
void wait_multiplications(int pending) { own_warpgroup().wait(number_in_warpgroup(), pending); }

namespace {

void check_registers(int registers, bool is_change) {
  if (registers % 8 != 0 || registers < 24 || registers > 256) {
    complain("setmaxnreg takes multiples of 8 from 24 to 256");
  }
  if (!is_change) complain("setmaxnreg in the wrong direction");
}

}  // namespace

void give_registers_back(int registers) {
  Thread& thread = self();
  check_registers(registers, registers <= thread.registers);
  thread.block->free_registers += thread.registers - registers;
  thread.registers = registers;
}

void take_registers(int registers) {
  Thread& thread = self();
  check_registers(registers, registers >= thread.registers);
  int& free = thread.block->free_registers;
  const int more = registers - thread.registers;
  wait_until("registers", 0, [&free, more] { return free >= more; });
  free -= more;
  thread.registers = registers;
}

}  // namespace mmtune::shim
