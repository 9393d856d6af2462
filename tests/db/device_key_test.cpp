#include "db/device_key.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>

#include "templates/gpu/gpu_catalog.h"
#include "templates/model/floors.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

const DeviceKey kH200 = key_of(catalog_gpu("h200"));

Problem square(Precision precision, std::int64_t n) { return packed_problem(precision, Layout::nn, n, n, n); }

// bench/results/nvidia-h200: the fastest of each precision, beside its limit.
TEST(SpeedLimit, IsBelowAllThatWasMeasured) {
  const SpeedLimit limit(kH200);
  EXPECT_LT(limit.least_us(square(Precision::bf16, 6144)), 586.0);
  EXPECT_LT(limit.least_us(square(Precision::tf32, 6144)), 1163.2);
  EXPECT_LT(limit.least_us(square(Precision::int8, 8192)), 697.2);
  EXPECT_LT(limit.least_us(packed_problem(Precision::fp32, Layout::nn, 8192, 5744, 64)), 139.5);
  EXPECT_LT(limit.least_us(packed_problem(Precision::fp64, Layout::nn, 8192, 1, 8192)), 121.7);
}

TEST(SpeedLimit, IsNotFarBelowTheFloorsOfAKnownGpu) {
  const DeviceSpec& h200 = catalog_gpu("h200");
  const SpeedLimit limit(kH200);
  for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::int8}) {
    const Problem problem = square(precision, 8192);
    EXPECT_GT(limit.least_us(problem), 0.75 * floors(problem, peak_tflops(h200, precision), h200).arithmetic_us);
  }
  const Problem thin = packed_problem(Precision::fp32, Layout::nn, 16384, 1, 16384);
  EXPECT_GT(limit.least_us(thin), 0.75 * floors(thin, peak_tflops(h200, Precision::fp32), h200).memory_us);
}

TEST(SpeedLimit, OfEveryGpuOfTheCatalogueIsBelowItsFloors) {
  for (const CatalogEntry& entry : gpu_catalog()) {
    for (const Precision precision : kAllPrecisions) {
      const Problem problem = square(precision, 4096);
      const Floors least = floors(problem, peak_tflops(entry.spec, precision), entry.spec);
      EXPECT_LT(SpeedLimit(key_of(entry.spec)).least_us(problem), std::max(least.arithmetic_us, least.memory_us))
          << entry.key << " " << to_string(precision);
    }
  }
}

TEST(SpeedLimit, FasterUnitsMayMultiplyPieces) {
  const SpeedLimit limit(kH200);
  // Three products of bf16 for one of fp32, as kernels that emulate it need at least.
  const double bf16_us = limit.least_us(square(Precision::bf16, 8192));
  EXPECT_LE(limit.least_us(square(Precision::fp32, 8192)), 3.001 * bf16_us);
}

TEST(SpeedLimit, NothingIsKnownOfANewArchitecture) {
  EXPECT_EQ(SpeedLimit({"NVIDIA X1", 990, 500, 1 << 20}).least_us(square(Precision::fp16, 8192)), 0);
  EXPECT_GT(SpeedLimit({"NVIDIA H100 of nobody", 90, 114, 232448}).least_us(square(Precision::fp16, 8192)), 0);
}

TEST_F(StoreTest, TimeBeyondTheLimitIsNeitherStoredNorRead) {
  Store store = open();
  Trial trial = sample_trial();
  trial.timing.median_us = 1e-6;
  EXPECT_THROW(store.put(trial), DatabaseError);
  store.put(sample_trial());
  store.put_winner(sample_trial().key, "search", 1);
  run_raw(path_, "UPDATE trial SET median_us = 1e-6");
  EXPECT_FALSE(store.find(sample_trial().key));
  EXPECT_TRUE(store.winners().empty());
  EXPECT_TRUE(store.served(sample_trial().key.device).sizes.empty());
  ASSERT_EQ(store.check().faults.size(), 1U);
  EXPECT_THAT(store.check().faults[0], ::testing::HasSubstr("faster than the GPU can"));
}

}  // namespace
}  // namespace mmtune::test
