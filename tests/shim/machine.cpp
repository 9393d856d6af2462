#include "tests/shim/machine.h"

#include <fmt/format.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {

namespace {

constexpr int kWarp = 32;
constexpr std::size_t kSharedAlignment = 128;
constexpr std::uint64_t kSeed = 1;

const Launch* launched = nullptr;
Thread* current = nullptr;

/// Which thread of what a report is about.
void tell_where() {
  if (launched == nullptr) return;
  constexpr const char* kOrders[] = {"forward", "backward", "random"};
  fmt::print(stderr, "shim: while running {}, kernel {}, in {} order", launched->what, launched->step.kernel,
             kOrders[static_cast<int>(launched->order)]);
  if (current != nullptr) {
    const Index3& block = current->block->index;
    fmt::print(stderr, ", block {}, thread ({}, {}, {})", block.x, current->index.x, current->index.y,
               current->index.z);
  }
  fmt::print(stderr, "\n");
}

Index3 position(const Extent3& extent, long long number) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

/// Fibers are kept, since making one costs more than most blocks take.
Fiber& fiber(std::size_t number) {
  static std::deque<Fiber> fibers;
  while (fibers.size() <= number) fibers.emplace_back();
  return fibers[number];
}

/// Why no thread can go on.
std::string stuck(const std::vector<Thread*>& threads, std::size_t all) {
  std::map<std::string, int> places;
  for (const Thread* thread : threads) ++places[fmt::format("{}, line {}", thread->waits_for, thread->waits_line)];
  std::string text = fmt::format("of {} threads {} have left and the others wait for ever:", all, all - threads.size());
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

/// After the thread's turn. A block that all have left gives its shared memory back.
bool leave_if(bool ended) {
  if (!ended) return false;
  Block& block = *current->block;
  if (--block.running == 0) {
    if (!block.bulk.empty()) complain("the block ends before its bulk copies have arrived");
    block.shared.reset();
  }
  return true;
}

void run_cluster(Cluster& cluster, const Launch& launch, Turns& turns) {
  std::vector<Thread*> waiting;
  for (Block& block : cluster.blocks) {
    for (Thread& thread : block.threads) {
      thread.fiber = &fiber(waiting.size());
      thread.fiber->start(launch.thread);
      thread.ready = [] { return true; };
      waiting.push_back(&thread);
    }
  }
  const std::size_t all = waiting.size();
  for (turns.arrange(waiting); !waiting.empty(); turns.rearrange(waiting)) {
    bool progress = false;
    std::erase_if(waiting, [&progress](Thread* thread) {
      if (!thread->ready()) return false;
      progress = true;
      current = thread;
      const bool left = leave_if(thread->fiber->resume());
      current = nullptr;
      return left;
    });
    if (!progress && !deliver(cluster)) complain(stuck(waiting, all).c_str());
  }
}

}  // namespace

Block::Block(const LaunchStep& step, Cluster& of, Index3 at)
    : cluster(&of),
      index(at),
      shared_bytes(step.smem_bytes),
      all(static_cast<int>(block_threads(step))),
      threads(static_cast<std::size_t>(block_threads(step))),
      running(threads.size()) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kSharedAlignment, static_cast<std::size_t>(shared_bytes)) != 0) throw std::bad_alloc();
  shared.reset(static_cast<unsigned char*>(memory));
  std::memset(memory, 0xff, static_cast<std::size_t>(shared_bytes));
  for (int left = static_cast<int>(threads.size()); left > 0; left -= kWarp) warps.emplace_back(std::min(left, kWarp));
  for (int number = 0; number < static_cast<int>(threads.size()); ++number) {
    Thread& thread = threads[static_cast<std::size_t>(number)];
    thread.block = this;
    thread.index = position(step.block, number);
    thread.number = number;
  }
}

Cluster::Cluster(const LaunchStep& step, long long first_block)
    : all(static_cast<int>(block_threads(step)) * step.cluster) {
  for (int i = 0; i < step.cluster; ++i) blocks.emplace_back(step, *this, position(step.grid, first_block + i));
}

void Meeting::meet(const char* what, int line) {
  if (arrived_ > 0 && line != line_) {
    complain(fmt::format("{} at line {}, while other threads are at line {}", what, line, line_).c_str());
  }
  line_ = line;
  const unsigned meeting = count_;
  if (++arrived_ == members_) {
    arrived_ = 0;
    ++count_;
  }
  wait_until(what, line, [this, meeting] { return count_ != meeting; });
}

Thread& self() {
  if (current == nullptr) complain("called by no thread of a kernel");
  return *current;
}

void wait_until(const char* what, int line, std::function<bool()> ready) {
  self().waits_for = what;
  self().waits_line = line;
  self().ready = std::move(ready);
  Fiber::suspend();
}

void run(const Launch& launch) {
  const LaunchStep& step = launch.step;
  const long long blocks = step.grid.x * step.grid.y * step.grid.z;
  if (blocks % step.cluster != 0) complain("the grid is no whole number of clusters");
  launched = &launch;
  __sanitizer_set_death_callback(tell_where);
  std::vector<long long> first_blocks(static_cast<std::size_t>(blocks / step.cluster));
  for (std::size_t i = 0; i < first_blocks.size(); ++i) first_blocks[i] = static_cast<long long>(i) * step.cluster;
  Turns turns(launch.order);
  turns.arrange(first_blocks);
  for (const long long first : first_blocks) {
    Cluster cluster(step, first);
    run_cluster(cluster, launch, turns);
  }
  launched = nullptr;
}

// What kernels call; see device/calls.h.

const Index3& thread_index() { return self().index; }
const Index3& block_index() { return self().block->index; }
unsigned char* dynamic_shared() { return self().block->shared.get(); }
void sync_threads(int line) { self().block->all.meet("__syncthreads()", line); }
void cluster_sync() { self().block->cluster->all.meet("cluster_sync()", 0); }

void exchange(const void* value, void* result, int bytes, int lane_mask, int line) {
  const int number = self().number;
  Warp& warp = self().block->warps[static_cast<std::size_t>(number / kWarp)];
  auto& values = warp.values[warp.meeting.count() % 2];
  const auto lane = static_cast<std::size_t>(number % kWarp);
  std::memcpy(&values[lane], value, static_cast<std::size_t>(bytes));
  warp.meeting.meet("a shuffle", line);
  std::memcpy(result, &values[lane ^ static_cast<std::size_t>(lane_mask)], static_cast<std::size_t>(bytes));
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
