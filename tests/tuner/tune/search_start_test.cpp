// What a search knows for a start.
#include "tuner/tune/search_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

class AtHand : public ::testing::Test {
 protected:
  static Problem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    return packed_problem(Precision::e4m3_bf16, Layout::nt, m, n, k);
  }

  static Candidate candidate(const char* config, const Problem& problem) {
    const Family& family = family_named("wgmma");
    return {&family, family.with_defaults(Config::parse(config), problem)};
  }

  /// The only candidate at hand for a problem after this program was compiled for another.
  std::optional<Candidate> at_hand(const char* config, const Problem& compiled_for, const Problem& problem) {
    const TrialKey key = preparation_.program(compiled_for, candidate(config, compiled_for)).key;
    CodeMemory code(preparation_);
    code.keep(key, {});
    const FamilySpaces spaces({&family_named("wgmma")}, problem, preparation_.device());
    const auto numbers = mmtune::at_hand(code, spaces);
    if (numbers.size() != 1) return std::nullopt;
    const Candidate found = spaces.candidate(numbers.front());
    EXPECT_EQ(preparation_.program(problem, found).key.source_hash, key.source_hash) << key_of(found);
    return found;
  }

  static int split(const Candidate& candidate) { return *candidate.config.find("SPLIT"); }

  const Preparation preparation_{TemplateFiles::embedded(), catalog_gpu("h100"), CompileTarget{90, true, "sm_90a"},
                                 Evidence::measured, "13.0"};
};

/// With parts of k it would be another program, for whose compiler a search would wait instead of for what is proven.
TEST_F(AtHand, WhatHasNoPartsKeepsNone) {
  const char* config = "BM=96 BN=128 CONSUMERS=2 CLUSTER_N=2 SWAP=1 GROUP=4 SPLIT=1";
  const FamilySpaces spaces({&family_named("wgmma")}, problem(192, 3584, 18944), preparation_.device());
  const auto fitted = spaces.fitted(candidate(config, spaces.problem()));
  ASSERT_TRUE(fitted);
  EXPECT_EQ(split(spaces.candidate(*fitted)), 2) << "it was meant to have parts";

  const auto found = at_hand(config, problem(192, 5120, 6400), spaces.problem());
  ASSERT_TRUE(found);
  EXPECT_EQ(split(*found), 1);
}

TEST_F(AtHand, WhatHasPartsHasAsManyAsAreExpectedToBeFastest) {
  const char* config = "BM=96 BN=128 CONSUMERS=2 CLUSTER_N=2 SWAP=1 GROUP=4 SPLIT=2";
  const auto found = at_hand(config, problem(192, 3584, 18944), problem(192, 1792, 18944));
  ASSERT_TRUE(found);
  EXPECT_EQ(split(*found), 4);
}

/// Sixteen of one tile would leave other tiles no time.
TEST_F(AtHand, FewAreLaunchedAlike) {
  const Problem size = problem(4096, 5760, 2880);
  CodeMemory code(preparation_);
  const auto keep = [&](const std::string& config) {
    code.keep(preparation_.program(size, candidate(config.c_str(), size)).key, {});
  };
  // Tiles that need as many threads and as much shared memory.
  for (const char* tile : {"BM=128 BN=128", "BM=64 BN=192 PINGPONG=1", "BM=192 BN=64 PINGPONG=1"}) {
    for (const char* swap : {"0", "1"}) keep(std::string(tile) + " CONSUMERS=2 SWAP=" + swap);
  }
  keep("BM=64 BN=64 CONSUMERS=1 GROUP=4");
  const FamilySpaces spaces({&family_named("wgmma")}, size, preparation_.device());
  const auto numbers = mmtune::at_hand(code, spaces);
  EXPECT_EQ(numbers.size(), 5);
  EXPECT_EQ(std::count_if(numbers.begin(), numbers.end(),
                          [&](CandidateNumber each) { return *spaces.candidate(each).config.find("CONSUMERS") == 1; }),
            1);
}

/// A program comes with the rows of tiles and the cluster that the size before it had.
TEST_F(AtHand, ProgramsAreLaunchedAsIsExpectedToBeFastest) {
  const Problem before = problem(4096, 1024, 4096), size = problem(4096, 8192, 8192);
  const char* config = "BM=128 BN=128 CONSUMERS=2 CLUSTER_M=4 GROUP=1";
  const FamilySpaces spaces({&family_named("wgmma")}, size, preparation_.device());
  const auto found = at_hand(config, before, size);
  ASSERT_TRUE(found);
  EXPECT_GT(*found->config.find("GROUP"), 1);
  EXPECT_GT(*found->config.find("CLUSTER_M") * *found->config.find("CLUSTER_N"), 1) << "this is another program";
  EXPECT_LT(spaces.predict_us(*found), spaces.predict_us(candidate(config, size)));
}

TEST_F(AtHand, WhatTwoProgramsServeCountsOnce) {
  const Problem size = problem(192, 1792, 18944);
  CodeMemory code(preparation_);
  for (const char* split : {"1", "2", "4"}) {
    const std::string config = std::string("BM=96 BN=128 CONSUMERS=2 CLUSTER_N=2 SWAP=1 GROUP=4 SPLIT=") + split;
    code.keep(preparation_.program(size, candidate(config.c_str(), size)).key, {});
  }
  const FamilySpaces spaces({&family_named("wgmma")}, size, preparation_.device());
  EXPECT_EQ(mmtune::at_hand(code, spaces).size(), 1);
}

}  // namespace
}  // namespace mmtune
