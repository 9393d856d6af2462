// What the search of a problem knows for a start.
#pragma once

#include <memory>
#include <vector>

#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// Candidates whose programs this run has compiled for other sizes, a few of each launch shape, launched as is expected
/// to be fastest here where that needs no other program. What they are depends on the time that compilers took, so that
/// only a run does with them whose searches end by the clock anyway.
std::vector<CandidateNumber> at_hand(CodeMemory& code, const FamilySpaces& spaces);

/// The strategy for a search, which knows what is known of other problems. The spaces must outlive it. Throws
/// DatabaseError.
std::unique_ptr<Strategy> begin_search(const TuningSetup& setup, const FamilySpaces& spaces,
                                       const std::vector<Candidate>& favourites);

}  // namespace mmtune
