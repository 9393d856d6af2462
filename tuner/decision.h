// Which candidate wins a problem, and which question that answers.
#pragma once

#include <string>
#include <vector>

#include "db/store.h"
#include "tuner/candidate.h"
#include "tuner/session.h"

namespace mmtune {

/// A candidate that was right.
struct Finisher {
  Attempt attempt;
  Trial trial;
};

/// Identifies what is searched and how: a decision with the same hash need not be made again.
std::string search_hash(const SessionOptions& options, const std::vector<const Family*>& families,
                        const Preparation& preparation, const Problem& problem);

/// Puts the fastest first. Equally fast ones keep their order.
void sort_by_time(std::vector<Finisher>& finishers);

/// Times the fastest of these, sorted by time and at least one, against each other; their times become those of the
/// race, also in the store, which has their programs for `target`. The index of the winner: in a tie that of the stored
/// decision.
std::size_t race(std::vector<Finisher>& finishers, Lane& lane, Store& store, const std::string& target);

}  // namespace mmtune
