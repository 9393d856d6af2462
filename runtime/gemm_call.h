// A call of the public API, checked and put into the terms of the runtime.
#pragma once

#include <mmtune/mmtune.h>

#include "runtime/launch.h"

namespace mmtune {

struct GemmCall {
  Problem problem;  ///< with the alignment that the operands really have
  Operands operands;

  bool empty() const { return problem.m == 0 || problem.n == 0; }
};

enum class CallPurpose {
  run,   ///< addresses must be there
  plan,  ///< they may be null
};

/// Throws UsageError naming the argument that is wrong.
GemmCall check_call(const Gemm& call, CallPurpose purpose);

}  // namespace mmtune
