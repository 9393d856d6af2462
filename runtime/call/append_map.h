// A hash map that only grows, for answers that are worked out once and looked up on every call.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mmtune {

/// Thread safe. find() takes no lock, writes nothing and mostly reads two cache lines that few others share: a slot, of
/// 8 bytes, and an entry, in which key and value lie side by side. put() takes a lock. Nothing that was put is ever
/// moved, changed or removed before the map itself; a second put of a key hides the first. `Hash` makes 64 bits of a
/// key, of which the upper 32 count.
///
/// Open addressing with linear probing (Knuth, TAOCP 3, 6.4). A table is at most seven eighths full, since caches have
/// room for a small one and eight slots in a row are one line; then one twice as large takes its place. Threads may
/// still read the old ones, so they are kept: together they have fewer slots than the last. Entries stay where they
/// are, in chunks, each twice as large as the one before.
template <class Key, class Value, class Hash>
class AppendMap {
 public:
  AppendMap() { add_table(kFirstSlots); }
  AppendMap(const AppendMap&) = delete;
  AppendMap& operator=(const AppendMap&) = delete;

  /// The value that was put last under this key, or null. What another thread puts just now may be missed.
  const Value* find(const Key& key) const {
    const std::uint32_t hash = hash_of(key);
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::size_t i = table.first(hash);; i = table.next(i)) {
      const Slot slot = table.slots[i].load(std::memory_order_acquire);
      if (slot == kEmpty) return nullptr;
      if (hash_in(slot) != hash) continue;
      const Entry& entry = entry_in(slot);
      if (entry.key == key) return &entry.value;
    }
  }

  /// Hides an earlier value of the key. May be called fewer than 2^31 times.
  void put(Key key, Value value) {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::uint32_t>(size() + 1);
    const std::size_t slots = tables_.back()->slots.size();
    if (number > slots / 8 * 7) add_table(2 * slots);
    const Slot slot = Slot{number} << 32 | hash_of(key);
    Table& table = *tables_.back();
    std::size_t i = table.first(hash_in(slot));
    for (;; i = table.next(i)) {
      const Slot there = table.slots[i].load(std::memory_order_relaxed);
      if (there == kEmpty || (hash_in(there) == hash_in(slot) && entry_in(there).key == key)) break;
    }
    add_entry(number, {std::move(key), std::move(value)});
    table.slots[i].store(slot, std::memory_order_release);
    size_.store(number, std::memory_order_relaxed);
  }

  /// Calls visit(key, value) for everything that was put before, what is hidden too. `visit` must not put anything.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& chunk : chunks_) {
      for (const Entry& entry : chunk) visit(entry.key, entry.value);
    }
  }

  /// How many times put() was called.
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kFirstSlots = 64;

  struct alignas(64) Entry {  // the bytes of a cache line
    Key key;
    Value value;
  };

  /// The number of an entry, from 1 on, and the hash of its key, so that no entries of other keys are read.
  using Slot = std::uint64_t;
  static constexpr Slot kEmpty = 0;
  static std::uint32_t hash_in(Slot slot) { return static_cast<std::uint32_t>(slot); }

  struct Table {
    explicit Table(std::size_t size) : slots(size), shift(32 - std::countr_zero(size)) {}

    std::size_t first(std::uint32_t hash) const { return hash >> shift; }
    std::size_t next(std::size_t i) const { return (i + 1) & (slots.size() - 1); }

    std::vector<std::atomic<Slot>> slots;  ///< the slots, a power of two of them
    int shift;
  };

  static std::uint32_t hash_of(const Key& key) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(Hash{}(key)) >> 32);
  }

  /// Chunk c has the entries whose numbers have c bits: none, 1, 2 and 3, 4 to 7, ...
  static std::size_t chunk_of(std::uint32_t number) { return static_cast<std::size_t>(std::bit_width(number)); }
  static constexpr std::size_t kChunks = 33;

  const Entry& entry_in(Slot slot) const {
    const auto number = static_cast<std::uint32_t>(slot >> 32);
    return begins_[chunk_of(number)][number - std::bit_floor(number)];
  }

  void add_entry(std::uint32_t number, Entry entry) {
    std::vector<Entry>& chunk = chunks_[chunk_of(number)];
    if (chunk.empty()) {
      chunk.reserve(std::bit_floor(number));  // Entries must not be moved.
      begins_[chunk_of(number)] = chunk.data();
    }
    chunk.push_back(std::move(entry));
  }

  /// Adds a table with what is in the last one, which threads see when it is complete.
  void add_table(std::size_t size) {
    auto table = std::make_unique<Table>(size);
    if (!tables_.empty()) {
      for (const std::atomic<Slot>& slot : tables_.back()->slots) {
        if (slot == kEmpty) continue;
        std::size_t i = table->first(hash_in(slot));
        while (table->slots[i] != kEmpty) i = table->next(i);
        table->slots[i] = slot.load();
      }
    }
    tables_.push_back(std::move(table));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<const Table*> table_ = nullptr;      ///< the last of `tables_`
  std::array<const Entry*, kChunks> begins_ = {};  ///< the chunks' first entries, written before a slot names one
  mutable std::mutex mutex_;                       ///< the lock of all that follows
  std::vector<std::unique_ptr<Table>> tables_;
  std::array<std::vector<Entry>, kChunks> chunks_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace mmtune
