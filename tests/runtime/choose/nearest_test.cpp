#include "runtime/choose/nearest.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace mmtune {
namespace {

using testing::ElementsAre;

Problem size(std::int64_t m, std::int64_t n, std::int64_t k, Alignment align = {}) {
  return {Precision::fp32, Layout::nn, m, n, k, align};
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> list(count);
  std::iota(list.begin(), list.end(), 0U);
  return list;
}

std::vector<std::uint32_t> walked(const NearestSizes& sizes, const Problem& problem, std::size_t most) {
  std::vector<std::uint32_t> found;
  NearestSizes::Walk walk = sizes.from(problem);
  while (const auto number = walk.next()) {
    found.push_back(*number);
    if (found.size() == most) break;
  }
  return found;
}

/// The same by looking at all of them.
std::vector<std::uint32_t> sorted(const std::vector<Problem>& sizes, const Problem& problem, std::size_t most) {
  std::vector<std::uint32_t> order = numbers(sizes.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](auto i, auto j) { return distance(problem, sizes[i]) < distance(problem, sizes[j]); });
  order.resize(std::min(most, order.size()));
  return order;
}

TEST(NearestSizes, AreThoseThatLookingAtAllFinds) {
  std::mt19937 random(1);
  const auto extent = [&] { return std::int64_t{1} << (random() % 12) | (random() % 2 == 0 ? 0 : random() % 4096); };
  const auto any = [&] {
    const Alignment align = random() % 3 == 0 ? Alignment{4, 16, 8} : Alignment{};
    return size(extent(), extent(), extent(), align);
  };
  for (const std::size_t count : {1, 7, 8, 9, 100, 5000}) {
    std::vector<Problem> sizes(count);
    std::generate(sizes.begin(), sizes.end(), any);
    const NearestSizes tree(sizes, numbers(count));
    for (int round = 0; round < 50; ++round) {
      const Problem problem = any();
      const std::vector<std::uint32_t> expected = sorted(sizes, problem, 40);
      EXPECT_EQ(walked(tree, problem, 40), expected) << to_string(problem) << " of " << count;
      EXPECT_EQ(tree.nearest(problem), expected.front()) << to_string(problem) << " of " << count;
    }
    EXPECT_EQ(walked(tree, sizes.front(), count + 1).size(), count);
  }
}

TEST(NearestSizes, OfManyAsNearTheFirstIsTheNearest) {
  // Few sizes, each often: equally near ones lie on all sides of a part's border.
  std::mt19937 random(2);
  const auto any = [&] {
    const auto extent = [&] { return std::int64_t{1} << random() % 4; };
    return size(extent(), extent(), extent(), random() % 2 == 0 ? Alignment{8, 8, 8} : Alignment{});
  };
  std::vector<Problem> sizes(2000);
  std::generate(sizes.begin(), sizes.end(), any);
  const NearestSizes tree(sizes, numbers(sizes.size()));
  for (int round = 0; round < 200; ++round) {
    const Problem problem = any();
    EXPECT_EQ(tree.nearest(problem), sorted(sizes, problem, 1).front()) << to_string(problem);
  }
}

TEST(NearestSizes, AreNearByRatios) {
  const NearestSizes tree({size(100, 100, 100), size(1000, 1000, 1000)}, {7, 8});
  EXPECT_THAT(walked(tree, size(300, 300, 300), 9), ElementsAre(7, 8));
  EXPECT_THAT(walked(tree, size(320, 320, 320), 9), ElementsAre(8, 7));
}

TEST(NearestSizes, AreFartherWhereTheirKernelsMoveLess) {
  const NearestSizes tree({size(512, 512, 512, {4, 4, 4}), size(640, 512, 512)}, {0, 1});
  EXPECT_THAT(walked(tree, size(512, 512, 512), 9), ElementsAre(1, 0));
  EXPECT_THAT(walked(tree, size(512, 512, 512, {4, 4, 4}), 9), ElementsAre(0, 1));
}

TEST(NearestSizes, MayBeNone) {
  EXPECT_TRUE(NearestSizes().empty());
  EXPECT_THAT(walked(NearestSizes({}, {}), size(1, 1, 1), 9), ElementsAre());
  EXPECT_FALSE(NearestSizes().nearest(size(1, 1, 1)));
}

}  // namespace
}  // namespace mmtune
