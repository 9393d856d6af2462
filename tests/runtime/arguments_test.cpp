#include "runtime/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cstring>
#include <limits>

namespace mmtune {
namespace {

using testing::HasSubstr;

template <class T>
T value_at(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

/// A correct call of a plan that needs nothing special; tests break one thing at a time.
struct Call {
  LaunchPlan plan;
  Problem problem = packed_problem(Precision::fp32, Layout::nn, 64, 32, 16);
  Operands operands;

  Call() {
    operands.a = 0x1000;
    operands.b = 0x2000;
    operands.c = 0x3000;
    operands.ld = packed_leading_dimensions(problem);
  }
  void check() const { check_operands(plan, problem, operands); }
  std::string refusal() const {
    try {
      check();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

TEST(CheckOperands, AcceptsAPlainCall) { EXPECT_EQ(Call().refusal(), ""); }

TEST(CheckOperands, RefusesRowsThatOverlap) {
  Call call;
  call.operands.ld.b = 31;
  EXPECT_THAT(call.refusal(), HasSubstr("B: leading dimension 31"));
}

TEST(CheckOperands, ComparesWithTheStoredRow) {
  Call call;
  call.problem.layout = Layout::tn;  // A is stored as k rows of m
  EXPECT_THAT(call.refusal(), HasSubstr("A: leading dimension 16"));
  call.operands.ld.a = 64;
  EXPECT_EQ(call.refusal(), "");
}

TEST(CheckOperands, RefusesLessAlignmentThanThePlanNeeds) {
  Call call;
  call.plan.needs = {16, 16, 16};
  EXPECT_EQ(call.refusal(), "");
  call.operands.a += 4;
  EXPECT_THAT(call.refusal(), HasSubstr("A: "));
  call.plan.needs.a = 4;
  EXPECT_EQ(call.refusal(), "");
}

TEST(CheckOperands, RefusesMisalignedElementsWhateverThePlan) {
  Call call;
  call.operands.c += 2;
  EXPECT_THAT(call.refusal(), HasSubstr("C: "));
}

TEST(CheckOperands, RefusesMissingAddresses) {
  Call call;
  call.operands.a = 0;
  EXPECT_THAT(call.refusal(), HasSubstr("A: no address"));
  call.operands.alpha = 0;
  EXPECT_EQ(call.refusal(), "");
  call.operands.c = 0;
  EXPECT_THAT(call.refusal(), HasSubstr("C: no address"));
}

TEST(CheckOperands, EmptyOutputNeedsNoAddresses) {
  Call call;
  call.problem.m = 0;
  call.operands.a = call.operands.b = call.operands.c = 0;
  EXPECT_EQ(call.refusal(), "");
}

TEST(CheckOperands, EmptySumNeedsOnlyC) {
  Call call;
  call.problem.k = 0;
  call.operands.a = call.operands.b = 0;
  EXPECT_EQ(call.refusal(), "");
}

TEST(CheckOperands, RefusesNegativeExtents) {
  Call call;
  call.problem.k = -1;
  EXPECT_THAT(call.refusal(), HasSubstr("negative"));
}

TEST(CheckOperands, WantsTheWorkspace) {
  Call call;
  call.plan.workspace_bytes = 1024;
  EXPECT_THAT(call.refusal(), HasSubstr("workspace: no address"));
  call.operands.workspace = 0x4010;
  EXPECT_THAT(call.refusal(), HasSubstr("misaligned"));
  call.operands.workspace = 0x4100;
  EXPECT_EQ(call.refusal(), "");
}

TEST(CheckOperands, IntegerProductsTakeIntegers) {
  Call call;
  call.problem.precision = Precision::int32;
  call.operands.alpha = -2147483648.0;
  EXPECT_EQ(call.refusal(), "");
  for (const double bad : {0.5, 2147483648.0, std::numeric_limits<double>::quiet_NaN()}) {
    call.operands.alpha = bad;
    EXPECT_THAT(call.refusal(), HasSubstr("alpha"));
  }
  call.operands.alpha = 1;
  call.operands.beta = 1.5;
  EXPECT_THAT(call.refusal(), HasSubstr("beta"));
}

TEST(KernelArguments, FollowTheOrderOfTheStep) {
  Call call;
  call.operands.ld = {20, 40, 60};
  KernelArguments arguments(call.problem, call.operands);
  LaunchStep step;
  step.args = {Arg::c, Arg::m, Arg::n, Arg::k, Arg::lda, Arg::ldb, Arg::ldc, Arg::a, Arg::b, Arg::workspace};
  call.operands.workspace = 0;
  const auto at = arguments.addresses(step);
  ASSERT_EQ(at.size(), step.args.size());
  EXPECT_EQ(value_at<CUdeviceptr>(at[0]), 0x3000u);
  const std::int64_t integers[] = {64, 32, 16, 20, 40, 60};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(value_at<std::int64_t>(at[1 + i]), integers[i]);
  EXPECT_EQ(value_at<CUdeviceptr>(at[7]), 0x1000u);
  EXPECT_EQ(value_at<CUdeviceptr>(at[8]), 0x2000u);
  EXPECT_EQ(value_at<CUdeviceptr>(at[9]), 0u);
}

TEST(KernelArguments, ScalarsHaveThePrecisionsType) {
  Call call;
  call.operands.alpha = 3;
  call.operands.beta = -2;
  LaunchStep step;
  step.args = {Arg::alpha, Arg::beta};
  for (const Precision precision : kAllPrecisions) {
    call.problem.precision = precision;
    KernelArguments arguments(call.problem, call.operands);
    const auto at = arguments.addresses(step);
    if (precision == Precision::fp64) {
      EXPECT_EQ(value_at<double>(at[0]), 3.0);
      EXPECT_EQ(value_at<double>(at[1]), -2.0);
    } else if (precision == Precision::int32) {
      EXPECT_EQ(value_at<std::int32_t>(at[0]), 3);
      EXPECT_EQ(value_at<std::int32_t>(at[1]), -2);
    } else {
      EXPECT_EQ(value_at<float>(at[0]), 3.0f);
      EXPECT_EQ(value_at<float>(at[1]), -2.0f);
    }
  }
}

TEST(KernelArguments, TensorMapsAreAlignedForTheDriver) {
  Call call;
  KernelArguments arguments(call.problem, call.operands);
  LaunchStep step;
  step.args = {Arg::map_a, Arg::map_b};
  for (const void* map : arguments.addresses(step)) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(map) % 64, 0u);
}

TEST(TensorMap, DescribesTheStoredMatrix) {
  Call call;
  call.problem = packed_problem(Precision::bf16, Layout::nt, 128, 256, 64);
  call.operands.ld = {72, 80, 256};
  call.plan.map_b = {128, 64, 128, {}};
  const TensorMapLayout map = tensor_map_b(call.plan, call.problem, call.operands);
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.address, call.operands.b);
  EXPECT_THAT(map.extents, testing::ElementsAre(64, 256));  // B[n,k], contiguous along k
  EXPECT_EQ(map.row_bytes, 160u);
  EXPECT_THAT(map.box, testing::ElementsAre(64, 128));
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
}

TEST(TensorMap, HasNoEmptyExtentAndAValidAddressWhenNothingIsRead) {
  Call call;
  call.problem.k = 0;
  call.operands.a = 0;
  call.operands.c += 4;
  const TensorMapLayout map = tensor_map_a(call.plan, call.problem, call.operands);
  EXPECT_THAT(map.extents, testing::ElementsAre(1, 1));
  EXPECT_EQ(map.address, call.operands.c & ~CUdeviceptr{15}) << "the driver demands 16-byte alignment";
  EXPECT_NE(map.address, 0U);
  EXPECT_EQ(map.row_bytes % 16, 0U);
}

}  // namespace
}  // namespace mmtune
