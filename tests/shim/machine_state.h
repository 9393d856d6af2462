// What the parts of the machine share: machine.cpp (threads and where they meet), copies.cpp (asynchronous copies).
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/shim/device/calls.h"
#include "tests/shim/fiber.h"
#include "tests/shim/machine.h"

namespace mmtune::shim {

/// Where a number of threads meet again and again.
class Meeting {
 public:
  explicit Meeting(int members) : members_(members) {}

  /// Returns when all members are there. All must come from one line of the source.
  void meet(const char* what, int line) { wait(arrive(what, line), what, line); }

  /// The same in two steps: returns the meeting's number, for which to wait.
  unsigned arrive(const char* what, int line);
  void wait(unsigned meeting, const char* what, int line);

  unsigned count() const { return count_; }  ///< of completed meetings

 private:
  int members_;
  int arrived_ = 0;
  int line_ = 0;
  unsigned count_ = 0;
};

struct Warp {
  explicit Warp(int lanes) : meeting(lanes) {}

  using Value = std::array<std::uint64_t, 6>;

  Meeting meeting;
  std::array<std::array<Value, 32>, 2> values{};  ///< of every other exchange
};

/// A copy by cp.async that has not arrived.
struct AsyncCopy {
  unsigned char* target;
  std::array<unsigned char, 16> data;
  int bytes;
};

/// An mbarrier; its 8 bytes of shared memory hold its number.
struct Mbarrier {
  int count;        ///< arrivals that complete a phase
  int missing;      ///< of the current phase
  long long bytes;  ///< that were announced and have not come
  unsigned phase;   ///< completed ones
  bool fenced;      ///< known to the unit that copies
};

/// A copy by the tensor memory accelerator that has not arrived.
struct BulkCopy {
  unsigned char* target;
  BoxMap map;
  std::array<int, BoxMap::kMostDimensions> begin;  ///< of the box
  Mbarrier* barrier;
};

struct Block;

struct Thread {
  Block* block = nullptr;
  Index3 index;
  int number = 0;  ///< in the block
  Fiber* fiber = nullptr;
  std::function<bool()> ready = [] { return true; };  ///< whether what it waits for has happened
  const char* waits_for = "";
  int waits_line = 0;                              ///< of the source, or 0
  bool left = false;                               ///< the kernel
  std::optional<unsigned> cluster_meeting = {};    ///< at which it has arrived and for which it has not waited
  std::vector<AsyncCopy> copies;                   ///< since the last commit
  std::deque<std::vector<AsyncCopy>> groups = {};  ///< committed, oldest first
};

struct Cluster;

struct Block {
  Block(const LaunchStep& step, Cluster& cluster, Index3 index);

  Cluster* cluster;
  Index3 index;
  int shared_bytes;
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };
  std::unique_ptr<unsigned char, Free> shared;  ///< null once all threads have left
  Meeting all;
  std::vector<Warp> warps;
  std::vector<Thread> threads;
  std::vector<Thread*> staying = {};   ///< threads that have not left, in the order of their turns
  std::deque<Mbarrier> barriers = {};  ///< stay where they are
  std::deque<BulkCopy> bulk = {};      ///< oldest first
  bool held = false;                   ///< until no other block can go on
};

/// Blocks that run together: a cluster, or a whole grid of resident blocks.
struct Cluster {
  /// `extent` is its size in blocks, `first` its first block.
  Cluster(const LaunchStep& step, const Extent3& extent, Index3 first);

  Meeting all;
  std::deque<Block> blocks = {};
};

/// The thread that runs; complains where none does.
Thread& self();

/// Suspends the running thread until `ready`.
void wait_until(const char* what, int line, std::function<bool()> ready);

/// Lets the oldest bulk copy of a block arrive; false if there is none.
bool deliver(Cluster& cluster);

}  // namespace mmtune::shim
