// The kernels that an application falls back on for sizes that nothing tuned can run.
#pragma once

#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {

/// The fallback for a precision and layout: the default of fallback_family(), one program for all sizes and
/// alignments. Its problem is 1x1x1, which runtime/choose looks up.
Program fallback_for(Precision precision, Layout layout, const Preparation& preparation);

/// Compiles and stores the fallback of every precision and layout among the problems, unless it is there. The queue
/// must be empty.
void store_fallbacks(const std::vector<Problem>& problems, const Preparation& preparation, CompileQueue& compiler,
                     Store& store);

/// The fallback for the precision and layout on a small problem, to see whether a GPU still works; none if it is not
/// stored, or if its template was edited: then it is not known to work.
std::optional<Program> canary_for(const Problem& any, const Preparation& preparation, Store& store);

}  // namespace mmtune
