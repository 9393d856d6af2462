// A call of the public API, checked and put into the terms of the runtime.
#pragma once

#include <mmtune/mmtune.h>

#include "runtime/gpu/launch.h"
#include "templates/problem/fusion.h"

namespace mmtune {

/// Whether a problem, or a batch of it, has nothing to compute.
constexpr bool is_empty(const Problem& problem, std::int64_t batch) {
  return problem.m == 0 || problem.n == 0 || batch == 0;
}

/// A call in row-major order, whatever the order of the caller's matrices.
struct GemmCall {
  Problem problem;    ///< the problem, with the alignment that the operands of all products really have
  Operands operands;  ///< the operands of the first product
  std::int64_t batch = 1;
  Addresses step_bytes;   ///< the distances from a product's operands to those of the next
  Fusion fusion;          ///< the epilogue, of the row-major C; batched for several products at equal distances
  GemmPointers pointers;  ///< the operands of all products, by the names of `problem`, or empty

  bool empty() const { return is_empty(problem, batch); }
};

/// The operands of product `number`, from 0 on, of a call that is not empty.
Operands operands_of(const GemmCall& call, std::int64_t number);

/// The layout in which A and B are transposed or not.
constexpr Layout layout_of(bool a, bool b) {
  if (a) return b ? Layout::tt : Layout::tn;
  return b ? Layout::nt : Layout::nn;
}

enum class CallPurpose {
  run,   ///< The call runs: addresses must be there.
  plan,  ///< It is asked what would run: addresses may be null.
};

/// The call as the runtime sees it. Throws UsageError naming the argument that is wrong.
GemmCall check_call(const Gemm& call, CallPurpose purpose);

/// The same for running a batch of pointers, which must outlive what is returned.
GemmCall check_call(const Gemm& call, const GemmPointers& pointers);

}  // namespace mmtune
