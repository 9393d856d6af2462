#include "runtime/gpu/arguments.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

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
      fmt::format("{}: address, leading dimension, row length and stride are aligned to {} bytes together, the "
                  "kernel needs {}; choose one for this alignment",
                  operand, have, need));
}

void check_scalar(std::string_view name, double value, Precision precision) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value == std::trunc(value) && value >= Limits::min() && value <= Limits::max()) return;
  throw UsageError(fmt::format("{} = {}: {} products need a 32-bit integer", name, value, to_string(precision)));
}

void check_workspace(const LaunchPlan& plan, CUdeviceptr workspace) {
  const bool is_aligned = workspace % WorkspaceLayout::kAlignment == 0;
  if (plan.workspace.bytes() == 0 || (workspace != 0 && is_aligned)) return;
  throw UsageError(fmt::format("workspace: {}; the kernel needs {} bytes aligned to {}",
                               workspace == 0 ? "no address given" : "misaligned", plan.workspace.bytes(),
                               WorkspaceLayout::kAlignment));
}

CUtensorMapDataType map_type(MapFormat format) {
  switch (format) {
    case MapFormat::bits8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case MapFormat::bits16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case MapFormat::bits32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case MapFormat::bits64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case MapFormat::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case MapFormat::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case MapFormat::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case MapFormat::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case MapFormat::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case MapFormat::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  }
  throw std::logic_error("unknown format of a tensor map");
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

CUtensorMapL2promotion map_l2_promotion(int bytes) {
  switch (bytes) {
    case 0:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  throw std::logic_error(fmt::format("a tensor map cannot promote fetches to {} bytes", bytes));
}

constexpr cuuint64_t kMapUnit = 16;  // the unit of addresses and strides in bytes

/// The addresses by Operand.
std::array<CUdeviceptr, 3> addresses_of(const Operands& operands) { return {operands.a, operands.b, operands.c}; }
Addresses batch_steps(const Operands& operands) { return operands.batch ? operands.batch->step_bytes : Addresses{}; }
std::array<KernelAddress, 3> kernel_addresses(const Operands& operands) {
  const auto [a, b, c] = batch_steps(operands);
  return {KernelAddress{operands.a, static_cast<std::int64_t>(a)},
          {operands.b, static_cast<std::int64_t>(b)},
          {operands.c, static_cast<std::int64_t>(c)}};
}
std::array<std::int64_t, 3> leading_dimensions(const Operands& operands) {
  return {operands.ld.a, operands.ld.b, operands.ld.c};
}

/// An empty slice has none.
CUdeviceptr address_of(const WorkspaceSlice& slice, CUdeviceptr workspace) {
  return slice.bytes > 0 ? workspace + static_cast<CUdeviceptr>(slice.offset_bytes) : 0;
}

/// Whether nothing is read or written through a map, so that its address need not be valid.
bool is_unused(const TensorMapSpec& spec, const Problem& problem) {
  const bool is_factor = spec.base.kind == Arg::Kind::operand && spec.base != Arg::operand(Operand::c);
  return (is_factor && problem.k == 0) || is_empty(spec);
}

/// Bytes from what a map is over to the same of the next product of a batch.
std::int64_t step_of(const TensorMapSpec& spec, const LaunchPlan& plan, const Operands& operands) {
  return spec.base.kind == Arg::Kind::operand ? kernel_addresses(operands)[spec.base.index()].step
                                              : plan.workspace.step_bytes();
}

/// Makes the layout one of a single element, as the driver accepts it.
void stand_on(TensorMapLayout& layout, CUdeviceptr valid) {
  layout.address = valid / kMapUnit * kMapUnit;
  layout.extents.fill(1);
  layout.strides.fill(kMapUnit);
}

}  // namespace

void check_scalars(Precision precision, double alpha, double beta) {
  if (!traits(precision).scalar.integer) return;
  check_scalar("alpha", alpha, precision);
  check_scalar("beta", beta, precision);
}

void check_operands(const LaunchPlan& plan, const Problem& problem, const Operands& operands) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0) {
    throw UsageError(fmt::format("{}: extents cannot be negative", to_string(problem)));
  }
  const PrecisionTraits& types = traits(problem.precision);
  check_scalars(problem.precision, operands.alpha, operands.beta);
  check_rows("A", operands.ld.a, stored_a(problem));
  check_rows("B", operands.ld.b, stored_b(problem));
  check_rows("C", operands.ld.c, stored_c(problem));
  if (problem.m == 0 || problem.n == 0) return;

  check_address("C", operands.c);
  if (problem.k > 0 && operands.alpha != 0) {
    check_address("A", operands.a);
    check_address("B", operands.b);
  }
  const Addresses step = batch_steps(operands);  // All operands are aligned to what these are aligned to.
  const Alignment have =
      alignment_of(problem, operands.ld, {operands.a | step.a, operands.b | step.b, operands.c | step.c});
  check_alignment("A", have.a, std::max(types.a.bytes, plan.needs.a));
  check_alignment("B", have.b, std::max(types.b.bytes, plan.needs.b));
  check_alignment("C", have.c, std::max(types.c.bytes, plan.needs.c));
  check_workspace(plan, operands.workspace);
}

void unify_empty_product(Problem& problem, Operands& operands) {
  if (operands.alpha == 0) problem.k = 0;
  if (problem.k == 0) operands.alpha = 0;
}

TensorMapLayout tensor_map(const TensorMapSpec& spec, const LaunchPlan& plan, const Problem& problem,
                           const Operands& operands) {
  TensorMapLayout layout;
  layout.type = map_type(spec.format);
  layout.element_bytes = element_bytes(spec.format);
  layout.rank = static_cast<cuuint32_t>(spec.dimensions.size());
  layout.swizzle = map_swizzle(spec.swizzle_bytes);
  layout.l2_promotion = map_l2_promotion(spec.l2_promotion_bytes);
  if (spec.fills_with_nan) layout.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  const bool is_operand = spec.base.kind == Arg::Kind::operand;
  layout.address = is_operand ? addresses_of(operands).at(spec.base.index())
                              : address_of(plan.workspace.slices().at(spec.base.index()), operands.workspace);
  const std::int64_t row_bytes =
      is_operand ? leading_dimensions(operands)[spec.base.index()] * layout.element_bytes : 0;
  for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
    const MapDimension& dimension = spec.dimensions[i];
    layout.extents.at(i) = static_cast<cuuint64_t>(dimension.extent);
    layout.box[i] = static_cast<cuuint32_t>(dimension.box);
    const std::int64_t stride = dimension.stride.bytes + dimension.stride.rows * row_bytes;
    if (i > 0) layout.strides[i - 1] = static_cast<cuuint64_t>(stride);
  }
  if (operands.batch) {
    const std::int64_t step = step_of(spec, plan, operands);
    layout.extents.at(layout.rank) = step == 0 ? 1 : static_cast<cuuint64_t>(operands.batch->products);
    layout.strides.at(layout.rank - 1) = step == 0 ? kMapUnit : static_cast<cuuint64_t>(step);
    layout.box.at(layout.rank) = 1;
    ++layout.rank;
  }
  if (is_unused(spec, problem)) stand_on(layout, operands.c);
  return layout;
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

namespace {

/// An empty product counts as zero, whatever alpha is.
ScalarArgument alpha_of(const Problem& problem, const Operands& operands) {
  if (operands.beta_address != 0) return ScalarArgument(problem.k == 0 ? 0 : operands.alpha_address);
  return {traits(problem.precision).scalar, operands.alpha};
}

ScalarArgument beta_of(const Problem& problem, const Operands& operands) {
  if (operands.beta_address != 0) return ScalarArgument(operands.beta_address);
  return {traits(problem.precision).scalar, operands.beta};
}

}  // namespace

KernelScalar::KernelScalar(ScalarArgument argument, const Operands& operands)
    : number(argument),
      first(operands.c),
      ld(std::max<std::int64_t>(1, operands.ld.c)),
      inverse(operands.bias == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(ld)),
      bias(operands.bias),
      step(static_cast<std::int64_t>(batch_steps(operands).c)) {}

KernelArguments::KernelArguments(const LaunchPlan& plan, const Problem& problem, const Operands& operands,
                                 Encode encode)
    : operands_(kernel_addresses(operands)),
      lds_(leading_dimensions(operands)),
      extents_{problem.m, problem.n, problem.k},
      scalars_{KernelScalar(alpha_of(problem, operands), operands), KernelScalar(beta_of(problem, operands), operands)},
      maps_(plan.maps.size(), &memory_) {
  slices_.reserve(plan.workspace.slices().size());
  const std::int64_t step = plan.workspace.step_bytes();
  for (const WorkspaceSlice& slice : plan.workspace.slices()) {
    slices_.push_back({address_of(slice, operands.workspace), slice.bytes > 0 ? step : 0});
  }
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    encode(maps_[i].map, tensor_map(plan.maps[i], plan, problem, operands));
    maps_[i].apart = step_of(plan.maps[i], plan, operands) == 0 ? 0 : 1;
  }
}

std::pmr::vector<void*> KernelArguments::addresses(const LaunchStep& step) {
  std::pmr::vector<void*> addresses(&memory_);
  addresses.reserve(step.args.size());
  for (const Arg& arg : step.args) addresses.push_back(address(arg));
  return addresses;
}

void* KernelArguments::address(const Arg& arg) {
  switch (arg.kind) {
    case Arg::Kind::operand:
      return &operands_.at(arg.index());
    case Arg::Kind::ld:
      return &lds_.at(arg.index());
    case Arg::Kind::extent:
      return &extents_.at(arg.index());
    case Arg::Kind::scalar:
      return &scalars_.at(arg.index());
    case Arg::Kind::slice:
      return &slices_.at(arg.index());
    case Arg::Kind::map:
      return &maps_.at(arg.index());
    case Arg::Kind::number:
      return const_cast<std::int64_t*>(&arg.value);  // A launch takes no constants, but only reads.
  }
  throw std::logic_error("unknown kernel argument");
}

}  // namespace mmtune
