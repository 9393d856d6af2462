// What measurements add to the analytic model.
#include "templates/model/correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"

namespace mmtune {
namespace {

const Family& wgmma() { return family_named("wgmma"); }

Prediction expected(const Problem& problem, const std::string& config) {
  const DeviceSpec h100 = catalog_gpu("h100");
  const Config whole = wgmma().with_defaults(Config::parse(config), problem);
  return predict(problem, wgmma().plan(problem, whole, h100), h100, 0);
}

bool is_corrected(const Problem& problem, const std::string& config, std::int64_t products = 1) {
  const DeviceSpec h100 = catalog_gpu("h100");
  const Config whole = wgmma().with_defaults(Config::parse(config), problem);
  return has_correction(problem, cost_of(problem, wgmma().plan(problem, whole, h100), h100, 0), products);
}

TEST(Correction, IsOfCallsThatItWasFittedTo) {
  const Problem problem = packed_problem(Precision::bf16, Layout::nt, 1024, 1024, 1024);
  EXPECT_TRUE(is_corrected(problem, "BM=128 BN=128"));
  EXPECT_FALSE(is_corrected(problem, "BM=128 BN=128", 2));
  EXPECT_TRUE(is_corrected(packed_problem(Precision::e4m3_bf16, Layout::nt, 1024, 1024, 1024), "BM=128 BN=128"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::bf16_fp32, Layout::nt, 1024, 1024, 1024), "BM=128 BN=128"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::e4m3_fp32, Layout::nt, 1024, 1024, 1024), "BM=128 BN=128"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::tf32, Layout::nt, 1024, 1024, 1024), "BM=128 BN=128"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::bf16, Layout::tn, 1024, 1024, 1024), "BM=128 BN=128"));
  EXPECT_TRUE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 1024, 1023, 1024), "BM=128 BN=128"))
      << "results that are not aligned";
  EXPECT_TRUE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 1024, 1024, 1023), "BM=128 BN=128 PACK=1"))
      << "operands that are copied first";
  EXPECT_TRUE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 48, 1024, 1024), "BM=64 BN=128"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 40, 1024, 1024), "BM=64 BN=128"));
  EXPECT_TRUE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 8192, 8192, 2048), "BM=128 BN=256"));
  EXPECT_FALSE(is_corrected(packed_problem(Precision::bf16, Layout::nt, 8192, 8192, 8192), "BM=128 BN=256"));
  Problem invariant = problem;
  invariant.invariant = true;
  EXPECT_FALSE(is_corrected(invariant, "BM=128 BN=128"));
}

// Times of an H100: bench/results/nvidia-h100/correction_bf16_nt_slow_trials.csv.xz.
TEST(Correction, KnowsWhatTheModelDoesNot) {
  const Problem few_columns = packed_problem(Precision::bf16, Layout::nt, 1856, 176, 3392);
  const Prediction alone = expected(few_columns, "BM=64 BN=64 CONSUMERS=1 GROUP=4");
  const Prediction of_four = expected(few_columns, "BM=64 BN=64 CONSUMERS=1 CLUSTER_M=4 GROUP=4");
  EXPECT_GT(alone.analytic_us, of_four.analytic_us);
  EXPECT_LT(alone.time_us, of_four.time_us) << "they take 8.8 and 10.7 us";
  // The factor of these weights for these inputs, in their order.
  EXPECT_NEAR(alone.time_us / alone.analytic_us, 0.9693, 0.001);
}

TEST(Correction, IsBoundedFromBelowWhereThatDoes) {
  CorrectionInputs inputs{};
  for (float& input : inputs) input = 1;
  const Correction whole = correction(inputs);
  EXPECT_TRUE(whole.is_exact);
  const Correction bound = correction(inputs, 0.9 * whole.factor);
  EXPECT_FALSE(bound.is_exact);
  EXPECT_GE(bound.factor, 0.9 * whole.factor);
  EXPECT_LE(bound.factor, whole.factor);
}

TEST(Correction, IsNotWorkedOutWhereTheTimeIsBeyondALimit) {
  const DeviceSpec h100 = catalog_gpu("h100");
  const Problem problem = packed_problem(Precision::bf16, Layout::nt, 1856, 176, 3392);
  const LaunchPlan plan = wgmma().plan(problem, wgmma().with_defaults(Config::parse("BM=64 BN=64"), problem), h100);
  const PlanCost cost = cost_of(problem, plan, h100, 0);
  const Prediction whole = predict(problem, cost, plan.workspace.bytes(), h100);
  const auto limited = [&](double limit_us) {
    return predict_us(problem, cost, plan.workspace.bytes(), h100, 1, Power::ample, limit_us);
  };
  const double least_us = kLeastCorrection * whole.analytic_us;
  for (const double limit_us : {std::numeric_limits<double>::infinity(), 1.001 * whole.time_us}) {
    EXPECT_TRUE(limited(limit_us).is_exact);
    EXPECT_EQ(limited(limit_us).us, whole.time_us);
  }
  const TimeBound of_networks = limited(1.001 * least_us);
  EXPECT_FALSE(of_networks.is_exact) << "they are enough to know it";
  EXPECT_GE(of_networks.us, 1.001 * least_us);
  EXPECT_LE(of_networks.us, whole.time_us);
  EXPECT_FALSE(limited(0.999 * least_us).is_exact);
  EXPECT_NEAR(limited(0.999 * least_us).us, least_us, 1e-9 * least_us);
}

TEST(Correction, IsBoundedWhateverTheCall) {
  for (const std::int64_t m : {8, 64, 1000, 65536}) {
    for (const std::int64_t k : {8, 1000, 65536}) {
      for (const char* config : {"BM=64 BN=24", "BM=128 BN=256 CLUSTER_M=2", "BM=64 BN=64 CONSUMERS=1 SPLIT=8"}) {
        const Prediction prediction = expected(packed_problem(Precision::bf16, Layout::nn, m, 4096, k), config);
        const double factor = prediction.time_us / prediction.analytic_us;
        EXPECT_GE(factor, kLeastCorrection * (1 - 1e-9)) << m << ' ' << k << ' ' << config;
        EXPECT_LE(factor, kMostCorrection * (1 + 1e-9)) << m << ' ' << k << ' ' << config;
      }
    }
  }
}

}  // namespace
}  // namespace mmtune
