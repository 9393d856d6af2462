// mmtune cover and mmtune audit on the model of a GPU.
#include "tuner/cover/cover.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "db/store.h"
#include "test_paths.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/cover/size_sample.h"
#include "tuner/workers/gpu_lock.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

// The family compiles fast, and few of its configurations are enough to have some that serve and some that do not.
constexpr std::string_view kCover =
    "cover --device model:h200 --sizes 64..2048 --samples 6 --family naive --only 'BX=16,32 BY=4,8 COARSE=1' "
    "--kernels 4 --format csv";

class CoverTest : public Cli {
 protected:
  Store store() const { return Store::open(path("default.db"), OpenMode::read_only); }

  /// "problem family config": the decisions of a database.
  std::set<std::string> decisions(const std::string& database) const {
    std::set<std::string> list;
    for (const Winner& winner : Store::open(path(database), OpenMode::read_only).winners()) {
      const TrialKey& key = winner.trial.key;
      list.insert(fmt::format("{} {} {}", to_string(key.problem), key.family, key.config));
    }
    return list;
  }
};

TEST_F(CoverTest, FewKernelsServeTheSampleAndASecondRunMeasuresNothing) {
  const Result first = mmtune(std::string(kCover));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("precision,layout,align,family,config,sizes"));
  EXPECT_THAT(first.err, HasSubstr("kernels for 6 sizes"));
  EXPECT_THAT(first.err, HasSubstr("held out"));
  std::set<std::string> programs;
  const auto winners = store().winners();
  EXPECT_GT(winners.size(), 6u) << "6 sizes are searched, at 96 more the kernels are measured that suit them";
  EXPECT_LE(winners.size(), 102u);
  for (const Winner& winner : winners) {
    const Alignment& align = winner.trial.key.problem.align;
    programs.insert(winner.trial.key.source_hash);
    for (const int bytes : {align.a, align.b, align.c}) EXPECT_TRUE(bytes == 4 || bytes == 16);
  }
  EXPECT_LE(programs.size(), 4u);

  const auto trials = store().trials().size();
  const Result second = mmtune(std::string(kCover));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(store().trials().size(), trials);
}

TEST_F(CoverTest, WhatALongerOneHasSearchedStaysSearched) {
  std::string longer(kCover);
  longer.replace(longer.find("samples 6"), 9, "samples 12");
  ASSERT_EQ(mmtune(longer).code, 0);
  ASSERT_EQ(mmtune(std::string(kCover)).code, 0) << "half of the sizes are further ones of this";
  EXPECT_THAT(mmtune(longer).err, testing::Not(HasSubstr("best of "))) << "all are searched";
}

/// Covers with the program whose GPU is pretended.
class CoverOfPretendedGpu : public CoverTest {
 protected:
  ~CoverOfPretendedGpu() override { std::filesystem::remove("/tmp/mmtune-" + uuid() + ".lock"); }

  using Extents = std::array<std::int64_t, 3>;

  static std::string uuid() { return fmt::format("GPU-test-{}-cover", getpid()); }

  Result run(const std::string& verb, const std::string& options, const std::string& faults = "") const {
    return shell(
        fmt::format("MMTUNE_DB='{}' MMTUNE_TEST_FAULTS='uuid@{}{}' '{}' {} --device 0 --family naive --format csv {}",
                    path("default.db"), uuid(), faults, MMTUNE_PRETENDING_BINARY, verb, options));
  }

  Result cover(const std::string& options, const std::string& faults = "") const {
    return run("cover", "--sizes 64..1024 --samples 6 --only 'BX=16,32 BY=4,8 COARSE=1' " + options, faults);
  }

  /// The number of decisions at other sizes than the sample and the further ones.
  std::int64_t decided_elsewhere() const {
    std::set<Extents> measured;
    for (const WeightedSize& each : SizeDistribution::parse("64..1024").spread(102, 1)) {
      measured.insert({each.size.m, each.size.n, each.size.k});
    }
    const auto winners = store().winners();
    return std::count_if(winners.begin(), winners.end(), [&](const Winner& winner) {
      const Problem& problem = winner.trial.key.problem;
      return !measured.contains({problem.m, problem.n, problem.k});
    });
  }
};

TEST_F(CoverOfPretendedGpu, WithRoomKernelsThatWinNowhereHaveSizesOfTheirOwn) {
  const Result full = cover("--kernels 1");
  ASSERT_EQ(full.code, 0) << full.err;
  EXPECT_EQ(decided_elsewhere(), 0);
  const Result roomy = cover("--kernels 256");
  ASSERT_EQ(roomy.code, 0) << roomy.err;
  EXPECT_GT(decided_elsewhere(), 0) << "a cover that had no room for them goes on";
  EXPECT_THAT(roomy.err, HasSubstr("programs are kept for them alone"));
  const auto trials = store().trials().size();
  ASSERT_EQ(cover("--kernels 256").code, 0);
  EXPECT_EQ(store().trials().size(), trials) << "a finished cover measures no others";
}

TEST_F(CoverOfPretendedGpu, OneProcessOpensTheGpuForAllParts) {
  ASSERT_EQ(cover("", ";open_log@" + path("opened")).code, 0);
  std::ifstream opened(path("opened"));
  const std::vector<std::string> lines{std::istream_iterator<std::string>(opened), {}};
  EXPECT_EQ(lines, std::vector{uuid()});
}

TEST_F(CoverOfPretendedGpu, InvariantProductsHaveThemToo) {
  ASSERT_EQ(cover("--invariant").code, 0);
  EXPECT_GT(decided_elsewhere(), 0);
  for (const Winner& winner : store().winners()) EXPECT_TRUE(winner.trial.key.problem.invariant);
}

TEST_F(CoverOfPretendedGpu, SpareSizesThatWereTunedStayAsTheyAre) {
  std::ofstream calls(path("calls.csv"));
  for (int i = 0; i < 40; ++i) calls << fmt::format("{},160,256,{}\n", 232 + 8 * i, 100 - i);
  calls.close();
  ASSERT_EQ(run("tune", "--sizes 520x160x256,528x160x256,536x160x256,544x160x256").code, 0);
  const std::set<std::string> tuned = decisions("default.db");
  const std::string few = "--samples 2 --kernels 1 --only 'MAPPING=2 BX=16 BY=4 COARSE=1'";
  ASSERT_EQ(run("cover", fmt::format("--sizes '@{}' {}", path("calls.csv"), few)).code, 0);
  EXPECT_THAT(decisions("default.db"), testing::IsSupersetOf(tuned));
}

TEST_F(CoverOfPretendedGpu, WithoutTimeThereAreNone) {
  ASSERT_EQ(cover("--budget 0.001s").code, 0);
  EXPECT_EQ(decided_elsewhere(), 0);
}

TEST_F(CoverTest, SizesForWhichTheBudgetHasNoTimeAreLeftToTheNextRun) {
  const Result first = mmtune(std::string(kCover) + " --budget 0.001s");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("of 6 sizes were not searched in that time; the same command goes on"));
  const Result second = mmtune(std::string(kCover));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("best of ")) << "sizes that were left are searched";
  EXPECT_THAT(second.err, testing::Not(HasSubstr("not searched")));
  const Result third = mmtune(std::string(kCover));
  EXPECT_EQ(third.out, second.out);
  EXPECT_THAT(third.err, testing::Not(HasSubstr("best of "))) << "all are searched";
}

TEST_F(CoverTest, OfNoSizeNoLossIsSaid) {
  std::ofstream(path("one.csv")) << "m,n,k\n64,64,64\n";
  const std::string cover = fmt::format("cover --device model:h200 --sizes '@{}' --kernels 1 ", path("one.csv"));
  const Result none = mmtune(cover + "--family wgmma --precision fp32");
  EXPECT_EQ(none.code, 4) << none.err;
  EXPECT_THAT(none.err, testing::Not(HasSubstr("slower")));
  const Result alone = mmtune(cover + "--family naive --only 'BX=16 BY=4 COARSE=1'");
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("1 kernels for 1 sizes"));
  EXPECT_THAT(alone.err, testing::Not(HasSubstr("other sizes"))) << "it is the only one";
}

class CoverOfShares : public CoverTest {
 protected:
  /// The cover on a database of this name, as one process or as one of several.
  Result cover(const std::string& database, const std::string& shard) const {
    return mmtune(fmt::format("{} --shard {} --db '{}'", kCover, shard, path(database)));
  }

  Result merge(const std::string& files) const {
    return shell(fmt::format("cd '{}' && '{}' db merge --db fleet.db {}", path(""), MMTUNE_BINARY, files));
  }
};

TEST_F(CoverOfShares, MergedTheyGiveTheKernelsOfOneProcess) {
  const Result one = cover("one.db", "none");
  ASSERT_EQ(one.code, 0) << one.err;
  std::size_t searched = 0;
  for (int number = 1; number <= 3; ++number) {
    const std::string database = fmt::format("shard-{}.db", number);
    const Result share = cover(database, fmt::format("{}/3", number));
    ASSERT_EQ(share.code, 0) << share.err;
    EXPECT_EQ(share.out, "") << "kernels are chosen when all is known";
    EXPECT_THAT(share.err, HasSubstr(fmt::format("share {}/3, by --shard: ", number)));
    EXPECT_THAT(share.err, HasSubstr("merge the databases"));
    searched += decisions(database).size();
  }
  EXPECT_EQ(searched, 6u) << "each size of the sample in one share";
  ASSERT_EQ(merge("shard-*.db").code, 0);
  const Result all = cover("fleet.db", "none --effort full");  // A search would go on with more effort.
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.out, one.out);
  EXPECT_EQ(decisions("fleet.db"), decisions("one.db"));
  EXPECT_THAT(all.err, testing::Not(HasSubstr("best of "))) << "no size is searched again";
}

TEST_F(CoverOfShares, AShareThatIsMissingIsSearchedLater) {
  const Result one = cover("one.db", "none");
  ASSERT_EQ(cover("shard-1.db", "1/3").code, 0);
  ASSERT_EQ(cover("shard-3.db", "3/3").code, 0);
  ASSERT_EQ(merge("shard-1.db shard-3.db").code, 0);
  const Result rest = cover("fleet.db", "none");
  EXPECT_EQ(rest.out, one.out) << rest.err;
  EXPECT_EQ(decisions("fleet.db"), decisions("one.db"));
}

TEST_F(CoverOfShares, ASecondRunMeasuresNothing) {
  ASSERT_EQ(cover("shard.db", "1/2").code, 0);
  const auto contents = [&] {
    return mmtune(fmt::format("show --trials --format csv --db '{}'", path("shard.db"))).out;
  };
  const std::string first = contents();
  const Result second = cover("shard.db", "1/2");
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(contents(), first);
}

TEST_F(CoverOfShares, AShareWithoutSizesLeavesADatabase) {
  const Result result = mmtune("cover --device model:h200 --sizes 64..128 --samples 1 --family naive --shard 2/2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("0 of 1 problem"));
  EXPECT_THAT(mmtune("db check --format csv").out, HasSubstr("\n0,0,0,0\n"));
}

TEST_F(CoverOfShares, TheEnvironmentNamesTheShare) {
  const Result result = shell(fmt::format("MMTUNE_DB='{}' SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=4 '{}' {}",
                                          path("default.db"), MMTUNE_BINARY, kCover));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("share 2/4, by SLURM_ARRAY_TASK_ID 1 of 4: 2 of 6 problems; --shard none"));
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
  const Result other = mmtune("audit --device model:h200 --sizes 64..128 --count 1 --precision fp64");
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, HasSubstr("on NVIDIA H200; run mmtune cover or tune first"));
}

TEST_F(CoverOfPretendedGpu, AnAuditThatIsInterruptedWhileItWaitsForTheGpuMeasuresNothing) {
  ASSERT_EQ(cover("").code, 0);
  DeviceChoice gpu{{}, 0};
  gpu.spec.uuid = uuid();
  const auto lock = GpuLock::wait(gpu, 0);
  const Result audit = shell(fmt::format(R"(
      MMTUNE_DB='{0}' MMTUNE_TEST_FAULTS='uuid@{1}' '{2}' audit --device 0 --sizes 64..1024 --count 2 2>'{3}' & audit=$!
      while kill -0 $audit && ! grep -q 'waiting for it' '{3}'; do sleep 0.05; done
      kill -TERM $audit; wait $audit; code=$?; cat '{3}' >&2; exit $code)",
                                         path("default.db"), uuid(), MMTUNE_PRETENDING_BINARY, path("log")));
  EXPECT_EQ(audit.code, 130);
  EXPECT_THAT(audit.err, HasSubstr("interrupted while another process measured on the GPU"));
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
