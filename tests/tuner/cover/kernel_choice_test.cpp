#include "tuner/cover/kernel_choice.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "runtime/base/template_files.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/fixtures.h"
#include "tests/db/samples.h"
#include "tests/templates/family/settings.h"
#include "tuner/tune/family_spaces.h"

namespace mmtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Two kernels that were measured at a large size, where one is the fastest; the model expects the other to be that at
/// small ones.
class KernelsAtSpareSizes : public test::StoreTest {
 protected:
  KernelsAtSpareSizes() {
    options_.sample = {{square(4096)}};
    options_.further = {{square(2048)}};
    options_.spare = {{square(3072)}, {square(512)}, {square(128)}};
    for (const std::int64_t extent : {4096, 2048}) {
      put(square(extent), large_);
      put(square(extent), small_);
    }
  }

  static Problem square(std::int64_t extent) {
    return packed_problem(Precision::fp32, Layout::nn, extent, extent, extent);
  }

  static Candidate simt(const char* config) { return {&family_named("simt"), test::completed("simt", config)}; }

  double expected_us(const Problem& problem, const Candidate& candidate) const {
    return predict(*candidate.family, problem, candidate.config, device_).time_us;
  }

  /// Stores that a candidate takes so many times as long as the model expects.
  void put(const Problem& problem, const Candidate& candidate, double times = 1) {
    Trial trial = test::sample_trial();
    trial.key = preparation_.program(problem, candidate).key;
    trial.binary_hash = "";
    const double time_us = times * expected_us(problem, candidate);
    trial.timing = {time_us, time_us, time_us, time_us, 3, 1, 0, 0, 0, {"graph"}};
    store_.put(trial);
  }

  MeasuredKernels measured() {
    std::vector<Problem> problems;
    for (const auto* sizes : {&options_.sample, &options_.further, &options_.spare}) {
      for (const AskedProblem& size : *sizes) problems.push_back(size.problem);
    }
    return {store_, preparation_, problems};
  }

  /// The number of programs that are chosen.
  std::size_t programs(const CoverOptions& options) {
    const MeasuredKernels known = measured();
    std::set<std::size_t> programs = KernelChoice(options).programs(known);
    KernelChoice(options).add_useful(known, programs);
    return programs.size();
  }

  const DeviceSpec device_ = catalog_gpu("h200");
  const Preparation preparation_{template_files(), device_, compile_target(device_, {90}), Evidence::measured, ""};
  const Candidate large_ = simt("BM=128 BN=128 TM=8 TN=8"), small_ = simt("BM=32 BN=32 TM=2 TN=4");
  Store store_ = open();
  CoverOptions options_;
};

TEST_F(KernelsAtSpareSizes, WhatWinsNowhereIsMeasuredWhereItIsExpectedToBeOfMostUse) {
  const std::vector<SpareKernel> spare = KernelChoice(options_).for_spare(measured(), false);
  ASSERT_EQ(spare.size(), 1u) << "one size is enough";
  EXPECT_EQ(spare.front().size, 3u) << "at the first spare size the chosen kernel is the fastest, too";
  EXPECT_EQ(key_of(spare.front().candidate), key_of(small_));
}

TEST_F(KernelsAtSpareSizes, WhatDoesWellThereIsChosenAndNotMeasuredAgain) {
  EXPECT_EQ(programs(options_), 1u);
  put(square(512), small_);
  EXPECT_EQ(programs(options_), 2u);
  EXPECT_THAT(KernelChoice(options_).for_spare(measured(), false), IsEmpty());
}

TEST_F(KernelsAtSpareSizes, WhatIsSlowThereIsNotChosen) {
  put(square(512), small_, 1.1 * expected_us(square(512), large_) / expected_us(square(512), small_));
  EXPECT_EQ(programs(options_), 1u);
  EXPECT_THAT(KernelChoice(options_).for_spare(measured(), true), IsEmpty()) << "spare sizes were measured before";
}

TEST_F(KernelsAtSpareSizes, ThereIsNoRoomInASmallPortfolioNorWhereALossIsAllowed) {
  put(square(512), small_);
  CoverOptions one = options_, lossy = options_;
  one.most_kernels = 1;
  lossy.loss = 0.01;
  for (const CoverOptions& options : {one, lossy}) {
    EXPECT_EQ(programs(options), 1u);
    EXPECT_THAT(KernelChoice(options).for_spare(measured(), false), IsEmpty());
  }
}

TEST_F(KernelsAtSpareSizes, APartOfThePortfolioIsForThem) {
  options_.sample.clear();
  options_.further.clear();
  for (const char* tile :
       {"BM=128 BN=128 TM=8 TN=8", "BM=64 BN=64 TM=4 TN=4", "BM=128 BN=64 TM=8 TN=4", "BM=64 BN=128 TM=4 TN=8"}) {
    options_.further.push_back({square(1024 + 128 * static_cast<std::int64_t>(options_.further.size()))});
    put(options_.further.back().problem, simt(tile));
  }
  options_.most_kernels = 4;
  EXPECT_EQ(KernelChoice(options_).programs(measured()).size(), 3u);
  CoverOptions lossy = options_;
  lossy.loss = 0.01;
  EXPECT_EQ(KernelChoice(lossy).programs(measured()).size(), 4u) << "which has no room for them";
}

TEST_F(KernelsAtSpareSizes, WhatTakesLessPowerIsTheFasterOneInLongCalls) {
  const Problem problem = packed_problem(Precision::bf16, Layout::nn, 4096, 4096, 4096);
  options_.sample = {{problem}};
  const Family& family = family_named("wgmma");
  const auto tile = [&](const char* text) {
    return Candidate{&family, family.with_defaults(Config::parse(text), problem)};
  };
  const Candidate fetches_little = tile("BM=128 BN=256 CONSUMERS=2 CLUSTER_M=2 CLUSTER_N=4");
  const Candidate fetches_much = tile("BM=128 BN=128 CONSUMERS=2");
  put(problem, fetches_little);
  put(problem, fetches_much, 1.005 * expected_us(problem, fetches_little) / expected_us(problem, fetches_much));
  const MeasuredKernels known = measured();
  const auto us = [&](std::size_t kernel) { return known.times(0).at(kernel).us; };
  const bool is_first = key_of(known.kernels().front().candidate) == key_of(fetches_little);
  EXPECT_LT(us(is_first ? 1 : 0), us(is_first ? 0 : 1)) << "by themselves it is 0.5 % slower";
  EXPECT_GT(known.model_us(fetches_little, problem), 1.02 * expected_us(problem, fetches_little));
}

TEST_F(KernelsAtSpareSizes, ErrorsAreLearntOfEachClusterAndOfAllNumbersOfParts) {
  const Problem problem = packed_problem(Precision::bf16, Layout::nt, 4096, 4096, 4096);
  options_.sample = {{problem}};
  options_.further.clear();
  options_.spare.clear();
  const Family& family = family_named("wgmma");
  const auto launched = [&](const std::string& how) {
    const std::string same = "BM=128 BN=128 CONSUMERS=2 PINGPONG=0 CLUSTER_M=1 SWAP=0 GROUP=1 REDUCE=0 ";
    return Candidate{&family, family.complete(Config::parse(same + how), problem, device_)};
  };
  put(problem, launched("CLUSTER_N=2 SPLIT=2"), 2);
  put(problem, launched("CLUSTER_N=2 SPLIT=4"), 2);
  put(problem, launched("CLUSTER_N=4 SPLIT=2"));
  const MeasuredKernels known = measured();
  ASSERT_EQ(known.kernels().size(), 3u);
  EXPECT_EQ(known.kernels()[2].program, known.kernels()[0].program) << "the launch says the cluster";
  std::map<int, double> errors;  // by the cluster
  for (const ExpectedTime& each : ExpectedTimes(known).at(0, {0, 1, 2})) {
    errors[*each.candidate.config.find("CLUSTER_N")] = each.time_us / expected_us(problem, each.candidate);
  }
  EXPECT_GT(errors[2], 1.5 * errors[4]);
  std::set<std::size_t> launches;
  for (const SampledKernel& each : known.kernels()) launches.insert(each.launch);
  EXPECT_EQ(launches.size(), 2u);
}

TEST_F(KernelsAtSpareSizes, AProgramIsMeasuredWithTheClustersThatSuitTheSize) {
  const auto bf16 = [](std::int64_t m) { return packed_problem(Precision::bf16, Layout::nn, m, 1024, 4096); };
  options_.sample = {{bf16(1024)}};   // 64 tiles
  options_.further = {{bf16(2048)}};  // 128 tiles: a wave of pairs, or more than one of clusters of four
  options_.spare = {{bf16(2040)}};
  const Family& family = family_named("wgmma");
  const auto clusters = [&](int along_m) {
    const std::string text = "BM=128 BN=128 GROUP=4 CLUSTER_N=1 CLUSTER_M=" + std::to_string(along_m);
    return Candidate{&family, family.with_defaults(Config::parse(text), bf16(1024))};
  };
  put(bf16(1024), clusters(4));
  const auto listed = [&] {
    std::vector<std::string> names;
    const CandidateLists lists = KernelChoice(options_).for_further(measured(), true);
    for (const Candidate& each : lists[1]) names.push_back(each.config.text());
    return names;
  };
  EXPECT_THAT(listed(), ElementsAre(clusters(2).config.text()));
  EXPECT_THAT(measured().fitted_to_other_clusters(0, bf16(128)), IsEmpty()) << "half of each cluster had no tile";
  put(bf16(1024), clusters(2), 4);
  EXPECT_EQ(listed().front(), clusters(4).config.text()) << "what is known of the other clusters counts";
  EXPECT_THAT(measured().fitted_to_other_clusters(0, bf16(2048)), IsEmpty()) << "they are a kernel of their own";
}

}  // namespace
}  // namespace mmtune
