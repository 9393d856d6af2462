// The values a kernel gets, worked out without a driver.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>

#include "templates/plan/launch_plan.h"
#include "templates/problem/dtype.h"

namespace mmtune {

/// Several products at equal distances.
struct Batch {
  std::int64_t products = 1;
  Addresses step_bytes;  ///< the distance from the operands of a product to those of the next
};

/// Operands on the device. `alpha` and `beta` are converted to the precision's scalar type; for int32 they must be
/// integers in range.
struct Operands {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr c = 0;
  LeadingDimensions ld;
  double alpha = 1;
  double beta = 0;
  CUdeviceptr workspace = 0;      ///< LaunchPlan::workspace as one piece, 256-byte aligned
  CUdeviceptr bias = 0;           ///< m or n elements in the format of C, for programs that were rendered with a bias
  CUdeviceptr alpha_address = 0;  ///< the address of alpha and beta, for programs that load them
  CUdeviceptr beta_address = 0;
  std::optional<Batch> batch = {};  ///< the batch, for programs for one and for no others
};

/// Throws UsageError for numbers that a kernel for integers cannot take.
void check_scalars(Precision precision, double alpha, double beta);

/// Throws UsageError, naming the operand and what would do, unless `launch` may run the plan with these operands:
/// extents not negative, addresses given where memory is touched, rows that do not overlap, plan.needs and the
/// elements' own alignment satisfied, a workspace, alpha and beta that a kernel for integers can take. Empty outputs
/// need no addresses; alpha = 0 or k = 0 needs none for A and B.
void check_operands(const LaunchPlan& plan, const Problem& problem, const Operands& operands);

/// alpha = 0 and k = 0 both say that there is no product and become both zero: A and B are not read, as BLAS has it,
/// and an infinite alpha makes no NaN of a sum of nothing.
void unify_empty_product(Problem& problem, Operands& operands);

/// An address as a kernel gets it. A plain program reads `first` alone, one for a batch all of this: it is the type
/// BatchAddress of templates/device/batch.cuh.
struct KernelAddress {
  CUdeviceptr first = 0;  ///< the address of the first product
  std::int64_t step = 0;  ///< the distance in bytes from a product's to that of the next
};
static_assert(offsetof(KernelAddress, step) == 8 && sizeof(KernelAddress) == 16, "as kernels read it");

/// A tensor map as a kernel gets it. A plain program reads `map` alone, one for a batch all of this: it is the type
/// BatchMap of templates/device/batch_map.cuh.
struct KernelMap {
  CUtensorMap map;
  std::int64_t apart = 0;  ///< the number of matrices of the map from one product to the next
};
static_assert(offsetof(KernelMap, apart) == 128 && sizeof(KernelMap) >= 192, "as kernels read it");

/// The parameters of cuTensorMapEncodeTiled, contiguous dimension first.
struct TensorMapLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  int element_bytes = 4;
  CUdeviceptr address = 0;
  cuuint32_t rank = 1;
  std::array<cuuint64_t, 5> extents{};  ///< the extents in elements, at least 1 as the driver demands
  std::array<cuuint64_t, 4> strides{};  ///< the strides in bytes, from the second dimension on
  std::array<cuuint32_t, 5> box{};      ///< the extents of the box, in elements
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

/// A plan's tensor map in one call. `problem` is the one that runs: where its k is 0, nothing is read of A and B, whose
/// addresses need not be valid; there, and where an extent is 0, the map stands on the 16 bytes around C's first
/// element, the one address that is certainly valid. The products of a batch are one dimension more, behind the others;
/// if they share the matrix, of one product.
TensorMapLayout tensor_map(const TensorMapSpec& spec, const LaunchPlan& plan, const Problem& problem,
                           const Operands& operands);

/// alpha or beta as a precision's row has it: float, double or int.
class ScalarArgument {
 public:
  ScalarArgument(const FormatTraits& format, double value);
  /// The address that it is loaded from.
  explicit ScalarArgument(CUdeviceptr place) { value_.place = place; }
  void* address() { return &value_; }

 private:
  union {
    float fp32;
    double fp64;
    std::int32_t int32;
    CUdeviceptr place;
  } value_{};
};

/// The same as a kernel gets it. A program without an epilogue reads the number alone, one with an epilogue all of
/// this: it is the type Scalar of templates/device/fused.cuh.
struct KernelScalar {
  KernelScalar(ScalarArgument argument, const Operands& operands);

  ScalarArgument number;
  CUdeviceptr first;      ///< address of C
  std::int64_t ld;        ///< the leading dimension of C, at least 1
  std::uint64_t inverse;  ///< floor((2^64 - 1) / ld) where there is a bias, which alone asks for a result's place
  CUdeviceptr bias;
  std::int64_t step;  ///< the bytes from the C of a product to that of the next; only programs for a batch read it
};
static_assert(offsetof(KernelScalar, first) == 8 && sizeof(KernelScalar) == 48, "as kernels read it");

/// The values of all arguments of one call, in the types that kernels declare. Has room for those of ordinary plans, so
/// that a call allocates nothing; larger plans work too.
class KernelArguments {
 public:
  /// Makes of a layout what the kernels get.
  using Encode = void (*)(CUtensorMap& map, const TensorMapLayout& layout);

  /// `problem` and `operands` are those that run: k and alpha are both 0 or neither is. The plan must outlive this.
  KernelArguments(const LaunchPlan& plan, const Problem& problem, const Operands& operands, Encode encode);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  /// The addresses of the values of a step's arguments, in its order. Valid as long as this lives; to be read only.
  std::pmr::vector<void*> addresses(const LaunchStep& step);

 private:
  void* address(const Arg& arg);

  static constexpr std::size_t kRoomBytes = 2048;

  std::array<std::byte, kRoomBytes> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::array<KernelAddress, 3> operands_;
  std::array<std::int64_t, 3> lds_;
  std::array<std::int64_t, 3> extents_;
  std::array<KernelScalar, 2> scalars_;
  std::pmr::vector<KernelAddress> slices_{&memory_};
  std::pmr::vector<KernelMap> maps_;
};

}  // namespace mmtune
