// What a database offers a GPU: load_kernels().
#include <gmock/gmock.h>

#include "runtime/choose/dispatch.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using test::Decision;
using test::fp32;

class LoadKernels : public testing::Test {
 protected:
  void put(const Decision& decision, const CompileTarget& target) {
    const Source source = test::source_of(decision, device_, target.compute_capability);
    test::put(store_, device_, decision, source.hash, test::pretended_binary(source, target));
  }

  StoredKernels load() { return load_kernels(store_, device_, TemplateFiles::embedded()); }

  DeviceSpec device_ = catalog_gpu("h200");
  TemporaryDirectory directory_;
  Store store_ = Store::open(directory_.file("test.db"), OpenMode::read_write);
  CompileTarget target_ = compile_target(device_, {80, 90});
};

TEST_F(LoadKernels, MeasuredDecisionsHidePredictedOnes) {
  put({fp32(512, 512, 512), "tiled", "", 50, Evidence::predicted}, target_);
  put({fp32(512, 512, 512), "simt", "", 60, Evidence::measured}, target_);
  put({fp32(256, 256, 256), "tiled", "", 20, Evidence::predicted}, target_);
  const StoredKernels kernels = load();
  ASSERT_EQ(kernels.winners.size(), 2u);
  EXPECT_EQ(kernels.unusable, 0);
  EXPECT_EQ(kernels.winners[0].median_us, 20);
  EXPECT_FALSE(kernels.winners[0].measured);
  EXPECT_EQ(kernels.winners[1].median_us, 60);
  EXPECT_EQ(kernels.winners[1].kernel->family->name(), "simt");
}

TEST_F(LoadKernels, TimesOfTheWinnersKernelsForOtherSizesComeAlong) {
  const Decision winner{fp32(512, 512, 512), "simt", "", 60};
  put(winner, target_);
  const Source source = test::source_of(winner, device_, target_.compute_capability);
  const Binary binary = test::pretended_binary(source, target_);
  const auto put_time = [&](Decision other, Outcome outcome) {
    Trial trial;
    trial.key = {key_of(device_), other.problem, other.family, test::config_of(other, device_).text(),
                 source.hash,     other.evidence};
    trial.binary_hash = binary.hash;
    trial.outcome = outcome;
    trial.timing.median_us = other.median_us;
    store_.put(trial, &binary);
  };
  put_time({fp32(640, 512, 512), "simt", "", 70}, Outcome::ok);
  put_time({fp32(768, 512, 512), "simt", "", 80}, Outcome::too_slow);
  put_time({fp32(896, 512, 512), "simt", "", 90}, Outcome::wrong_result);
  put_time({fp32(960, 512, 512), "simt", "", 95, Evidence::predicted}, Outcome::ok);
  const StoredKernels kernels = load();
  EXPECT_EQ(kernels.winners.size(), 1u);
  std::vector<double> times;
  for (const Entry& time : kernels.times) {
    times.push_back(time.median_us);
    EXPECT_EQ(time.kernel, kernels.winners[0].kernel);
  }
  EXPECT_THAT(times, testing::UnorderedElementsAre(60, 70, 80));
}

TEST_F(LoadKernels, DecisionsOfOtherSourcesDoNotCount) {
  const Decision decision{fp32(512, 512, 512)};
  const Source source = test::source_of(decision, device_, target_.compute_capability);
  test::put(store_, device_, decision, "of-an-older-kernel", test::pretended_binary(source, target_));
  const StoredKernels kernels = load();
  EXPECT_TRUE(kernels.winners.empty());
  EXPECT_EQ(kernels.unusable, 1);
}

TEST_F(LoadKernels, SizesShareAKernelWhoseSourceIsLookedAtOnce) {
  for (const std::int64_t m : {512, 1024, 2048}) put({fp32(m, 512, 512)}, target_);
  const StoredKernels kernels = load();
  ASSERT_EQ(kernels.winners.size(), 3u);
  EXPECT_EQ(kernels.winners[0].kernel, kernels.winners[1].kernel);
  EXPECT_EQ(kernels.winners[0].kernel, kernels.winners[2].kernel);
}

TEST_F(LoadKernels, OtherArchitecturesDoNotRunOnAnInstalledGpu) {
  put({fp32(512, 512, 512)}, compile_target(device_, {80}));
  EXPECT_EQ(load().winners.size(), 1u) << "for planning, any architecture stands for what would run";
  device_.installed = true;
  EXPECT_EQ(load().unusable, 1);
  put({fp32(512, 512, 512)}, target_);
  EXPECT_EQ(load().winners.size(), 1u);
}

TEST_F(LoadKernels, OtherGpusDecisionsDoNotCount) {
  put({fp32(512, 512, 512)}, target_);
  device_ = catalog_gpu("a100");
  EXPECT_TRUE(load().winners.empty());
  EXPECT_EQ(load().unusable, 0);
}

TEST_F(LoadKernels, FindsTheFallbacksBinaries) {
  const Decision fallback{packed_problem(Precision::int32, Layout::nt, 1, 1, 1), "naive"};
  const Source source = test::source_of(fallback, device_, target_.compute_capability);
  store_.put_compiled(source.hash, test::pretended_binary(source, target_));
  const StoredKernels kernels = load();
  ASSERT_EQ(kernels.fallbacks.size(), 1u);
  EXPECT_EQ(kernels.fallbacks[0].problem.precision, Precision::int32);
  EXPECT_EQ(kernels.fallbacks[0].problem.layout, Layout::nt);
}

}  // namespace
}  // namespace mmtune
