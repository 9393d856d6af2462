#include "runtime/append_map.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace mmtune {
namespace {

using Map = AppendMap<int, std::string, std::hash<int>>;

TEST(AppendMap, FindsWhatWasPutLast) {
  Map map(2);  // collisions
  for (int key = 0; key < 10; ++key) map.put(key, std::to_string(key));
  map.put(3, "again");
  ASSERT_NE(map.find(9), nullptr);
  EXPECT_EQ(*map.find(9), "9");
  EXPECT_EQ(*map.find(3), "again");
  EXPECT_EQ(map.find(10), nullptr);
  EXPECT_EQ(map.size(), 11u);
}

TEST(AppendMap, LosesNothingAmongThreads) {
  Map map(4);
  constexpr int kThreads = 4, kKeys = 500;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&map, thread] {
      for (int key = 0; key < kKeys; ++key) {
        map.put(thread * kKeys + key, std::to_string(key));
        if (map.find(thread * kKeys + key) == nullptr) ADD_FAILURE() << key;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int key = 0; key < kThreads * kKeys; ++key) ASSERT_EQ(*map.find(key), std::to_string(key % kKeys));
}

}  // namespace
}  // namespace mmtune
