// Times: their statistics on any machine, their order of magnitude on a GPU.
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cmath>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/support.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

namespace mmtune {
namespace {

TEST(Timing, SummarisesByQuartiles) {
  const Timing timing = summarise({5, 1, 4, 2, 3});
  EXPECT_EQ(timing.min_us, 1);
  EXPECT_EQ(timing.q1_us, 2);
  EXPECT_EQ(timing.median_us, 3);
  EXPECT_EQ(timing.q3_us, 4);
  EXPECT_EQ(timing.samples, 5);
  EXPECT_EQ(summarise({1, 2}).median_us, 1.5);
  EXPECT_EQ(summarise({7}).q3_us, 7);
  EXPECT_THROW(summarise({}), Error);
}

// Sets of few rows times weights, whose calls take what memory takes: as many as take half a millisecond.
TEST(OperandSets, AreEnoughForALongSample) {
  const DeviceSpec h100 = catalog_gpu("h100");
  const auto sets = [&](std::int64_t m, std::int64_t n, std::int64_t k, const DeviceSpec& device) {
    return operand_set_count(packed_problem(Precision::bf16, Layout::nt, m, n, k), device);
  };
  const double few_rows_us = 2.0 * 2560 * 5120 / h100.memory_bandwidth_gb_s * 1e-3;
  EXPECT_NEAR(sets(16, 2560, 5120, h100), 500 / few_rows_us, 2);
  // Bound by arithmetic, where a call takes 139 us.
  EXPECT_EQ(sets(4096, 4096, 4096, h100), 4);
  EXPECT_EQ(sets(8192, 8192, 8192, h100), 2);
  EXPECT_EQ(sets(16, 16, 16, h100), 256);
  // With little memory there are fewer, yet never so few that the cache holds them.
  DeviceSpec small = h100;
  small.memory_bytes = std::int64_t{1} << 30;
  const Problem few_rows = packed_problem(Precision::bf16, Layout::nt, 16, 2560, 5120);
  const std::int64_t bytes = 2 * (16 * 2560 + 2560 * 5120 + 16 * 5120);
  EXPECT_EQ(cold_set_count(few_rows, h100), 2 * h100.l2_bytes / bytes + 1);
  EXPECT_EQ(operand_set_count(few_rows, small), cold_set_count(few_rows, h100));
}

/// One kernel and everything that timing it needs.
class Bench {
 public:
  Bench(const Nvrtc& nvrtc, const DeviceSpec& device, std::int64_t n)
      : target_(compile_target(device, nvrtc.supported())),
        problem_(packed_problem(Precision::fp32, Layout::nn, n, n, n)),
        config_(family_.default_config(problem_)),
        plan_(family_.plan(problem_, config_, device)),
        kernel_(nvrtc
                    .compile(render(TemplateFiles::embedded(), family_, problem_, config_, plan_,
                                    target_.compute_capability),
                             TemplateFiles::embedded(), target_)
                    .cubin,
                plan_),
        stream_(make_stream()),
        checks_(nvrtc, target_, Precision::fp32, Layout::nn),
        verifier_(checks_, problem_, stream_.get()),
        sets_(checks_, problem_, verifier_.random_operands(plan_), device, memory_, stream_.get()) {
    warm_up(checks_, problem_, sets_, stream_.get());
  }

  const OperandSets& sets() const { return sets_; }

  Stopwatch watch(double estimate_us) {
    return {call_of(kernel_, plan_, problem_, 0), sets_, estimate_us, stream_.get()};
  }

  Timing time(double estimate_us) {
    Stopwatch stopwatch = watch(estimate_us);
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) samples.push_back(stopwatch.sample_us());
    return summarise(samples);
  }

 private:
  const Family& family_ = family_named("tiled");
  CompileTarget target_;
  Problem problem_;
  Config config_;
  LaunchPlan plan_;
  LoadedKernel kernel_;
  Stream stream_;
  CheckKernels checks_;
  Verifier verifier_;
  OperandMemory memory_;
  OperandSets sets_;
};

class GpuMeasure : public test::GpuTest {
 protected:
  static constexpr double kLong_us = 1e6;
};

TEST_F(GpuMeasure, TimesArePositiveAndOrdered) {
  Bench bench(*nvrtc_, device_, 300);
  for (const double estimate_us : {0.0, kLong_us}) {
    const Timing timing = bench.time(estimate_us);
    EXPECT_TRUE(std::isfinite(timing.median_us));
    EXPECT_GT(timing.min_us, 0);
    EXPECT_LE(timing.min_us, timing.q1_us);
    EXPECT_LE(timing.q1_us, timing.median_us);
    EXPECT_LE(timing.median_us, timing.q3_us);
  }
}

TEST_F(GpuMeasure, ShortCallsAreReplayedOverAsManySetsAsASampleNeeds) {
  Bench bench(*nvrtc_, device_, 300);
  const Stopwatch replay = bench.watch(0);
  EXPECT_TRUE(replay.uses_graph());
  EXPECT_EQ(replay.calls_per_sample(), bench.sets().count());
  // Of calls that take longer than at the peaks a sample needs fewer, but enough that none finds its operands cached.
  const int cold = bench.sets().cold_count();
  EXPECT_LT(cold, bench.sets().count());
  EXPECT_EQ(bench.watch(500.0 / (cold + 3)).calls_per_sample(), cold + 3);
  EXPECT_EQ(bench.watch(500).calls_per_sample(), cold);
  const Stopwatch single = bench.watch(kLong_us);
  EXPECT_FALSE(single.uses_graph());
  EXPECT_EQ(single.calls_per_sample(), 1);
}

TEST_F(GpuMeasure, LongerSamplesMakeMoreCallsOfTheSameTime) {
  Bench bench(*nvrtc_, device_, 300);
  for (const double estimate_us : {0.0, kLong_us}) {
    Stopwatch stopwatch = bench.watch(estimate_us);
    const int calls = stopwatch.calls_per_sample();
    stopwatch.sample_us();
    const double before_us = stopwatch.sample_us();
    stopwatch.lengthen(9.5 * calls * before_us, before_us);
    EXPECT_EQ(stopwatch.calls_per_sample(), 10 * calls);
    EXPECT_LT(stopwatch.sample_us(), 3 * before_us);
    stopwatch.lengthen(0, before_us);
    EXPECT_EQ(stopwatch.calls_per_sample(), 10 * calls);
  }
}

TEST_F(GpuMeasure, SetsTogetherExceedTheCache) {
  const Bench bench(*nvrtc_, device_, 512);
  EXPECT_GE(bench.sets().count(), 2);
  EXPECT_GE(bench.sets().count() * std::int64_t{3 * 512 * 512 * 4}, 2 * device_.l2_bytes);
  for (int i = 1; i < bench.sets().count(); ++i) EXPECT_NE(bench.sets().set(i).a, bench.sets().set(i - 1).a);
}

TEST_F(GpuMeasure, SixtyFourTimesTheWorkTakesLonger) {
  const double small_us = Bench(*nvrtc_, device_, 512).time(0).median_us;
  const double large_us = Bench(*nvrtc_, device_, 2048).time(0).median_us;
  EXPECT_GT(large_us, 4 * small_us);
  // No kernel is faster than the cores.
  EXPECT_LT(2.0 * 2048 * 2048 * 2048 / large_us * 1e-6, peak_tflops(device_, Precision::fp32));
}

}  // namespace
}  // namespace mmtune
