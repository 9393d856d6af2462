// A hash map that only grows, for answers that are worked out once and looked up on every call.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace mmtune {

/// Thread safe without locks: nothing that was put is ever moved, changed or removed before the map itself. A second
/// put of a key hides the first.
template <class Key, class Value, class Hash>
class AppendMap {
 public:
  /// The number of buckets never changes: about as many as entries are expected.
  explicit AppendMap(std::size_t buckets) : heads_(buckets) {}
  ~AppendMap() {
    for (const auto& head : heads_) {
      for (const Node* node = head.load(); node != nullptr;) delete std::exchange(node, node->next);
    }
  }
  AppendMap(const AppendMap&) = delete;
  AppendMap& operator=(const AppendMap&) = delete;

  /// The value that was put last under this key, or null.
  const Value* find(const Key& key) const {
    const Node* node = heads_[bucket(key)].load(std::memory_order_acquire);
    while (node != nullptr && !(node->key == key)) node = node->next;
    return node == nullptr ? nullptr : &node->value;
  }

  void put(Key key, Value value) {
    std::atomic<const Node*>& head = heads_[bucket(key)];
    Node* node = new Node{std::move(key), std::move(value), head.load(std::memory_order_relaxed)};
    while (!head.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    size_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Calls visit(key, value) for everything that was put before, what is hidden too, in no order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& head : heads_) {
      for (const Node* node = head.load(std::memory_order_acquire); node != nullptr; node = node->next) {
        visit(node->key, node->value);
      }
    }
  }

  /// How many times put() was called.
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Node {
    Key key;
    Value value;
    const Node* next;
  };

  std::size_t bucket(const Key& key) const { return Hash{}(key) % heads_.size(); }

  std::vector<std::atomic<const Node*>> heads_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace mmtune
