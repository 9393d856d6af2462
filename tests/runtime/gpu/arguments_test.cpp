#include "runtime/gpu/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/gpu/launch.h"

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
  call.plan.workspace.add("sums", 1024);
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

/// Leaves what a GPU would get empty.
void encode_nothing(CUtensorMap&, const TensorMapLayout&) {}

TEST(KernelArguments, FollowTheOrderOfTheStep) {
  Call call;
  call.operands.ld = {20, 40, 60};
  LaunchStep step;
  step.args = blas_arguments();
  step.args.push_back(Arg::number(std::int64_t{1} << 40));
  KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
  const auto at = arguments.addresses(step);
  ASSERT_EQ(at.size(), 12U);  // m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, the number
  for (const auto& [i, value] : {std::pair{0, 64}, {1, 32}, {2, 16}, {5, 20}, {7, 40}, {10, 60}}) {
    EXPECT_EQ(value_at<std::int64_t>(at[i]), value) << i;
  }
  EXPECT_EQ(value_at<CUdeviceptr>(at[4]), 0x1000u);
  EXPECT_EQ(value_at<CUdeviceptr>(at[6]), 0x2000u);
  EXPECT_EQ(value_at<CUdeviceptr>(at[9]), 0x3000u);
  EXPECT_EQ(value_at<std::int64_t>(at[11]), std::int64_t{1} << 40);
}

TEST(KernelArguments, ScalarsAreFollowedByWhatAnEpilogueNeeds) {
  Call call;
  call.operands.alpha = 2;
  call.operands.beta = -3;
  call.operands.ld = {20, 40, 60};
  call.operands.bias = 0x4000;
  LaunchStep step;
  step.args = {Arg::scalar(Scalar::alpha), Arg::scalar(Scalar::beta)};
  KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
  const auto at = arguments.addresses(step);
  EXPECT_EQ(value_at<float>(at[0]), 2);
  EXPECT_EQ(value_at<float>(at[1]), -3);
  const auto word = [&](int i) { return value_at<std::uint64_t>(static_cast<char*>(at[1]) + 8 * i); };
  EXPECT_EQ(word(1), call.operands.c);
  EXPECT_EQ(word(2), 60u);
  EXPECT_EQ(word(3), ~std::uint64_t{0} / 60);
  EXPECT_EQ(word(4), 0x4000u);
}

TEST(KernelArguments, ScalarsThatAreLoadedAreAddressesAndNoneForAnEmptyProduct) {
  Call call;
  call.operands.alpha_address = 0x5000;
  call.operands.beta_address = 0x6000;
  LaunchStep step;
  step.args = {Arg::scalar(Scalar::alpha), Arg::scalar(Scalar::beta)};
  const auto values = [&] {
    KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
    const auto at = arguments.addresses(step);
    return std::pair{value_at<CUdeviceptr>(at[0]), value_at<CUdeviceptr>(at[1])};
  };
  EXPECT_EQ(values(), std::pair(CUdeviceptr{0x5000}, CUdeviceptr{0x6000}));
  call.problem.k = 0;
  EXPECT_EQ(values(), std::pair(CUdeviceptr{0}, CUdeviceptr{0x6000}));
}

TEST(KernelArguments, AddressesAreFollowedByTheStepsOfABatch) {
  Call call;
  call.plan.workspace.add("sums", 300);
  call.plan.workspace.add("nothing", 0);
  call.operands.workspace = 0x4000;
  LaunchStep step;
  step.args = {
      Arg::operand(Operand::a), Arg::operand(Operand::b), Arg::operand(Operand::c), Arg::slice(0), Arg::slice(1),
      Arg::scalar(Scalar::beta)};
  const auto words = [&](int word) {
    KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
    std::vector<std::uint64_t> found;
    for (const void* at : arguments.addresses(step)) {
      found.push_back(value_at<std::uint64_t>(static_cast<const char*>(at) + 8 * word));
    }
    return found;
  };
  EXPECT_THAT(std::vector(words(1)).front(), 0u) << "a product alone";
  call.operands.batch = Batch{7, {std::uintptr_t{1} << 42, 0, 48}};
  const std::vector<std::uint64_t> steps = words(1);
  EXPECT_THAT(std::vector(steps.begin(), steps.begin() + 5),
              testing::ElementsAre(std::uint64_t{1} << 42, 0, 48, 512, 0));
  EXPECT_EQ(words(5).back(), 48u) << "of C, for an epilogue";
  EXPECT_EQ(words(0).front(), 0x1000u);
}

TEST(CheckOperands, StepsOfABatchCountForTheAlignment) {
  Call call;
  call.plan.needs = {16, 16, 16};
  call.operands.batch = Batch{2, {4096, 0, 8192}};
  EXPECT_EQ(call.refusal(), "");
  call.operands.batch->step_bytes.b = 8;
  EXPECT_THAT(call.refusal(), HasSubstr("B: address, leading dimension, row length and stride are aligned to 8 bytes"));
}

TEST(ProductsAtOnce, ShareTheWorkspace) {
  LaunchPlan plan;
  EXPECT_EQ(products_at_once(plan, 0), 65535) << "layers of a grid";
  EXPECT_EQ(batch_workspace_bytes(plan, 1000), 0);
  plan.workspace.add("sums", 300);
  EXPECT_EQ(batch_workspace_bytes(plan, 1), 300);
  EXPECT_EQ(batch_workspace_bytes(plan, 3), 2 * 512 + 300);
  EXPECT_EQ(products_at_once(plan, 300), 1);
  EXPECT_EQ(products_at_once(plan, 3 * 512), 3);
  EXPECT_EQ(products_at_once(plan, std::int64_t{1} << 40), 65535);
}

TEST(KernelArguments, SlicesLieOneBehindTheOtherAndEmptyOnesNowhere) {
  Call call;
  LaunchStep step;
  WorkspaceLayout& workspace = call.plan.workspace;
  step.args = {workspace.add("first", 100), workspace.add("empty", 0), workspace.add("aligned", 4),
               workspace.add("close", 8, 4)};
  EXPECT_EQ(workspace.bytes(), 268);
  call.operands.workspace = 0x4000;
  KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
  std::vector<CUdeviceptr> addresses;
  for (const void* at : arguments.addresses(step)) addresses.push_back(value_at<CUdeviceptr>(at));
  EXPECT_THAT(addresses, testing::ElementsAre(0x4000, 0, 0x4100, 0x4104));
}

TEST(KernelArguments, ScalarsHaveThePrecisionsType) {
  Call call;
  call.operands.alpha = 3;
  call.operands.beta = -2;
  LaunchStep step;
  step.args = {Arg::scalar(Scalar::alpha), Arg::scalar(Scalar::beta)};
  for (const Precision precision : kAllPrecisions) {
    call.problem.precision = precision;
    KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
    const auto at = arguments.addresses(step);
    if (precision == Precision::fp64) {
      EXPECT_EQ(value_at<double>(at[0]), 3.0);
      EXPECT_EQ(value_at<double>(at[1]), -2.0);
    } else if (traits(precision).scalar.integer) {
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
  LaunchStep step;
  for (const Operand operand : {Operand::a, Operand::b, Operand::c}) {
    step.args.push_back(call.plan.add_map({.name = "any", .base = Arg::operand(operand), .dimensions = {{1, 4}}}));
  }
  KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
  for (const void* map : arguments.addresses(step)) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(map) % 64, 0u);
}

TEST(TensorMap, DescribesTheStoredMatrix) {
  Call call;
  call.problem = packed_problem(Precision::bf16, Layout::nt, 128, 256, 64);
  call.operands.ld = {72, 80, 256};
  const TensorMapSpec b{.name = "B",
                        .base = Arg::operand(Operand::b),
                        .format = MapFormat::bf16,
                        .dimensions = {{64, 64}, {256, 128, {.rows = 1}}},  // B[n,k], contiguous along k
                        .swizzle_bytes = 128,
                        .fills_with_nan = true,
                        .l2_promotion_bytes = 128};
  const TensorMapLayout map = tensor_map(b, call.plan, call.problem, call.operands);
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.rank, 2U);
  EXPECT_EQ(map.address, call.operands.b);
  EXPECT_THAT(map.extents, testing::ElementsAre(64, 256, 0, 0, 0));
  EXPECT_EQ(map.strides[0], 160u);
  EXPECT_THAT(map.box, testing::ElementsAre(64, 128, 0, 0, 0));
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(map.l2_promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(map.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}

TEST(TensorMap, MayCutTheRowsOfAnOperandIntoPieces) {
  Call call;
  call.operands.ld.a = 24;
  const TensorMapSpec a{.name = "A",
                        .base = Arg::operand(Operand::a),
                        .dimensions = {{8, 8}, {64, 32, {.rows = 1}}, {2, 2, {.bytes = 32}}},
                        .swizzle_bytes = 32};
  const TensorMapLayout map = tensor_map(a, call.plan, call.problem, call.operands);
  EXPECT_EQ(map.rank, 3U);
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  EXPECT_THAT(map.strides, testing::ElementsAre(96, 32, 0, 0));
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_32B);
}

/// A map over a slice behind another one.
struct SliceMap : Call {
  TensorMapSpec spec;

  explicit SliceMap(std::int64_t k) {
    operands.workspace = 0x4000;
    plan.workspace.add("before", 300);
    spec = {
        .name = "copy", .base = plan.workspace.add("copy", k * 128), .dimensions = {{30, 32}, {k, 8, {.bytes = 128}}}};
  }
  TensorMapLayout layout() const { return tensor_map(spec, plan, problem, operands); }
};

TEST(TensorMap, MayBeOverASlice) {
  const TensorMapLayout map = SliceMap(16).layout();
  EXPECT_EQ(map.address, 0x4200u);
  EXPECT_EQ(map.strides[0], 128U);
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
}

TEST(TensorMap, OfABatchHasTheProductsAsItsLastDimension) {
  Call call;
  call.operands.ld.a = 24;
  call.operands.batch = Batch{5, {16, 0, 8192}};
  const TensorMapSpec a{.name = "A", .base = Arg::operand(Operand::a), .dimensions = {{16, 16}, {64, 8, {.rows = 1}}}};
  TensorMapSpec b = a;
  b.base = Arg::operand(Operand::b);
  const TensorMapLayout own = tensor_map(a, call.plan, call.problem, call.operands);
  EXPECT_EQ(own.rank, 3U);
  EXPECT_THAT(own.extents, testing::ElementsAre(16, 64, 5, 0, 0));
  EXPECT_THAT(own.strides, testing::ElementsAre(96, 16, 0, 0)) << "closer than the rows";
  EXPECT_THAT(own.box, testing::ElementsAre(16, 8, 1, 0, 0));
  EXPECT_EQ(tensor_map(b, call.plan, call.problem, call.operands).extents[2], 1u) << "shared by all products";
  SliceMap copies(16);
  copies.operands.batch = call.operands.batch;
  EXPECT_EQ(copies.layout().strides[1], 2560u) << "the workspace of a product";

  LaunchStep step;
  step.args = {call.plan.add_map(a), call.plan.add_map(b)};
  KernelArguments arguments(call.plan, call.problem, call.operands, encode_nothing);
  const auto at = arguments.addresses(step);
  const auto apart = [&](int i) { return value_at<std::int64_t>(static_cast<char*>(at[i]) + 128); };
  EXPECT_EQ(apart(0), 1);
  EXPECT_EQ(apart(1), 0);
}

TEST(TensorMap, HasNoEmptyExtentAndAValidAddressWhenNothingIsRead) {
  Call call;
  call.problem.k = 0;
  call.operands.a = 0;
  call.operands.c += 4;
  const TensorMapSpec a{.name = "A", .base = Arg::operand(Operand::a), .dimensions = {{16, 16}, {64, 8, {.rows = 1}}}};
  SliceMap empty(0);
  empty.operands.c += 4;
  for (const TensorMapLayout& map : {tensor_map(a, call.plan, call.problem, call.operands), empty.layout()}) {
    EXPECT_THAT(map.extents, testing::Each(1));
    EXPECT_EQ(map.address, 0x3000U) << "the driver demands 16-byte alignment";
    EXPECT_THAT(map.strides, testing::Each(16));
  }
}

TEST(TensorMap, OfCAndOfSumsIsTrueAlsoWhenNothingIsRead) {
  SliceMap sums(16);
  sums.problem.k = 0;
  EXPECT_EQ(sums.layout().address, 0x4200u);
  sums.spec.base = Arg::operand(Operand::c);
  EXPECT_EQ(sums.layout().address, sums.operands.c);
  EXPECT_EQ(sums.layout().extents[0], 30U);
}

}  // namespace
}  // namespace mmtune
