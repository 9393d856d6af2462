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

}  // namespace
}  // namespace mmtune
