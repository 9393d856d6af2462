#include "runtime/call/append_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace mmtune {
namespace {

/// Few keys have a hash of their own, and those that share one are at the end of any table, which goes round.
struct Colliding {
  std::uint64_t operator()(int key) const { return ~std::uint64_t{0} << 32 | static_cast<std::uint64_t>(key) << 60; }
};
/// A hash that has as many different values as there are keys.
struct Spread {
  std::uint64_t operator()(int key) const { return static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15; }
};

template <class Hash>
class AppendMapOf : public testing::Test {
 protected:
  AppendMap<int, std::string, Hash> map_;
};
using Hashes = testing::Types<Colliding, Spread>;
TYPED_TEST_SUITE(AppendMapOf, Hashes);

constexpr int kKeys = 1000;  // several tables

TYPED_TEST(AppendMapOf, FindsWhatWasPutLast) {
  auto& map = this->map_;
  EXPECT_EQ(map.find(0), nullptr);
  for (int key = 0; key < kKeys; ++key) map.put(key, std::to_string(key));
  map.put(3, "again");
  for (int key = 0; key < kKeys; ++key) {
    ASSERT_NE(map.find(key), nullptr) << key;
    EXPECT_EQ(*map.find(key), key == 3 ? "again" : std::to_string(key));
  }
  EXPECT_EQ(map.find(kKeys), nullptr);
  EXPECT_EQ(map.size(), kKeys + 1u);
}

TYPED_TEST(AppendMapOf, VisitsWhatIsHiddenToo) {
  this->map_.put(1, "before");
  this->map_.put(2, "other");
  this->map_.put(1, "after");
  std::vector<std::string> values;
  this->map_.for_each([&](int key, const std::string& value) { values.push_back(std::to_string(key) + value); });
  EXPECT_EQ(values, (std::vector<std::string>{"1before", "2other", "1after"}));
}

TYPED_TEST(AppendMapOf, WhatWasFoundStaysWhereItIs) {
  this->map_.put(1, "one");
  const std::string* found = this->map_.find(1);
  for (int key = 2; key < kKeys; ++key) this->map_.put(key, "");
  EXPECT_EQ(this->map_.find(1), found);
  this->map_.put(1, "again");
  EXPECT_EQ(*found, "one");
}

TYPED_TEST(AppendMapOf, LosesNothingAmongThreads) {
  auto& map = this->map_;
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&map, thread] {
      for (int i = 0; i < kKeys / kThreads; ++i) {
        const int key = thread * (kKeys / kThreads) + i;
        map.put(key, std::to_string(key));
        if (map.find(key) == nullptr) ADD_FAILURE() << key;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int key = 0; key < kKeys; ++key) ASSERT_EQ(*map.find(key), std::to_string(key));
}

TYPED_TEST(AppendMapOf, IsReadWhileItGrows) {
  auto& map = this->map_;
  map.put(0, "0");
  std::atomic<int> last = 0;
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&] {
      for (int known = 0; known < kKeys - 1;) {
        known = last.load();
        for (const int key : {0, known / 2, known}) {
          const std::string* found = map.find(key);
          if (found == nullptr || *found != std::to_string(key)) ADD_FAILURE() << key << " of " << known;
        }
        map.find(known + 1);  // may be there
      }
    });
  }
  for (int key = 1; key < kKeys; ++key) {
    map.put(key, std::to_string(key));
    last = key;
  }
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace mmtune
