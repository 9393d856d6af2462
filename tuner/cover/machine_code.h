// The machine code of a cover's kernels: what is chosen has some, what loses has none.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "tuner/cover/measured_kernels.h"

namespace mmtune {

/// Compiles those of these programs whose machine code was dropped since an earlier cover measured them.
void compile_missing(const MeasuredKernels& measured, const std::set<std::size_t>& programs,
                     const Preparation& preparation, int jobs, Store& store);

/// Drops the machine code of what is neither the decision of one of these problems nor a fallback of theirs.
void drop_losing_code(const std::vector<Problem>& problems, const Preparation& preparation, Store& store);

}  // namespace mmtune
