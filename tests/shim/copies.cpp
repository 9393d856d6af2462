// Asynchronous copies, barriers in shared memory and the shared memory of other blocks; see device/calls.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {

namespace {

constexpr unsigned kFirstAddress = 1024;  // so that 0 is no address of shared memory
constexpr int kAddressBits = 20;          // of an address of shared memory
constexpr std::uint64_t kMark = 0x6d62617272690000;
constexpr std::size_t kBulkAlignment = 128;

bool aligned(const void* address, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(address) % bytes == 0; }

unsigned char* at(Block& block, unsigned address, int bytes) {
  const long long offset = static_cast<long long>(address) - kFirstAddress;
  if (offset < 0 || offset + bytes > block.shared_bytes) {
    complain(fmt::format("{} bytes at {} of {} bytes of shared memory", bytes, offset, block.shared_bytes).c_str());
  }
  return block.shared.get() + offset;
}

/// The barrier whose number the 8 bytes at this address hold.
Mbarrier& barrier_at(unsigned address) {
  Block& block = *self().block;
  std::uint64_t number = 0;
  std::memcpy(&number, at(block, address, sizeof(number)), sizeof(number));
  if (number - kMark >= block.barriers.size()) complain("no barrier was initialised here, or it was overwritten");
  return block.barriers[number - kMark];
}

void complete_if_done(Mbarrier& barrier) {
  if (barrier.missing > 0 || barrier.bytes > 0) return;
  barrier.missing = barrier.count;
  ++barrier.phase;
}

/// Where the accelerator puts the byte at this address: 16-byte chunks change places within spans of `bytes`, another
/// way in each of as many 128-byte lines as a span has chunks (PTX ISA, "Swizzling Modes" of tensors).
unsigned char* swizzled(unsigned char* address, int bytes) {
  if (bytes == 0) return address;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto moved = at ^ ((at >> 7 & static_cast<unsigned>(bytes / 16 - 1)) << 4);
  return address + (static_cast<std::ptrdiff_t>(moved) - static_cast<std::ptrdiff_t>(at));
}

/// The element of the tensor at these coordinates; null outside.
const unsigned char* element_at(const BoxMap& map, const std::array<long long, BoxMap::kMostDimensions>& at) {
  const unsigned char* element = map.address;
  for (int d = 0; d < map.rank; ++d) {
    if (at[d] < 0 || at[d] >= map.extents[d]) return nullptr;
    element += at[d] * map.strides[d];
  }
  return element;
}

void arrive(const BulkCopy& copy) {
  const BoxMap& map = copy.map;
  const auto bytes = static_cast<std::size_t>(map.element_bytes);
  const int elements = map.box_bytes() / map.element_bytes;
  for (int i = 0; i < elements; ++i) {
    std::array<long long, BoxMap::kMostDimensions> at{};
    for (int d = 0, rest = i; d < map.rank; rest /= map.box[d], ++d) at[d] = copy.begin[d] + rest % map.box[d];
    unsigned char* const target = swizzled(copy.target + i * map.element_bytes, map.swizzle_bytes);
    if (const unsigned char* source = element_at(map, at)) {
      std::memcpy(target, source, bytes);
    } else {
      std::memset(target, map.fills_with_nan ? 0xff : 0, bytes);
    }
  }
  copy.barrier->bytes -= map.box_bytes();
  complete_if_done(*copy.barrier);
}

}  // namespace

unsigned shared_address(const void* pointer) {
  const Block& block = *self().block;
  const auto* const address = static_cast<const unsigned char*>(pointer);
  if (address < block.shared.get() || address > block.shared.get() + block.shared_bytes) {
    complain("this is no address in dynamic shared memory");
  }
  return kFirstAddress + static_cast<unsigned>(address - block.shared.get());
}

// The target holds NaN until the copy arrives: a read that comes too early gives NaN.
void copy_async(unsigned target, const void* source, int bytes, bool valid) {
  const auto size = static_cast<std::size_t>(bytes);
  AsyncCopy copy{at(*self().block, target, bytes), {}, bytes};
  if (!aligned(copy.target, size) || (valid && !aligned(source, size))) complain("cp.async at a misaligned address");
  if (valid) std::memcpy(copy.data.data(), source, size);
  std::memset(copy.target, 0xff, size);
  self().copies.push_back(copy);
}

void commit_copies() {
  self().groups.push_back(std::move(self().copies));
  self().copies.clear();
}

void wait_copies(int pending) {
  auto& groups = self().groups;
  while (groups.size() > static_cast<std::size_t>(pending)) {
    for (const AsyncCopy& copy : groups.front()) {
      std::memcpy(copy.target, copy.data.data(), static_cast<std::size_t>(copy.bytes));
    }
    groups.pop_front();
  }
}

void barrier_init(unsigned barrier, int count) {
  Block& block = *self().block;
  const std::uint64_t number = kMark + block.barriers.size();
  unsigned char* const memory = at(block, barrier, sizeof(number));
  if (!aligned(memory, sizeof(number))) complain("a barrier at a misaligned address");
  std::memcpy(memory, &number, sizeof(number));
  block.barriers.push_back({count, count, 0, 0, false});
}

void barrier_init_fence() {
  for (Mbarrier& barrier : self().block->barriers) barrier.fenced = true;
}

void barrier_expect(unsigned barrier, int bytes) {
  Mbarrier& found = barrier_at(barrier);
  found.bytes += bytes;
  --found.missing;
  complete_if_done(found);
}

void barrier_wait(unsigned barrier, unsigned parity) {
  const Mbarrier& found = barrier_at(barrier);
  wait_until("a barrier in shared memory", 0, [&found, parity] { return (found.phase & 1) != parity; });
}

int BoxMap::box_bytes() const {
  int bytes = element_bytes;
  for (int d = 0; d < rank; ++d) bytes *= box[d];
  return bytes;
}

void copy_box(unsigned target, const void* map, unsigned barrier, const int* begin, int rank) {
  BulkCopy copy{nullptr, {}, {}, &barrier_at(barrier)};
  std::memcpy(&copy.map, map, sizeof(copy.map));
  const int bytes = copy.map.box_bytes();
  if (bytes <= 0) complain("a bulk copy by a tensor map that was not given");
  if (rank != copy.map.rank) complain("a bulk copy with another number of coordinates than its map has dimensions");
  std::copy_n(begin, rank, copy.begin.begin());
  // Kernels that did this died of an illegal instruction on an H200, as others report (github.com/triton-lang/triton,
  // issue 7385); the PTX ISA asks it of the map's base and strides alone.
  if (begin[0] * copy.map.element_bytes % 16 != 0) complain("a bulk copy from a column not aligned to 16 bytes");
  copy.target = at(*self().block, target, bytes);
  if (!aligned(copy.target, kBulkAlignment)) complain("a bulk copy to an address not aligned to 128 bytes");
  if (!copy.barrier->fenced) complain("a bulk copy on a barrier without a fence after its initialisation");
  std::memset(copy.target, 0xff, static_cast<std::size_t>(bytes));
  self().block->bulk.push_back(copy);
}

bool deliver(Cluster& cluster) {
  for (Block& block : cluster.blocks) {
    if (block.bulk.empty()) continue;
    arrive(block.bulk.front());
    block.bulk.pop_front();
    return true;
  }
  return false;
}

// The number of the block stands above the bits of an address of shared memory.
unsigned remote_address(unsigned own, int rank) {
  const auto blocks = self().block->cluster->blocks.size();
  if (rank < 0 || static_cast<std::size_t>(rank) >= blocks) complain("there is no such block in the cluster");
  at(*self().block, own, 0);
  return own | static_cast<unsigned>(rank + 1) << kAddressBits;
}

void load_remote(void* target, unsigned remote, int bytes) {
  auto& blocks = self().block->cluster->blocks;
  const unsigned number = remote >> kAddressBits;
  if (number == 0 || number > blocks.size()) complain("this is no address in another block");
  Block& block = blocks[number - 1];
  if (!block.shared) complain("the block whose shared memory is read has left");
  const unsigned char* const source = at(block, remote & ((1u << kAddressBits) - 1), bytes);
  if (!aligned(source, static_cast<std::size_t>(bytes))) complain("a misaligned load from another block");
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

}  // namespace mmtune::shim
