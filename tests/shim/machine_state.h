// What the parts of the machine share: machine.cpp (threads and their turns), meetings.cpp (where they meet),
// copies.cpp (asynchronous copies), stores.cpp (those from shared memory), warpgroup.cpp (tensor cores).
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tests/shim/device/calls.h"
#include "tests/shim/fiber.h"
#include "tests/shim/machine.h"
#include "tests/shim/warpgroup.h"

namespace mmtune::shim {

constexpr int kWarp = 32;
constexpr std::size_t kBulkAlignment = 128;  // the alignment of the accelerator's boxes in shared memory

/// A place where a number of threads meet again and again.
class Meeting {
 public:
  explicit Meeting(int members) : members_(members) {}

  /// Returns when all members are there. All must come from one line of the source.
  void meet(const char* what, int line) { wait(arrive(what, line), what, line); }

  /// The same in two steps: returns the meeting's number, for which to wait.
  unsigned arrive(const char* what, int line);
  void wait(unsigned meeting, const char* what, int line);

  unsigned count() const { return count_; }  ///< the number of completed meetings

 private:
  int members_;
  int arrived_ = 0;
  int line_ = 0;
  unsigned count_ = 0;
};

/// One of the barriers of a block at which any number of its warps may meet.
struct NamedBarrier {
  int members = 0;  ///< the members of the meeting under way
  int arrived = 0;
  unsigned count = 0;  ///< the number of completed meetings
};

struct Warp {
  explicit Warp(int lanes) : meeting(lanes) {}

  using Value = std::array<std::uint64_t, 12>;

  Meeting meeting;
  std::array<std::array<Value, 32>, 2> values{};  ///< the values of every other exchange
};

/// A copy by cp.async that has not arrived.
struct AsyncCopy {
  unsigned char* target;
  std::array<unsigned char, 16> data;
  int bytes;
};

/// The copies of a thread that have not arrived, oldest first.
struct AsyncCopies {
  std::vector<AsyncCopy> copies;
  std::vector<std::size_t> groups;  ///< the numbers of copies at the ends of committed groups
};

/// What one thread after the other uses, since to make it costs more than most threads take.
struct Seat {
  Fiber fiber;
  AsyncCopies async;
};

/// An mbarrier; its 8 bytes of shared memory hold its number.
struct Mbarrier {
  int count;        ///< arrivals that complete a phase
  int missing;      ///< the arrivals that the current phase still lacks
  long long bytes;  ///< the bytes that were announced and have not come
  unsigned phase;   ///< completed ones
  bool fenced;      ///< known to the unit that copies
};

/// A copy by the tensor memory accelerator that has not arrived.
struct BulkCopy {
  unsigned char* target;
  BoxMap map;
  std::array<int, BoxMap::kMostDimensions> begin;  ///< the place where the box begins
  Mbarrier* barrier;
};

/// A box by its tensor's address and the place where it begins.
struct BoxPlace {
  const unsigned char* address;
  std::array<int, BoxMap::kMostDimensions> begin;
  bool operator==(const BoxPlace&) const = default;
};

/// 16 bytes from another block that have not arrived.
struct RemoteStore {
  unsigned char* target;
  std::array<unsigned, 4> words;
  Mbarrier* barrier;
};

/// A box on its way from shared memory to a tensor.
struct BulkStore {
  unsigned source;  ///< address in shared memory
  BoxMap map;
  std::array<int, BoxMap::kMostDimensions> begin;
  std::vector<unsigned char> data = {};  ///< once it was read
};

/// A range of bytes by offsets in shared memory.
struct Range {
  int begin = 0;
  int end = 0;
};

/// What the accelerator sees of shared memory, from the first byte to the last one that the launch's bulk stores read:
/// what threads wrote before they called fence_for_accelerator().
struct Published {
  Published();

  Range range;
  std::vector<unsigned char> written;  ///< what the range held when it was last looked at
  std::vector<unsigned char> seen;     ///< what the accelerator sees
  bool has_fence = false;              ///< whether any thread has called the fence
};

struct Block;

struct Thread {
  Block* block = nullptr;
  Index3 index;
  int number = 0;  ///< its number in the block
  Seat* seat = nullptr;
  // What it waits for: that a counter moves on, or else what says whether it has happened.
  const unsigned* counter = nullptr;
  unsigned counted = 0;
  std::function<bool()> ready = [] { return true; };
  const char* waits_for = "";
  int waits_line = 0;                                     ///< the line of the source, or 0
  bool left = false;                                      ///< whether it has left the kernel
  std::optional<unsigned> cluster_meeting = {};           ///< the meeting that it arrived at and has not waited for
  std::vector<BulkStore> stores = {};                     ///< what was begun since the last commit
  std::vector<std::vector<BulkStore>> store_groups = {};  ///< committed and not read, oldest first
  std::size_t store_groups_wanted = SIZE_MAX;             ///< how many may stay unread
  std::vector<Range> unfenced = {};                       ///< what it wrote since its last fence_for_accelerator()
  int registers = 0;

  bool can_go_on() const { return counter != nullptr ? *counter != counted : ready(); }
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
  std::deque<RemoteStore> remote = {};
  std::vector<BoxPlace> copied = {};        ///< what its bulk copies brought to any block
  std::vector<BoxPlace> prefetched = {};    ///< what it asked L2 for
  std::vector<BulkStore> read_stores = {};  ///< the stores whose boxes the tensors do not have
  Published published;
  std::array<NamedBarrier, 16> named = {};
  std::deque<Warpgroup> warpgroups = {};  ///< from the first one's first instruction on
  int free_registers = 0;
  bool held = false;  ///< held until no other block can go on
};

/// Blocks that run together: a cluster, or a whole grid of resident blocks.
struct Cluster {
  /// `extent` is its size in blocks, `first` its first block.
  Cluster(const LaunchStep& step, const Extent3& extent, Index3 first);

  Index3 grid;
  Meeting all;
  std::deque<Block> blocks = {};
};

/// The thread that runs; complains where none does.
Thread& self();

/// Copies bytes that are where they may be: those of usual sizes without a call, which the address sanitizer would
/// check.
inline void copy_few(void* target, const void* source, int bytes) {
  switch (bytes) {
    case 4:
      std::memcpy(target, source, 4);
      return;
    case 8:
      std::memcpy(target, source, 8);
      return;
    case 16:
      std::memcpy(target, source, 16);
      return;
    case 24:
      std::memcpy(target, source, 24);
      return;
    case 48:
      std::memcpy(target, source, 48);
      return;
    default:
      std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
}

/// Suspends the running thread until `ready`.
void wait_until(const char* what, int line, std::function<bool()> ready);

/// Suspends the running thread until the counter is another.
void wait_for_change(const char* what, int line, const unsigned& counter, unsigned counted);

/// The bytes of a block's shared memory at a 32-bit address.
unsigned char* shared_at(Block& block, unsigned address, int bytes);

/// The place at which the accelerator puts the byte of this address: 16-byte chunks change places within spans of
/// `bytes`, another way in each of as many 128-byte lines as a span has chunks (PTX ISA, "Swizzling Modes" of tensors).
unsigned char* swizzled(unsigned char* address, int bytes);

/// The map that a bulk copy names, and what all of them must keep to.
BoxMap map_of_copy(const void* map, const int* begin, int rank);

/// The element number `i` of the box that begins there; null outside of the tensor.
unsigned char* element_of_box(const BoxMap& map, const std::array<int, BoxMap::kMostDimensions>& begin, int i);

/// Lets the oldest bulk copy of a block, or what other blocks have sent it, arrive; false if there is none.
bool deliver(Cluster& cluster);

/// Reads the boxes of a group of stores that a thread waits for; false if there is none.
bool read_stores(Cluster& cluster);

/// Brings the boxes to their tensors that a block has stored.
void finish_stores(Block& block);

/// Sets the range that a launch has stored from, and returns what it was before.
Range exchange_stored(Range range);

/// What the thread has written in its turn is its own until it calls fence_for_accelerator().
void note_writes(Thread& thread);

/// The accelerator has written these bytes of the block's shared memory.
void note_arrival(Block& block, const unsigned char* target, int bytes);

}  // namespace mmtune::shim
