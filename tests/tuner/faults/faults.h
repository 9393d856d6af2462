// What can be wrong with a kernel, by the values of the parameter FAULT of the family `faulty`.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "db/trial.h"

namespace mmtune::test {

struct KernelFault {
  std::string_view name;            ///< a constant in kernel.cu
  std::optional<Outcome> expected;  ///< the outcome on a GPU; none: what chance makes of it
  std::string_view describe;        ///< what the kernel does
};

/// FAULT is the position in this table; 0 is a plain kernel that is right.
inline constexpr std::array kKernelFaults{
    KernelFault{"NONE", Outcome::ok, "nothing is wrong"},
    KernelFault{"ABOVE", Outcome::guard_violation, "also writes the element behind C"},
    KernelFault{"BELOW", Outcome::guard_violation, "also writes the element before C"},
    KernelFault{"PADDING", Outcome::guard_violation, "also writes between the columns and the leading dimension"},
    KernelFault{"OPERAND", Outcome::guard_violation, "also writes an element of A"},
    KernelFault{"FAR", Outcome::crashed, "writes 4 TiB behind C"},
    KernelFault{"MISALIGNED", Outcome::crashed, "reads eight bytes at an address that is a multiple of four"},
    KernelFault{"HANG", Outcome::timed_out, "never ends"},
    KernelFault{"SILENT", Outcome::wrong_result, "writes nothing"},
    KernelFault{"NOT_A_NUMBER", Outcome::wrong_result, "writes NaN"},
    KernelFault{"NEGATED", Outcome::wrong_result, "has the sign of every sum wrong"},
    KernelFault{"SHORT", Outcome::wrong_result, "leaves out the last product"},
    KernelFault{"WILD", Outcome::wrong_result, "writes NaN, and the element behind C too"},
    KernelFault{"READS_C", Outcome::wrong_result, "adds C although beta is 0"},
    KernelFault{"LATER", Outcome::unstable, "is right in its first two launches only"},
    KernelFault{"MEMORY", Outcome::launch_failed, "needs 4 TiB of workspace"},
    KernelFault{"REFUSED", Outcome::compile_failed, "does not compile"},
    KernelFault{"ENDLESS", Outcome::timed_out, "compiles for many minutes"},
    KernelFault{"RARELY", std::nullopt, "has an element wrong in every fifth launch, by chance"},
    KernelFault{"TRAPS", Outcome::crashed, "traps in every fifth launch, by chance"},
    KernelFault{"CEASES", Outcome::unstable, "writes nothing after its first 16 launches"},
};

}  // namespace mmtune::test
