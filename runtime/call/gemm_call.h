// A call of the public API, checked and put into the terms of the runtime.
#pragma once

#include <mmtune/mmtune.h>

#include "runtime/gpu/launch.h"
#include "templates/problem/fusion.h"

namespace mmtune {

/// Whether so many products of a problem have nothing to compute.
constexpr bool is_empty(const Problem& problem, std::int64_t batch) {
  return problem.m == 0 || problem.n == 0 || batch == 0;
}

/// Row-major, whatever the order of the caller's matrices.
struct GemmCall {
  Problem problem;    ///< with the alignment that the operands of all products really have
  Operands operands;  ///< of the first product
  std::int64_t batch = 1;
  Addresses step_bytes;   ///< from a product's operands to those of the next
  Fusion fusion;          ///< of the epilogue, for the row-major C; batched for several products at equal distances
  GemmPointers pointers;  ///< where not empty, the operands of all products, by the names of `problem`

  bool empty() const { return is_empty(problem, batch); }
};

/// Operands of product `number`, from 0 on, of a call that is not empty.
Operands operands_of(const GemmCall& call, std::int64_t number);

/// By whether A and B are transposed.
constexpr Layout layout_of(bool a, bool b) {
  if (a) return b ? Layout::tt : Layout::tn;
  return b ? Layout::nt : Layout::nn;
}

enum class CallPurpose {
  run,   ///< addresses must be there
  plan,  ///< they may be null
};

/// Throws UsageError naming the argument that is wrong.
GemmCall check_call(const Gemm& call, CallPurpose purpose);

/// The same for running a batch of pointers, which must outlive what is returned.
GemmCall check_call(const Gemm& call, const GemmPointers& pointers);

}  // namespace mmtune
