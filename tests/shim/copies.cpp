// Asynchronous copies, barriers in shared memory and the shared memory of other blocks; see device/calls.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {
namespace {

constexpr unsigned kFirstAddress = 1024;  // 0 is no address of shared memory
constexpr int kAddressBits = 20;          // the bits of an address of shared memory
constexpr std::uint64_t kMark = 0x6d62617272690000;

bool aligned(const void* address, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(address) % bytes == 0; }

/// An address in any block of the cluster; the number of the block stands above the bits of an address of shared
/// memory.
Block& block_at(unsigned remote) {
  auto& blocks = self().block->cluster->blocks;
  const unsigned number = remote >> kAddressBits;
  if (number == 0 || number > blocks.size()) complain("this is no address in another block");
  Block& block = blocks[number - 1];
  if (!block.shared) complain("the block whose shared memory is used has left");
  return block;
}

unsigned own_part(unsigned remote) { return remote & ((1u << kAddressBits) - 1); }

/// The barrier whose number the 8 bytes at this address hold.
Mbarrier& barrier_at(Block& block, unsigned address) {
  std::uint64_t number = 0;
  std::memcpy(&number, shared_at(block, address, sizeof(number)), sizeof(number));
  if (number - kMark >= block.barriers.size()) complain("no barrier was initialised here, or it was overwritten");
  return block.barriers[number - kMark];
}

Mbarrier& own_barrier_at(unsigned address) { return barrier_at(*self().block, address); }

void complete_if_done(Mbarrier& barrier) {
  if (barrier.missing > 0 || barrier.bytes > 0) return;
  barrier.missing = barrier.count;
  ++barrier.phase;
}

void arrive_at(Mbarrier& barrier) {
  if (--barrier.missing < 0) complain("more arrivals at a barrier than its count");
  complete_if_done(barrier);
}

/// Bytes [skipped, valid) of the source; zeros behind them.
void start_copy(unsigned target, const void* source, int bytes, int skipped, int valid) {
  const auto size = static_cast<std::size_t>(bytes);
  AsyncCopy copy{shared_at(*self().block, target, bytes), {}, bytes};
  if (!aligned(copy.target, size) || (valid > 0 && !aligned(source, size))) {
    complain("cp.async at a misaligned address");
  }
  const int unused = std::min(skipped, valid);
  std::memset(copy.data.data(), 0xff, static_cast<std::size_t>(unused));
  std::memcpy(copy.data.data() + unused, static_cast<const unsigned char*>(source) + unused,
              static_cast<std::size_t>(valid - unused));
  std::memset(copy.target, 0xff, size);
  self().seat->async.copies.push_back(copy);
}

/// Fills the target with NaN.
void start(Block& block, BulkCopy copy, unsigned target, unsigned barrier) {
  const int bytes = copy.map.box_bytes();
  copy.target = shared_at(block, target, bytes);
  copy.barrier = &barrier_at(block, barrier);
  if (!aligned(copy.target, kBulkAlignment)) complain("a bulk copy to an address not aligned to 128 bytes");
  if (!copy.barrier->fenced) complain("a bulk copy on a barrier without a fence after its initialisation");
  std::memset(copy.target, 0xff, static_cast<std::size_t>(bytes));
  note_arrival(block, copy.target, bytes);
  block.bulk.push_back(copy);
}

BulkCopy box_at(const void* map, const int* begin, int rank) {
  BulkCopy copy{nullptr, map_of_copy(map, begin, rank), {}, nullptr};
  std::copy_n(begin, rank, copy.begin.begin());
  self().block->copied.push_back({copy.map.address, copy.begin});
  return copy;
}

void arrive(Block& block, const BulkCopy& copy) {
  const BoxMap& map = copy.map;
  const auto bytes = static_cast<std::size_t>(map.element_bytes);
  const int elements = map.box_bytes() / map.element_bytes;
  for (int i = 0; i < elements; ++i) {
    unsigned char* const target = swizzled(copy.target + i * map.element_bytes, map.swizzle_bytes);
    if (const unsigned char* source = element_of_box(map, copy.begin, i)) {
      std::memcpy(target, source, bytes);
    } else {
      std::memset(target, map.fills_with_nan ? 0xff : 0, bytes);
    }
  }
  note_arrival(block, copy.target, map.box_bytes());
  copy.barrier->bytes -= map.box_bytes();
  complete_if_done(*copy.barrier);
}

void arrive(Block& block, const RemoteStore& store) {
  std::memcpy(store.target, store.words.data(), sizeof(store.words));
  note_arrival(block, store.target, sizeof(store.words));
  store.barrier->bytes -= static_cast<long long>(sizeof(store.words));
  complete_if_done(*store.barrier);
}

}  // namespace

unsigned char* shared_at(Block& block, unsigned address, int bytes) {
  const long long offset = static_cast<long long>(address) - kFirstAddress;
  if (offset < 0 || offset + bytes > block.shared_bytes) {
    complain(fmt::format("{} bytes at {} of {} bytes of shared memory", bytes, offset, block.shared_bytes).c_str());
  }
  return block.shared.get() + offset;
}

unsigned char* swizzled(unsigned char* address, int bytes) {
  if (bytes == 0) return address;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto moved = at ^ ((at >> 7 & static_cast<unsigned>(bytes / 16 - 1)) << 4);
  return address + (static_cast<std::ptrdiff_t>(moved) - static_cast<std::ptrdiff_t>(at));
}

BoxMap map_of_copy(const void* map, const int* begin, int rank) {
  BoxMap copy;
  std::memcpy(&copy, map, sizeof(copy));
  if (copy.box_bytes() <= 0) complain("a bulk copy by a tensor map that was not given");
  if (rank != copy.rank) complain("a bulk copy with another number of coordinates than its map has dimensions");
  // Kernels that did this died of an illegal instruction on an H200, as others report (github.com/triton-lang/triton,
  // issue 7385); the PTX ISA asks it of the map's base and strides alone.
  if (begin[0] * copy.element_bytes % 16 != 0) complain("a bulk copy from a column not aligned to 16 bytes");
  return copy;
}

unsigned char* element_of_box(const BoxMap& map, const std::array<int, BoxMap::kMostDimensions>& begin, int i) {
  long long offset = 0;
  for (int d = 0; d < map.rank; i /= map.box[d], ++d) {
    const long long at = begin[static_cast<std::size_t>(d)] + i % map.box[d];
    if (at < 0 || at >= map.extents[d]) return nullptr;
    offset += at * map.strides[d];
  }
  return map.address + offset;
}

unsigned shared_address(const void* pointer) {
  const Block& block = *self().block;
  const auto* const address = static_cast<const unsigned char*>(pointer);
  if (address < block.shared.get() || address > block.shared.get() + block.shared_bytes) {
    complain("this is no address in dynamic shared memory");
  }
  return kFirstAddress + static_cast<unsigned>(address - block.shared.get());
}

void* own_shared(unsigned address, int bytes) { return shared_at(*self().block, address, bytes); }

// The target holds NaN until the copy arrives: a read that comes too early gives NaN.
void copy_async(unsigned target, const void* source, int bytes, bool valid) {
  start_copy(target, source, bytes, 0, valid ? bytes : 0);
}

// What may not be used is NaN.
void copy_unit_async(unsigned target, const void* source, int skipped, int bytes) {
  start_copy(target, source, 16, skipped, bytes);
}

void commit_copies() {
  auto& [copies, groups] = self().seat->async;
  groups.push_back(copies.size());
}

void wait_copies(int pending) {
  auto& [copies, groups] = self().seat->async;
  const auto arriving = static_cast<std::ptrdiff_t>(groups.size()) - pending;
  if (arriving <= 0) return;
  const std::size_t end = groups[static_cast<std::size_t>(arriving - 1)];
  for (std::size_t i = 0; i < end; ++i) {
    copy_few(copies[i].target, copies[i].data.data(), copies[i].bytes);
  }
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(end));
  groups.erase(groups.begin(), groups.begin() + arriving);
  for (std::size_t& group : groups) group -= end;
}

void barrier_init(unsigned barrier, int count) {
  Block& block = *self().block;
  const std::uint64_t number = kMark + block.barriers.size();
  unsigned char* const memory = shared_at(block, barrier, sizeof(number));
  if (!aligned(memory, sizeof(number))) complain("a barrier at a misaligned address");
  std::memcpy(memory, &number, sizeof(number));
  block.barriers.push_back({count, count, 0, 0, false});
}

void barrier_init_fence() {
  for (Mbarrier& barrier : self().block->barriers) barrier.fenced = true;
}

void barrier_expect(unsigned barrier, int bytes) {
  Mbarrier& found = own_barrier_at(barrier);
  found.bytes += bytes;
  arrive_at(found);
}

void barrier_arrive(unsigned barrier) { arrive_at(own_barrier_at(barrier)); }

void barrier_arrive_remote(unsigned remote) { arrive_at(barrier_at(block_at(remote), own_part(remote))); }

void barrier_wait(unsigned barrier, unsigned parity) {
  const Mbarrier& found = own_barrier_at(barrier);
  wait_until("a barrier in shared memory", 0, [&found, parity] { return (found.phase & 1) != parity; });
}

int BoxMap::box_bytes() const {
  int bytes = element_bytes;
  for (int d = 0; d < rank; ++d) bytes *= box[d];
  return bytes;
}

void copy_box(unsigned target, const void* map, unsigned barrier, const int* begin, int rank) {
  start(*self().block, box_at(map, begin, rank), target, barrier);
}

void copy_box_to(unsigned short blocks, unsigned target, const void* map, unsigned barrier, const int* begin,
                 int rank) {
  const BulkCopy copy = box_at(map, begin, rank);
  auto& cluster = self().block->cluster->blocks;
  if (blocks >> cluster.size() != 0) complain("a bulk copy to blocks that are not in the cluster");
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if ((blocks >> i & 1) == 0) continue;
    if (!cluster[i].shared) complain("a bulk copy to a block that has left");
    start(cluster[i], copy, target, barrier);
  }
}

void prefetch_box(const void* map, const int* begin, int rank) {
  BoxPlace box{map_of_copy(map, begin, rank).address, {}};
  std::copy_n(begin, rank, box.begin.begin());
  self().block->prefetched.push_back(box);
}

bool deliver(Cluster& cluster) {
  for (Block& block : cluster.blocks) {
    if (!block.bulk.empty()) {
      arrive(block, block.bulk.front());
      block.bulk.pop_front();
      return true;
    }
    if (!block.remote.empty()) {
      for (const RemoteStore& store : block.remote) arrive(block, store);
      block.remote.clear();
      return true;
    }
  }
  return false;
}

unsigned remote_address(unsigned own, int rank) {
  const auto blocks = self().block->cluster->blocks.size();
  if (rank < 0 || static_cast<std::size_t>(rank) >= blocks) complain("there is no such block in the cluster");
  shared_at(*self().block, own, 0);
  return own | static_cast<unsigned>(rank + 1) << kAddressBits;
}

void load_remote(void* target, unsigned remote, int bytes) {
  const unsigned char* const source = shared_at(block_at(remote), own_part(remote), bytes);
  if (!aligned(source, static_cast<std::size_t>(bytes))) complain("a misaligned load from another block");
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

// The target holds NaN until the words arrive.
void store_remote(unsigned remote, unsigned remote_barrier, const unsigned* words) {
  Block& block = block_at(remote);
  if (&block_at(remote_barrier) != &block) complain("words for one block and the barrier of another");
  RemoteStore store{shared_at(block, own_part(remote), sizeof(store.words)), {}, nullptr};
  store.barrier = &barrier_at(block, own_part(remote_barrier));
  if (!aligned(store.target, sizeof(store.words))) complain("a misaligned store to another block");
  std::copy_n(words, store.words.size(), store.words.begin());
  std::memset(store.target, 0xff, sizeof(store.words));
  note_arrival(block, store.target, sizeof(store.words));
  block.remote.push_back(store);
}

}  // namespace mmtune::shim
