// What the search of a problem knows for a start.
#pragma once

#include <memory>
#include <vector>

#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// The strategy for a search, which knows what is known of other problems. The spaces must outlive it. Throws
/// DatabaseError.
std::unique_ptr<Strategy> begin_search(const TuningSetup& setup, const FamilySpaces& spaces,
                                       const std::vector<Candidate>& favourites);

}  // namespace mmtune
