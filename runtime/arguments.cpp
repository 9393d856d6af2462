#include "runtime/arguments.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "templates/dtype.h"

namespace mmtune {

namespace {

constexpr CUdeviceptr kWorkspaceAlignment = 256;

void check_rows(std::string_view operand, std::int64_t ld, const StoredShape& shape) {
  if (ld >= std::max<std::int64_t>(1, shape.columns)) return;
  throw UsageError(fmt::format("{}: leading dimension {} is less than a row of {} elements", operand, ld,
                               std::max<std::int64_t>(1, shape.columns)));
}

void check_address(std::string_view operand, CUdeviceptr address) {
  if (address == 0) throw UsageError(fmt::format("{}: no address given", operand));
}

void check_alignment(std::string_view operand, int have, int need) {
  if (have >= need) return;
  throw UsageError(
      fmt::format("{}: address, leading dimension and row length are aligned to {} bytes together, the "
                  "kernel needs {}; choose one for this alignment",
                  operand, have, need));
}

void check_scalar(std::string_view name, double value) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value == std::trunc(value) && value >= Limits::min() && value <= Limits::max()) return;
  throw UsageError(fmt::format("{} = {}: int32 products need a 32-bit integer", name, value));
}

void check_workspace(const LaunchPlan& plan, CUdeviceptr workspace) {
  if (plan.workspace_bytes == 0 || (workspace != 0 && workspace % kWorkspaceAlignment == 0)) return;
  throw UsageError(fmt::format("workspace: {}; the kernel needs {} bytes aligned to {}",
                               workspace == 0 ? "no address given" : "misaligned", plan.workspace_bytes,
                               kWorkspaceAlignment));
}

CUtensorMapDataType map_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Precision::fp64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case Precision::int32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case Precision::fp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Precision::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
  throw std::logic_error("unknown precision");
}

CUtensorMapSwizzle map_swizzle(int bytes) {
  switch (bytes) {
    case 0:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  throw std::logic_error(fmt::format("a tensor map cannot swizzle {} bytes", bytes));
}

TensorMapLayout tensor_map(const TensorMapSpec& spec, const Problem& problem, const StoredShape& shape,
                           CUdeviceptr address, std::int64_t ld) {
  TensorMapLayout layout;
  layout.type = map_type(problem.precision);
  layout.address = address;
  layout.extents = {static_cast<cuuint64_t>(std::max<std::int64_t>(1, shape.columns)),
                    static_cast<cuuint64_t>(std::max<std::int64_t>(1, shape.rows))};
  layout.row_bytes = static_cast<cuuint64_t>(ld) * static_cast<cuuint64_t>(traits(problem.precision).element_bytes);
  layout.box = {static_cast<cuuint32_t>(spec.box_columns), static_cast<cuuint32_t>(spec.box_rows)};
  layout.swizzle = map_swizzle(spec.swizzle_bytes);
  return layout;
}

/// The map of an operand that is stored or packed as told. Without steps along k nothing is read through it, but it
/// must still be one that the driver accepts: of one element at an aligned address.
TensorMapLayout operand_map(const TensorMapSpec& spec, const Problem& problem, const Operands& operands,
                            const StoredShape& stored, CUdeviceptr address, std::int64_t ld) {
  if (problem.k == 0) {
    return tensor_map(spec, problem, {1, 1}, operands.c & ~CUdeviceptr{15},
                      16 / traits(problem.precision).element_bytes);
  }
  if (spec.packed.rows == 0) return tensor_map(spec, problem, stored, address, ld);
  const CUdeviceptr copy = operands.workspace + static_cast<CUdeviceptr>(spec.packed.offset_bytes);
  return tensor_map(spec, problem, {spec.packed.rows, spec.packed.columns}, copy, spec.packed.ld);
}

}  // namespace

void check_operands(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0) {
    throw UsageError(fmt::format("{}: extents cannot be negative", to_string(problem)));
  }
  if (problem.precision == Precision::int32) {
    check_scalar("alpha", operands.alpha);
    check_scalar("beta", operands.beta);
  }
  check_rows("A", operands.ld.a, stored_a(problem));
  check_rows("B", operands.ld.b, stored_b(problem));
  check_rows("C", operands.ld.c, stored_c(problem));
  if (problem.m == 0 || problem.n == 0) return;

  check_address("C", operands.c);
  if (problem.k > 0 && operands.alpha != 0) {
    check_address("A", operands.a);
    check_address("B", operands.b);
  }
  const Alignment have = alignment_of(problem, operands.ld, {operands.a, operands.b, operands.c});
  const int element = traits(problem.precision).element_bytes;
  check_alignment("A", have.a, std::max(element, plan.needs.a));
  check_alignment("B", have.b, std::max(element, plan.needs.b));
  check_alignment("C", have.c, std::max(element, plan.needs.c));
  check_workspace(plan, operands.workspace);
}

void unify_empty_product(Problem& problem, Operands& operands) {
  if (operands.alpha == 0) problem.k = 0;
  if (problem.k == 0) operands.alpha = 0;
}

TensorMapLayout tensor_map_a(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  return operand_map(plan.map_a, problem, operands, stored_a(problem), operands.a, operands.ld.a);
}

TensorMapLayout tensor_map_b(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  return operand_map(plan.map_b, problem, operands, stored_b(problem), operands.b, operands.ld.b);
}

KernelArguments::KernelArguments(const Problem& problem, const Operands& operands)
    : problem_(problem),
      operands_(operands),
      alpha_(scalar(problem.precision, operands.alpha)),
      beta_(scalar(problem.precision, operands.beta)) {}

KernelArguments::Scalar KernelArguments::scalar(Precision precision, double value) {
  const PrecisionTraits& type = traits(precision);
  if (type.integer) return {.int32 = static_cast<std::int32_t>(value)};
  if (type.scalar_bytes == sizeof(double)) return {.fp64 = value};
  return {.fp32 = static_cast<float>(value)};
}

std::vector<void*> KernelArguments::addresses(const LaunchStep& step) {
  std::vector<void*> addresses;
  addresses.reserve(step.args.size());
  for (const Arg arg : step.args) addresses.push_back(address(arg));
  return addresses;
}

void* KernelArguments::address(Arg arg) {
  switch (arg) {
    case Arg::a:
      return &operands_.a;
    case Arg::b:
      return &operands_.b;
    case Arg::c:
      return &operands_.c;
    case Arg::m:
      return &problem_.m;
    case Arg::n:
      return &problem_.n;
    case Arg::k:
      return &problem_.k;
    case Arg::lda:
      return &operands_.ld.a;
    case Arg::ldb:
      return &operands_.ld.b;
    case Arg::ldc:
      return &operands_.ld.c;
    case Arg::alpha:
      return &alpha_;
    case Arg::beta:
      return &beta_;
    case Arg::workspace:
      return &operands_.workspace;
    case Arg::map_a:
      return &map_a_;
    case Arg::map_b:
      return &map_b_;
  }
  throw std::logic_error("unknown kernel argument");
}

}  // namespace mmtune
