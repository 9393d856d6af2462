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

void check_scalar(std::string_view name, double value, Precision precision) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value == std::trunc(value) && value >= Limits::min() && value <= Limits::max()) return;
  throw UsageError(fmt::format("{} = {}: {} products need a 32-bit integer", name, value, to_string(precision)));
}

void check_workspace(const LaunchPlan& plan, CUdeviceptr workspace) {
  if (plan.workspace_bytes == 0 || (workspace != 0 && workspace % kWorkspaceAlignment == 0)) return;
  throw UsageError(fmt::format("workspace: {}; the kernel needs {} bytes aligned to {}",
                               workspace == 0 ? "no address given" : "misaligned", plan.workspace_bytes,
                               kWorkspaceAlignment));
}

CUtensorMapDataType map_type(NumberFormat format) {
  switch (format) {
    case NumberFormat::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case NumberFormat::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case NumberFormat::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case NumberFormat::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case NumberFormat::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case NumberFormat::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
  throw std::logic_error("unknown number format");
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

TensorMapLayout tensor_map(const TensorMapSpec& spec, const FormatTraits& format, const StoredShape& shape,
                           CUdeviceptr address, std::int64_t ld) {
  TensorMapLayout layout;
  layout.type = map_type(format.format);
  layout.address = address;
  layout.extents = {static_cast<cuuint64_t>(std::max<std::int64_t>(1, shape.columns)),
                    static_cast<cuuint64_t>(std::max<std::int64_t>(1, shape.rows))};
  layout.row_bytes = static_cast<cuuint64_t>(ld) * static_cast<cuuint64_t>(format.bytes);
  layout.box = {static_cast<cuuint32_t>(spec.box_columns), static_cast<cuuint32_t>(spec.box_rows)};
  layout.swizzle = map_swizzle(spec.swizzle_bytes);
  return layout;
}

/// The map of an operand that is stored or packed as told. Without steps along k nothing is read through it, but it
/// must still be one that the driver accepts: of one element at an aligned address.
TensorMapLayout operand_map(const TensorMapSpec& spec, const FormatTraits& format, const Problem& problem,
                            const Operands& operands, const StoredShape& stored, CUdeviceptr address, std::int64_t ld) {
  if (problem.k == 0) return tensor_map(spec, format, {1, 1}, operands.c & ~CUdeviceptr{15}, 16 / format.bytes);
  if (spec.packed.rows == 0) return tensor_map(spec, format, stored, address, ld);
  const CUdeviceptr copy = operands.workspace + static_cast<CUdeviceptr>(spec.packed.offset_bytes);
  return tensor_map(spec, format, {spec.packed.rows, spec.packed.columns}, copy, spec.packed.ld);
}

}  // namespace

void check_operands(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0) {
    throw UsageError(fmt::format("{}: extents cannot be negative", to_string(problem)));
  }
  const PrecisionTraits& types = traits(problem.precision);
  if (types.scalar.integer) {
    check_scalar("alpha", operands.alpha, problem.precision);
    check_scalar("beta", operands.beta, problem.precision);
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
  check_alignment("A", have.a, std::max(types.a.bytes, plan.needs.a));
  check_alignment("B", have.b, std::max(types.b.bytes, plan.needs.b));
  check_alignment("C", have.c, std::max(types.c.bytes, plan.needs.c));
  check_workspace(plan, operands.workspace);
}

void unify_empty_product(Problem& problem, Operands& operands) {
  if (operands.alpha == 0) problem.k = 0;
  if (problem.k == 0) operands.alpha = 0;
}

TensorMapLayout tensor_map_a(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  return operand_map(plan.map_a, traits(problem.precision).a, problem, operands, stored_a(problem), operands.a,
                     operands.ld.a);
}

TensorMapLayout tensor_map_b(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  return operand_map(plan.map_b, traits(problem.precision).b, problem, operands, stored_b(problem), operands.b,
                     operands.ld.b);
}

ScalarArgument::ScalarArgument(const FormatTraits& format, double value) {
  if (format.integer) {
    value_.int32 = static_cast<std::int32_t>(value);
  } else if (format.bytes == sizeof(double)) {
    value_.fp64 = value;
  } else {
    value_.fp32 = static_cast<float>(value);
  }
}

KernelArguments::KernelArguments(const Problem& problem, const Operands& operands)
    : problem_(problem),
      operands_(operands),
      alpha_(traits(problem.precision).scalar, operands.alpha),
      beta_(traits(problem.precision).scalar, operands.beta) {}

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
      return alpha_.address();
    case Arg::beta:
      return beta_.address();
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
