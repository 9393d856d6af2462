// mmtune cover and mmtune audit on the model of a GPU.
#include "tuner/cover/cover.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "db/store.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

// The family compiles fast, and few of its configurations are enough to have some that serve and some that do not.
constexpr std::string_view kCover =
    "cover --device model:h200 --sizes 64..2048 --samples 8 --family naive --only 'BX=16,32 BY=4,8 COARSE=1' "
    "--kernels 4 --format csv";

class CoverTest : public Cli {
 protected:
  Store store() const { return Store::open(path("default.db"), OpenMode::read_only); }
};

TEST_F(CoverTest, FewKernelsServeTheSampleAndASecondRunMeasuresNothing) {
  const Result first = mmtune(std::string(kCover));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("precision,layout,align,family,config,sizes"));
  EXPECT_LE(std::count(first.out.begin(), first.out.end(), '\n'), 5) << "at most four kernels";
  EXPECT_THAT(first.err, HasSubstr("kernels for 8 sizes"));
  EXPECT_THAT(first.err, HasSubstr("held out"));
  std::set<std::string> kernels;
  const auto winners = store().winners();
  EXPECT_GT(winners.size(), 8u) << "8 sizes are searched, at 8 more the kernels are measured that suit them";
  EXPECT_LE(winners.size(), 16u);
  for (const Winner& winner : winners) {
    const Alignment& align = winner.trial.key.problem.align;
    kernels.insert(fmt::format("{} {} {} {}", winner.trial.key.config, align.a, align.b, align.c));
    for (const int bytes : {align.a, align.b, align.c}) EXPECT_TRUE(bytes == 4 || bytes == 16);
  }
  EXPECT_LE(kernels.size(), 4u);

  const auto trials = store().trials().size();
  const Result second = mmtune(std::string(kCover));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(store().trials().size(), trials);
}

TEST_F(CoverTest, AnAuditHasARowForEachSizeAndPolicy) {
  ASSERT_EQ(mmtune(std::string(kCover)).code, 0);
  const auto decisions = store().winners().size();
  const Result audit = mmtune(
      "audit --device model:h200 --sizes 64..2048 --count 4 --tuned 1 --family naive --effort quick "
      "--only 'BX=16,32 BY=4,8 COARSE=1' --format csv");
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("policy,seed,precision,layout,m,n,k,match,family,config,us,tuned_us,cublas_us"));
  const auto rows = [&](const std::string& policy) {
    std::istringstream lines(audit.out);
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with(policy + ",") ? 1 : 0;
    return count;
  };
  EXPECT_EQ(rows("learnt"), 4);
  EXPECT_EQ(rows("nearest"), 4);
  EXPECT_EQ(rows("model"), 4);
  EXPECT_EQ(rows("exact"), 1);
  EXPECT_THAT(audit.err, HasSubstr("learnt: 4 sizes"));
  EXPECT_EQ(store().winners().size(), decisions) << "tuning for the audit taught the database that is audited";
}

TEST_F(CoverTest, WhatIsNoDistributionIsAUsageError) {
  EXPECT_EQ(mmtune("cover --device model:h200 --sizes 64").code, 2);
  EXPECT_EQ(mmtune("cover --device model:h200 --sizes 64..128 --loss x").code, 2);
  EXPECT_EQ(mmtune("audit --device model:h200 --sizes 64..32").code, 2);
}

TEST_F(CoverTest, TuneAndCoverWorkInOrderOfTimeAtStake) {
  std::ofstream(path("calls.csv")) << "precision,layout,m,n,k,count,seconds\n"
                                      "fp32,nn,64,64,64,900,0.1\nfp64,tn,512,256,128,1,0.9\n";
  const Result tune = mmtune("tune --device model:h200 --sizes @" + path("calls.csv") + " --dry-run --format csv");
  ASSERT_EQ(tune.code, 0) << tune.err;
  EXPECT_THAT(tune.out, testing::ContainsRegex("\nfp64,tn,512,256,128,.*\nfp32,nn,64,64,64,"));
  const Result cover = mmtune("cover --device model:h200 --sizes @" + path("calls.csv") +
                              " --samples 1 --family naive --only 'BX=16 BY=8 COARSE=1' --format csv");
  ASSERT_EQ(cover.code, 0) << cover.err;
  EXPECT_THAT(cover.out, HasSubstr("\nfp64,tn,"));
}

TEST(SampledProblem, OperandsAreAlignedToSixteenBytesOrToElements) {
  const auto align = [](Precision precision, std::int64_t n, std::int64_t k) {
    return sampled_problem(packed_problem(precision, Layout::nn, 64, n, k)).align;
  };
  EXPECT_EQ(align(Precision::fp32, 64, 64), (Alignment{16, 16, 16}));
  EXPECT_EQ(align(Precision::fp32, 64, 62), (Alignment{4, 16, 16}));
  EXPECT_EQ(align(Precision::fp32, 63, 64), (Alignment{16, 4, 4}));
  EXPECT_EQ(align(Precision::bf16, 60, 64), (Alignment{16, 2, 2}));
}

}  // namespace
}  // namespace mmtune
