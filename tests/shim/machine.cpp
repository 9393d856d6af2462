#include "tests/shim/machine.h"

#include <fmt/format.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <utility>

#include "tests/shim/machine_state.h"

// Looking for leaks needs rights that not every container gives. What a kernel reads lives as long as its launch, so
// that little of what was freed need be kept, and is filled by what allocates it; and where that was says nothing that
// the report's scene does not. Memory is compared by the machine alone, after every turn of a thread.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
const char* __asan_default_options() {
  return "detect_leaks=0:quarantine_size_mb=16:malloc_context_size=2:max_malloc_fill_size=0:intercept_memcmp=0";
}

namespace mmtune::shim {
namespace {

constexpr std::size_t kSharedAlignment = 1024;  // the alignment of the widest swizzle's pattern
constexpr std::uint64_t kSeed = 1;
constexpr int kRegisters = 65536;    // the registers of a multiprocessor
constexpr int kMostRegisters = 248;  // the registers of a thread, by eights
// Bytes of shared memory of a multiprocessor, and those that the system keeps of every block's share.
constexpr std::int64_t kSharedOfAll = 233472;
constexpr std::int64_t kSharedReserved = 1024;

const Launch* launched = nullptr;
bool previous_pending = false;  // the step before has not run
bool previous_wanted = false;   // whether a thread waits for the step before
Thread* current = nullptr;
std::size_t seats_in_use = 0;

/// Says which thread of which block a report is about.
void tell_where() {
  if (launched == nullptr) return;
  fmt::print(stderr, "shim: while running {}, kernel {}, in {} order", launched->what, launched->step.kernel,
             to_string(launched->order));
  if (current != nullptr) {
    const Index3& block = current->block->index;
    fmt::print(stderr, ", block {}, thread ({}, {}, {})", block.x, current->index.x, current->index.y,
               current->index.z);
  }
  fmt::print(stderr, "\n");
}

/// Follows the instruction that checks of undefined behaviour end in (tests/shim/program.cpp).
void complain_of_trap(int) {
  complain(
      "undefined behaviour, such as an index out of bounds, a misaligned address or an overflow; the environment "
      "variable MMTUNE_TEST_NAME_FAULTS=1 has it named");
}

Index3 position(const Extent3& extent, long long number) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

long long size(const Extent3& extent) { return extent.x * extent.y * extent.z; }

Seat& seat(std::size_t number) {
  static std::deque<Seat> seats;
  while (seats.size() <= number) seats.emplace_back();
  return seats[number];
}

/// Why no thread can go on.
std::string stuck(const Cluster& cluster) {
  std::map<std::string, int> places;
  std::size_t left = 0;
  for (const Block& block : cluster.blocks) {
    left += block.threads.size() - block.staying.size();
    for (const Thread* thread : block.staying) {
      ++places[fmt::format("{}, line {}", thread->waits_for, thread->waits_line)];
    }
  }
  std::string text = fmt::format("{} threads have left and the others wait for ever:", left);
  for (const auto& [place, count] : places) text += fmt::format(" {} at {};", count, place);
  return text;
}

class Turns {
 public:
  explicit Turns(Order order) : order_(order), random_(kSeed) {}

  /// Puts forward ones in this order.
  template <class T>
  void arrange(std::vector<T>& items) {
    if (order_ == Order::backward) std::reverse(items.begin(), items.end());
    if (order_ == Order::random) shuffle(items);
  }
  /// The same before a new round.
  template <class T>
  void rearrange(std::vector<T>& items) {
    if (order_ == Order::random) shuffle(items);
  }

 private:
  template <class T>
  void shuffle(std::vector<T>& items) {
    std::shuffle(items.begin(), items.end(), random_);
  }

  Order order_;
  std::mt19937_64 random_;
};

/// Gives every thread of a block that can go on one turn. Returns whether there was one.
bool run_round(Block& block, Turns& turns) {
  bool progress = false;
  turns.rearrange(block.staying);
  for (Thread* thread : block.staying) {
    if (block.held || !thread->can_go_on()) continue;
    progress = true;
    current = thread;
    thread->left = thread->seat->fiber.resume();
    note_writes(*thread);
    current = nullptr;
  }
  std::erase_if(block.staying, [](const Thread* thread) { return thread->left; });
  return progress;
}

/// The end of a block, which gives its shared memory back.
void end(Block& block) {
  if (!block.bulk.empty() || !block.remote.empty()) complain("the block ends before its bulk copies have arrived");
  for (const Thread& thread : block.threads) {
    if (!thread.stores.empty() || !thread.store_groups.empty()) {
      complain("the block ends before its bulk stores have read its shared memory");
    }
  }
  for (const BoxPlace& box : block.prefetched) {
    if (std::find(block.copied.begin(), block.copied.end(), box) == block.copied.end()) {
      complain("the block asked L2 for a box that it does not copy");
    }
  }
  for (const Warpgroup& warpgroup : block.warpgroups) {
    if (!warpgroup.is_idle()) complain("the block ends before its multiplications");
  }
  finish_stores(block);
  block.shared.reset();
}

/// Lets a warpgroup multiply what it waits for; false if there is none.
bool multiply(Cluster& cluster) {
  for (Block& block : cluster.blocks) {
    for (Warpgroup& warpgroup : block.warpgroups) {
      if (warpgroup.run()) return true;
    }
  }
  return false;
}

/// Lets go on what was made to wait as long as possible; false if there is nothing.
bool relent(Cluster& cluster) {
  bool held = false;
  for (Block& block : cluster.blocks) held |= std::exchange(block.held, false);
  // Copies to shared memory come last, since what they replace shows it if it is read too late anyway.
  if (held || multiply(cluster) || read_stores(cluster) || deliver(cluster)) return true;
  if (!previous_wanted) return false;
  previous_wanted = previous_pending = false;
  launched->previous();
  return true;
}

/// Gives the threads of a block their seats.
void start(Block& block, const Launch& launch, Turns& turns) {
  for (Thread& thread : block.threads) {
    thread.seat = &seat(seats_in_use++);
    thread.seat->fiber.start(launch.thread);
    thread.seat->async.copies.clear();
    thread.seat->async.groups.clear();
    block.staying.push_back(&thread);
  }
  turns.arrange(block.staying);
}

/// Every block runs as far as it can get before the next one does; in random order a block even starts only when those
/// before it can do nothing without it.
void run_cluster(Cluster& cluster, const Launch& launch, Turns& turns) {
  std::vector<Block*> blocks, late;
  const std::size_t seats_before = seats_in_use;
  for (Block& block : cluster.blocks) blocks.push_back(&block);
  turns.arrange(blocks);
  if (launch.order == Order::random) {
    late.assign(blocks.begin() + 1, blocks.end());
    blocks.resize(1);
  }
  for (Block* block : blocks) start(*block, launch, turns);
  for (; !blocks.empty() || !late.empty(); turns.rearrange(blocks)) {
    bool progress = false;
    for (Block* block : blocks) {
      while (run_round(*block, turns)) progress = true;
      if (block->staying.empty()) end(*block);
    }
    std::erase_if(blocks, [](const Block* block) { return block->staying.empty(); });
    if (progress || relent(cluster)) continue;
    if (late.empty()) complain(stuck(cluster).c_str());
    start(*late.back(), launch, turns);
    blocks.push_back(late.back());
    late.pop_back();
  }
  seats_in_use = seats_before;
}

}  // namespace

std::string_view to_string(Order order) {
  constexpr std::string_view kNames[] = {"forward", "backward", "random"};
  return kNames[static_cast<std::size_t>(order)];
}

Block::Block(const LaunchStep& step, Cluster& of, Index3 at)
    : cluster(&of),
      index(at),
      shared_bytes(step.smem_bytes),
      all(static_cast<int>(block_threads(step))),
      threads(static_cast<std::size_t>(block_threads(step))) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kSharedAlignment, static_cast<std::size_t>(shared_bytes)) != 0) throw std::bad_alloc();
  shared.reset(static_cast<unsigned char*>(memory));
  std::memset(memory, 0xff, static_cast<std::size_t>(shared_bytes));
  for (int left = static_cast<int>(threads.size()); left > 0; left -= kWarp) warps.emplace_back(std::min(left, kWarp));
  const int count = static_cast<int>(threads.size());
  // Kernels that move registers leave room for the blocks that have room in shared memory.
  const auto blocks = static_cast<int>(std::max<std::int64_t>(1, kSharedOfAll / (shared_bytes + kSharedReserved)));
  for (int number = 0; number < count; ++number) {
    Thread& thread = threads[static_cast<std::size_t>(number)];
    thread.block = this;
    thread.index = position(step.block, number);
    thread.number = number;
    thread.registers = std::min(kRegisters / (count * blocks) / 8 * 8, kMostRegisters);
  }
}

Cluster::Cluster(const LaunchStep& step, const Extent3& extent, Index3 first)
    : grid{static_cast<unsigned>(step.grid.x), static_cast<unsigned>(step.grid.y), static_cast<unsigned>(step.grid.z)},
      all(static_cast<int>(block_threads(step) * size(extent))) {
  for (long long i = 0; i < size(extent); ++i) {
    const Index3 at = position(extent, i);
    blocks.emplace_back(step, *this, Index3{first.x + at.x, first.y + at.y, first.z + at.z});
  }
}

Thread& self() {
  if (current == nullptr) complain("called by no thread of a kernel");
  return *current;
}

void wait_until(const char* what, int line, std::function<bool()> ready) {
  Thread& thread = self();
  thread.waits_for = what;
  thread.waits_line = line;
  thread.counter = nullptr;
  thread.ready = std::move(ready);
  Fiber::suspend();
}

void wait_for_change(const char* what, int line, const unsigned& counter, unsigned counted) {
  Thread& thread = self();
  thread.waits_for = what;
  thread.waits_line = line;
  thread.counter = &counter;
  thread.counted = counted;
  Fiber::suspend();
}

void run(const Launch& launch) {
  const LaunchStep& step = launch.step;
  const Extent3& together = step.resident ? step.grid : step.cluster;
  const Extent3 clusters{step.grid.x / together.x, step.grid.y / together.y, step.grid.z / together.z};
  if (size(clusters) * size(together) != size(step.grid)) complain("the grid is no whole number of clusters");
  const Launch* const outer = std::exchange(launched, &launch);
  const Range outer_stored = exchange_stored({});
  const bool outer_pending = std::exchange(previous_pending, launch.previous != nullptr);
  __sanitizer_set_death_callback(tell_where);
  for (const int trap : {SIGILL, SIGTRAP}) std::signal(trap, complain_of_trap);
  std::vector<Index3> first_blocks;
  for (long long i = 0; i < size(clusters); ++i) {
    const Index3 at = position(clusters, i);
    first_blocks.push_back({at.x * static_cast<unsigned>(together.x), at.y * static_cast<unsigned>(together.y),
                            at.z * static_cast<unsigned>(together.z)});
  }
  Turns turns(launch.order);
  turns.arrange(first_blocks);
  for (const Index3& first : first_blocks) {
    Cluster cluster(step, together, first);
    run_cluster(cluster, launch, turns);
  }
  Fiber::leave();
  if (previous_pending) complain("the kernel never waits for the step before, which it overlaps");
  launched = outer;
  previous_pending = outer_pending;
  exchange_stored(outer_stored);
}

// What kernels call; see device/calls.h.

const Index3& thread_index() { return self().index; }
const Index3& block_index() { return self().block->index; }
const Index3& grid_size() { return self().block->cluster->grid; }
unsigned char* dynamic_shared() { return self().block->shared.get(); }

void cluster_arrive() {
  if (launched->step.resident) complain("clusters of resident blocks are not simulated");
  if (self().cluster_meeting) complain("cluster_arrive() without the wait for the arrival before");
  self().cluster_meeting = self().block->cluster->all.arrive("cluster_arrive()", 0);
}

void cluster_wait() {
  if (!self().cluster_meeting) complain("cluster_wait() without an arrival");
  self().block->cluster->all.wait(*self().cluster_meeting, "cluster_wait()", 0);
  self().cluster_meeting.reset();
}

void wait_for_previous() {
  if (!previous_pending) return;
  previous_wanted = true;
  wait_until("the step before", 0, [] { return !previous_pending; });
}

void launch_dependents() {
  if (launched->is_first && previous_pending) complain("the first step lets others start before it has waited");
}

int cluster_rank() {
  const Thread& thread = self();
  const auto& blocks = thread.block->cluster->blocks;
  const auto own =
      std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return &block == thread.block; });
  return static_cast<int>(own - blocks.begin());
}

void complain(const char* what) {
  fmt::print(stderr, "shim: ERROR: {}\n", what);
  tell_where();
  __sanitizer_print_stack_trace();
  _exit(1);
}

}  // namespace mmtune::shim
