// The parameters of kernels as their text declares them, and whether a plan passes what they expect: a launch knows
// places alone, so that two arguments in the wrong order would be wrong results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/plan/launch_plan.h"

namespace mmtune {

struct KernelParameter {
  std::string type;  ///< the type without the parameter's name: "PerProduct<const InputA*>"
  std::string name;

  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

struct KernelDeclaration {
  std::string kernel;
  std::vector<KernelParameter> parameters;
};

/// The declarations of all `extern "C" __global__` functions of the text, in its order.
std::vector<KernelDeclaration> declared_kernels(std::string_view text);

/// The first thing in which the plan's steps and the declarations differ, as "parameter 12 of gemm is 'flags', the plan
/// passes 'sums'": a kernel that is not there, another number of arguments, another name or kind. Empty if none does.
std::string argument_fault(const LaunchPlan& plan, const std::vector<KernelDeclaration>& kernels);

}  // namespace mmtune
