// Copies by the tensor memory accelerator from shared memory, and what it sees there; see device/calls.h.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {
namespace {

using Chunk = std::array<std::uint64_t, 2>;  // what is compared at once
constexpr auto kChunk = static_cast<int>(sizeof(Chunk));

/// Gives a chunk another value; false if it has this one.
bool replace(unsigned char* chunk, const unsigned char* value) {
  Chunk old, now;
  std::memcpy(&old, chunk, sizeof(old));
  std::memcpy(&now, value, sizeof(now));
  if (old == now) return false;
  std::memcpy(chunk, &now, sizeof(now));
  return true;
}

/// What blocks of the launch have stored from so far: it is the same shared variables in all of them.
Range stored;

/// Covers the range, and what lies between it and what was stored before. Its writer is not known: that any thread has
/// called the fence is enough.
void cover(Block& block, Range range) {
  Published& published = block.published;
  const Range before = published.range;
  if (before.begin == before.end) {
    published.range = range;
  } else {
    published.range = {std::min(before.begin, range.begin), std::max(before.end, range.end)};
  }
  stored = published.range;
  const auto [begin, end] = published.range;
  if (before.begin == begin && before.end == end) return;
  std::vector<unsigned char> written(block.shared.get() + begin, block.shared.get() + end);
  std::vector<unsigned char> seen = written;
  if (!published.has_fence) std::fill(seen.begin(), seen.end(), 0xff);
  std::copy(published.written.begin(), published.written.end(), written.begin() + (before.begin - begin));
  std::copy(published.seen.begin(), published.seen.end(), seen.begin() + (before.begin - begin));
  published.written = std::move(written);
  published.seen = std::move(seen);
}

/// What the accelerator reads at the moment.
void read(Block& block, BulkStore& store) {
  const Published& published = block.published;
  const auto bytes = static_cast<std::size_t>(store.map.element_bytes);
  unsigned char* const source = shared_at(block, store.source, store.map.box_bytes());
  store.data.resize(static_cast<std::size_t>(store.map.box_bytes()));
  for (std::size_t at = 0; at < store.data.size(); at += bytes) {
    const auto offset = swizzled(source + at, store.map.swizzle_bytes) - block.shared.get() - published.range.begin;
    std::copy_n(published.seen.begin() + offset, bytes, store.data.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace

Range exchange_stored(Range range) { return std::exchange(stored, range); }

Published::Published()
    : range(stored), written(static_cast<std::size_t>(range.end - range.begin), 0xff), seen(written) {}

void note_writes(Thread& thread) {
  Block& block = *thread.block;
  auto& [range, written, seen, has_fence] = block.published;
  const auto size = static_cast<std::size_t>(range.end - range.begin);
  const unsigned char* const now = block.shared.get() + range.begin;
  if (size == 0 || std::memcmp(now, written.data(), size) == 0) return;
  for (std::size_t at = 0; at < size; at += kChunk) {
    if (!replace(&written[at], now + at)) continue;
    const int offset = range.begin + static_cast<int>(at);
    if (!thread.unfenced.empty() && thread.unfenced.back().end == offset) {
      thread.unfenced.back().end += kChunk;
    } else {
      thread.unfenced.push_back({offset, offset + kChunk});
    }
  }
}

void note_arrival(Block& block, const unsigned char* target, int bytes) {
  auto& [range, written, seen, has_fence] = block.published;
  const auto offset = static_cast<int>(target - block.shared.get());
  const int begin = std::max(offset, range.begin), end = std::min(offset + bytes, range.end);
  if (begin >= end) return;
  for (auto* const copy : {&written, &seen}) {
    std::memcpy(&(*copy)[static_cast<std::size_t>(begin - range.begin)], block.shared.get() + begin,
                static_cast<std::size_t>(end - begin));
  }
}

bool read_stores(Cluster& cluster) {
  for (Block& block : cluster.blocks) {
    for (Thread* const thread : block.staying) {
      if (thread->store_groups.size() <= thread->store_groups_wanted) continue;
      for (BulkStore& store : thread->store_groups.front()) {
        read(block, store);
        block.read_stores.push_back(std::move(store));
      }
      thread->store_groups.erase(thread->store_groups.begin());
      return true;
    }
  }
  return false;
}

void finish_stores(Block& block) {
  for (const BulkStore& store : block.read_stores) {
    const auto bytes = static_cast<std::size_t>(store.map.element_bytes);
    for (std::size_t at = 0; at < store.data.size(); at += bytes) {
      unsigned char* const target = element_of_box(store.map, store.begin, static_cast<int>(at / bytes));
      if (target != nullptr) std::memcpy(target, &store.data[at], bytes);
    }
  }
}

// What kernels call.

void store_box(const void* map, unsigned source, const int* begin, int rank) {
  Block& block = *self().block;
  BulkStore store{source, map_of_copy(map, begin, rank), {}};
  std::copy_n(begin, rank, store.begin.begin());
  const int bytes = store.map.box_bytes();
  const unsigned char* const first = shared_at(block, source, bytes);
  if (reinterpret_cast<std::uintptr_t>(first) % kBulkAlignment != 0) {
    complain("a bulk store from an address not aligned to 128 bytes");
  }
  const auto offset = static_cast<int>(first - block.shared.get());
  cover(block, {offset, offset + bytes});
  self().stores.push_back(std::move(store));
}

void commit_stores() {
  self().store_groups.push_back(std::move(self().stores));
  self().stores.clear();
}

void wait_stores_read(int pending) {
  Thread& thread = self();
  thread.store_groups_wanted = static_cast<std::size_t>(pending);
  if (thread.store_groups.size() > thread.store_groups_wanted) {
    wait_until("bulk stores to read shared memory", 0,
               [&thread] { return thread.store_groups.size() <= thread.store_groups_wanted; });
  }
  thread.store_groups_wanted = SIZE_MAX;
}

void fence_for_accelerator() {
  Thread& thread = self();
  note_writes(thread);
  auto& [range, written, seen, has_fence] = thread.block->published;
  has_fence = true;
  for (const Range& own : thread.unfenced) {
    const auto at = static_cast<std::size_t>(own.begin - range.begin);
    std::memcpy(&seen[at], &written[at], static_cast<std::size_t>(own.end - own.begin));
  }
  thread.unfenced.clear();
}

}  // namespace mmtune::shim
