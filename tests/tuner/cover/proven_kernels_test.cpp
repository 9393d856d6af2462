#include "tuner/cover/proven_kernels.h"

#include <gmock/gmock.h>

#include <set>

#include "runtime/base/template_files.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/templates/family/settings.h"
#include "tuner/tune/session_options.h"

namespace mmtune {
namespace {

class ProvenCandidates : public testing::Test {
 protected:
  CandidateLists listed(const std::vector<Problem>& problems, std::size_t most) const {
    return proven_candidates(searched_families({}), {}, problems, problems.size(), preparation_, most);
  }

  /// The different sources of what is listed.
  std::set<std::string> sources(const std::vector<Problem>& problems, const CandidateLists& lists) const {
    std::set<std::string> hashes;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      for (const Candidate& each : lists[i]) {
        hashes.insert(preparation_.program(problems[i], each).source.hash);
      }
    }
    return hashes;
  }

  const DeviceSpec device_ = catalog_gpu("h200");
  const Preparation preparation_{template_files(), device_, compile_target(device_, {90}), Evidence::measured, ""};
  const std::vector<Problem> problems_ = {packed_problem(Precision::bf16, {}, 1024, 1024, 1024),
                                          packed_problem(Precision::bf16, {}, 1152, 896, 1024),
                                          packed_problem(Precision::bf16, {}, 64, 4096, 4096)};
};

TEST_F(ProvenCandidates, ProblemsOfOneAlignmentShareTheirPrograms) {
  const auto lists = listed(problems_, 256);
  ASSERT_EQ(lists.size(), problems_.size());
  std::size_t candidates = 0;
  for (const auto& list : lists) {
    EXPECT_GE(list.size(), 4u);
    candidates += list.size();
  }
  EXPECT_LT(sources(problems_, lists).size(), candidates);
}

TEST_F(ProvenCandidates, NoMoreProgramsThanMayBeCompiled) {
  for (const std::size_t most : {1u, 3u, 8u}) {
    EXPECT_EQ(sources(problems_, listed(problems_, most)).size(), most);
  }
  for (const auto& list : listed(problems_, 3)) EXPECT_FALSE(list.empty()) << "each problem has one";
}

TEST_F(ProvenCandidates, FewProgramsComeCloseToTheBestOfEachProblem) {
  const auto few = listed(problems_, 3);
  const auto all = listed(problems_, 256);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    const FamilySpaces spaces(searched_families({}), problems_[i], device_);
    EXPECT_LT(spaces.predict_us(few[i].front()), 1.1 * spaces.predict_us(all[i].front()));
  }
}

TEST_F(ProvenCandidates, TheMostPromisingComeFirstAndAllCanRun) {
  const auto lists = listed(problems_, 256);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    const FamilySpaces spaces(searched_families({}), problems_[i], device_);
    double before_us = 0;
    for (const Candidate& each : lists[i]) {
      EXPECT_TRUE(spaces.number(each));
      EXPECT_GE(spaces.predict_us(each), before_us);
      before_us = spaces.predict_us(each);
    }
    EXPECT_LE(before_us, 1.25 * spaces.predict_us(lists[i].front()));
  }
}

TEST_F(ProvenCandidates, ProblemsThatAreNotSearchedHaveTheFirstFew) {
  const auto all = listed(problems_, 256);
  const auto lists = proven_candidates(searched_families({}), {}, problems_, 1, preparation_, 256);
  EXPECT_EQ(lists.front().size(), all.front().size());
  for (std::size_t i = 1; i < lists.size(); ++i) {
    ASSERT_EQ(lists[i].size(), 3u);
    for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(key_of(lists[i][rank]), key_of(all[i][rank]));
  }
}

TEST_F(ProvenCandidates, ProblemsWithTheProgramsOfMostComeFirst) {
  std::vector<Problem> problems;
  for (std::int64_t m = 64; m <= 256; m += 64) problems.push_back(packed_problem(Precision::fp32, {}, m, 64, 64));
  const auto tiled = [](const char* config) {
    return Candidate{&family_named("tiled"), test::completed("tiled", config)};
  };
  const Candidate most = tiled("TILE=8 UNROLL=1"), some = tiled("TILE=8 UNROLL=2"), one = tiled("TILE=16 UNROLL=1");
  CandidateLists lists{{most, some}, {one}, {most}, {some, most}};
  begin_with_common_programs(preparation_, problems, lists);
  std::vector<std::int64_t> rows;
  for (const Problem& problem : problems) rows.push_back(problem.m);
  EXPECT_THAT(rows, testing::ElementsAre(192, 64, 256, 128));
  EXPECT_EQ(key_of(lists[2].front()), key_of(some)) << "lists go with their problems";
  EXPECT_EQ(key_of(lists[3].front()), key_of(one));
}

TEST_F(ProvenCandidates, WhereNothingIsProvenNothingIsListed) {
  EXPECT_THAT(listed({packed_problem(Precision::int32, {}, 64, 64, 64)}, 256),
              testing::ElementsAre(testing::IsEmpty()));
}

}  // namespace
}  // namespace mmtune
