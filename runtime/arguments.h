// The values a kernel gets, worked out without a driver.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/launch.h"
#include "templates/dtype.h"

namespace mmtune {

/// Throws UsageError, naming the operand and what would do, unless `launch` may run the plan with these operands:
/// extents not negative, addresses given where memory is touched, rows that do not overlap, plan.needs and the
/// elements' own alignment satisfied, a workspace, alpha and beta that a kernel for integers can take. Empty outputs
/// need no addresses; alpha = 0 or k = 0 needs none for A and B.
void check_operands(const LaunchPlan& plan, const Problem& problem, const Operands& operands);

/// alpha = 0 and k = 0 both say that there is no product and become both zero: A and B are not read, as BLAS has it,
/// and an infinite alpha makes no NaN of a sum of nothing.
void unify_empty_product(Problem& problem, Operands& operands);

/// The parameters of cuTensorMapEncodeTiled for a matrix, contiguous dimension first.
struct TensorMapLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CUdeviceptr address = 0;
  std::array<cuuint64_t, 2> extents{};  ///< in elements, at least 1 as the driver demands
  cuuint64_t row_bytes = 0;             ///< from row to row
  std::array<cuuint32_t, 2> box{};      ///< in elements
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
};

/// For the stored A or B. `problem` is the one that runs: where its k is 0 nothing is read through the map, and it
/// stands on the 16 bytes around C's first element, the one address that is certainly valid.
TensorMapLayout tensor_map_a(const LaunchPlan& plan, const Problem& problem, const Operands& operands);
TensorMapLayout tensor_map_b(const LaunchPlan& plan, const Problem& problem, const Operands& operands);

/// alpha or beta as a precision's row has it: float, double or int.
class ScalarArgument {
 public:
  ScalarArgument(const FormatTraits& format, double value);
  void* address() { return &value_; }

 private:
  union {
    float fp32;
    double fp64;
    std::int32_t int32;
  } value_{};
};

/// The values of all arguments of one call, in the types that kernels declare.
class KernelArguments {
 public:
  /// `problem` and `operands` are those that run: k and alpha are both 0 or neither is.
  KernelArguments(const Problem& problem, const Operands& operands);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  CUtensorMap& map_a() { return map_a_; }
  CUtensorMap& map_b() { return map_b_; }

  /// Where the values of a step's arguments are, in its order. Valid as long as this lives.
  std::vector<void*> addresses(const LaunchStep& step);

 private:
  void* address(Arg arg);

  CUtensorMap map_a_{};
  CUtensorMap map_b_{};
  Problem problem_;
  Operands operands_;
  ScalarArgument alpha_;
  ScalarArgument beta_;
};

}  // namespace mmtune
