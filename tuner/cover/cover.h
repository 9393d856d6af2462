// Tunes for a distribution of sizes: few kernels that serve all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/cover/size_sample.h"
#include "tuner/tune/session.h"

namespace mmtune {

struct CoverOptions {
  /// The options of the whole run, its budget among them. The problems are the sample's, or a share of them.
  SessionOptions session;
  std::vector<AskedProblem> sample;
  std::vector<AskedProblem> further;  ///< sizes at which kernels that may be chosen are measured, too
  std::size_t most_kernels = 256;     ///< the most kernels; one with several values of SPLIT counts once
  double loss = 0;  ///< the choice ends at this mean loss beside the fastest candidates; 0.01 is one percent more time
};

struct Losses {
  std::size_t sizes = 0;
  double weights = 0;  ///< the sum of the weights of these sizes
  double mean = 0;     ///< the weighted mean
  double worst = 0;
};

/// A kernel in one of the ways to launch it.
struct CoveringKernel {
  std::string family;
  std::string config;
  Precision precision;
  Layout layout;
  Alignment align;
  std::size_t sizes = 0;  ///< the number of sizes of the sample that it serves
};

struct CoverSummary {
  std::vector<CoveringKernel> kernels;  ///< those that serve at least one size, in order of their names
  std::size_t programs = 0;             ///< the number of programs that these kernels are launched from
  std::vector<Problem> unsearched;      ///< sizes of the sample that the budget left no time to search
  Losses sample;                        ///< the losses of the sizes that the kernels were chosen for
  Losses held_out;           ///< the losses of the same sizes if a kernel is chosen for each without knowing it
  bool interrupted = false;  ///< what was measured is stored; the same run goes on from there
};

/// The problem as kernels are rendered for when they are to serve many: an operand is aligned to 16 bytes, or to its
/// elements. Kernels for what lies between would each serve few sizes.
Problem sampled_problem(const Problem& problem);

/// Searches every size of the sample, measures what did well where else it may do well, and the best of that at further
/// sizes, chooses the kernels that serve all of these and stores which of them serves what as decisions. For GPUs of
/// one model, or one model. The next run goes on with sizes that the budget left no time to search. Throws what
/// run_session throws.
CoverSummary cover(const CoverOptions& options);

/// The first part of that for one of `shares` shares: searches the session's problems, which takes most of the time,
/// for that share of the budget. cover() on the databases of all shares, merged, goes on from there; it searches sizes
/// that no share has searched, and takes off its budget what the shares had. Throws what run_session throws.
SessionSummary search_share(const CoverOptions& options, int shares);

}  // namespace mmtune
