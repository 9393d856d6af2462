// Kernels that won elsewhere, as a start for covering sizes of which nothing is measured yet.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/tune/family_spaces.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// The proven candidates that may do well at each problem, by what the model expects, the most promising first.
/// They come from at most `most` programs, with which all problems come close to their best; each is compiled once and
/// then measured for many problems, where a search compiles other candidates for each. Problems after the first
/// `searched` ones, which no search looks at, have fewer each.
CandidateLists proven_candidates(const std::vector<const Family*>& families, const Restriction& only,
                                 const std::vector<Problem>& problems, std::size_t searched,
                                 const Preparation& preparation, std::size_t most);

/// Sorts problems with their lists: the first need programs that most others need, too. In their order compilers make
/// few programs before the GPU has much to measure.
void begin_with_common_programs(const Preparation& preparation, std::vector<Problem>& problems, CandidateLists& lists);

}  // namespace mmtune
