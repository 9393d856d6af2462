// Kernel families and a problem as a space of numbers.
#include "tuner/tune/family_spaces.h"

#include <gtest/gtest.h>

#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

class FamilySpacesTest : public ::testing::Test {
 protected:
  const FamilySpaces spaces_{{&family_named("tiled"), &family_named("tiled_coarsened")},
                             packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024),
                             catalog_gpu("h200")};
};

TEST_F(FamilySpacesTest, EveryCandidateHasANumberOfItsOwn) {
  std::set<CandidateNumber> numbers;
  std::set<std::string_view> groups;
  for (const RankedCandidate& each : spaces_.ranked(100000)) {
    EXPECT_TRUE(numbers.insert(each.number).second) << each.number;
    EXPECT_EQ(spaces_.number(spaces_.candidate(each.number)), each.number);
    groups.insert(spaces_.describe(each.number).features.group);
  }
  EXPECT_EQ(groups, (std::set<std::string_view>{"tiled", "tiled_coarsened"}));
}

TEST_F(FamilySpacesTest, CandidatesOfOtherSpacesHaveNone) {
  const Candidate own = spaces_.candidate(spaces_.ranked(1).front().number);
  const Candidate stranger{&family_named("naive"), family_named("naive").default_config(spaces_.problem())};
  EXPECT_EQ(spaces_.numbers({stranger, own}), std::vector<CandidateNumber>{spaces_.ranked(1).front().number});
}

TEST_F(FamilySpacesTest, AListThatIsRememberedIsNotTakenForAnotherLength) {
  const auto numbers = [this](std::size_t limit) {
    std::vector<CandidateNumber> found;
    for (const RankedCandidate& each : spaces_.ranked(limit)) found.push_back(each.number);
    return found;
  };
  const auto ten = numbers(10);
  ASSERT_EQ(ten.size(), 10U);
  const auto three = numbers(3);
  EXPECT_EQ(three, std::vector<CandidateNumber>(ten.begin(), ten.begin() + 3));
  EXPECT_EQ(numbers(10), ten);
  EXPECT_EQ(numbers(10), ten);
}

TEST_F(FamilySpacesTest, ASpaceIsKeptForItsProblemAndTheOldestForgotten) {
  const std::vector<const Family*> families{&family_named("tiled")};
  const Restriction none;
  SpaceMemory memory(families, catalog_gpu("h200"), none);
  const auto space = [&](std::int64_t m) { return memory.of(packed_problem(Precision::fp32, Layout::nn, m, 64, 64)); };
  const auto first = space(64);
  EXPECT_EQ(first->problem().m, 64);
  EXPECT_EQ(space(64), first);
  for (std::int64_t m = 65; m < 72; ++m) EXPECT_EQ(space(m)->problem().m, m);
  EXPECT_EQ(space(64), first);
  EXPECT_EQ(space(72)->problem().m, 72);
  EXPECT_NE(space(64), first);
}

}  // namespace
}  // namespace mmtune
