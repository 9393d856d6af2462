// Tunes for a distribution of sizes: few kernels that serve all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/cover/cover_decisions.h"
#include "tuner/cover/cover_options.h"
#include "tuner/cover/kernel_choice.h"
#include "tuner/tune/session.h"

namespace mmtune {

struct CoverSummary {
  std::vector<CoveringKernel> kernels;  ///< those that serve at least one size, in order of their names
  std::size_t programs = 0;             ///< the number of programs that these kernels are launched from
  UsefulPrograms useful;                ///< those of them that win at no size of the sample and no further one
  double useful_s = 0;                  ///< the time for measuring at spare sizes
  std::vector<Problem> unsearched;      ///< sizes of the sample that the budget left no time to search
  Losses sample;                        ///< the losses of the sizes that the kernels were chosen for
  Losses held_out;           ///< the losses of the same sizes if a kernel is chosen for each without knowing it
  bool interrupted = false;  ///< what was measured is stored; the same run goes on from there
};

/// The problem as kernels are rendered for when they are to serve many: an operand is aligned to 16 bytes, or to its
/// elements. Kernels for what lies between would each serve few sizes.
Problem sampled_problem(const Problem& problem);

/// Searches every size of the sample, measures what did well where else it may do well, the best of that at further
/// sizes, and what wins at none of these at spare ones; chooses the kernels that serve all of these and stores which of
/// them serves what as decisions. For GPUs of one model, or one model. The next run goes on with sizes that the budget
/// left no time to search. Throws what run_session throws.
CoverSummary cover(const CoverOptions& options);

/// The first part of that for one of `shares` shares: searches the session's problems, which takes most of the time,
/// for that share of the budget. cover() on the databases of all shares, merged, goes on from there; it searches sizes
/// that no share has searched, and takes off its budget what the shares had. Throws what run_session throws.
SessionSummary search_share(const CoverOptions& options, int shares);

}  // namespace mmtune
