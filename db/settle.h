// Which of several decisions for one problem holds, where databases are merged that decided it each by themselves.
//
// Decisions that are not the winner stay in the table rival until the problem is decided anew, so that the choice is a
// function of all decisions that were met, of the trials, and of nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/sqlite.h"
#include "db/tables.h"

namespace mmtune {

/// Whether `other` may be as fast as the faster `best`, as far as the samples of both tell: not slower by 0.3 % beyond
/// doubt, as for finalists that race (docs/measuring.md). The deviation of a median of n samples of a normal
/// distribution is 1.253 / sqrt(n) standard deviations, one of which is 1 / 1.349 of the distance of the quartiles.
/// Predicted times are exact: only equal ones tie.
bool is_near_tie(const Timing& best, const Timing& other);

/// The decision that is stored for this problem.
std::optional<Decision> find_decision(Database& database, const ProblemKey& problem);

/// The other decisions for this problem, in a fixed order.
std::vector<Rival> rivals_of(Database& database, const ProblemKey& problem);

/// Call within a write transaction, as the functions below.
void forget_rivals(Database& database, const ProblemKey& problem);

/// Adds a decision whose trial is stored, as winner or as rival; settle() says which it stays.
void add_decision(Database& database, const Decision& decision);

/// Chooses for every problem with rivals: decisions that can run here before others, as their machine code and `makes`
/// tell, then the fastest by its trial, or, among those that are a near tie with that, the one with most samples. One
/// that turned out wrong still holds with the time that it won with: it is served no more, and the problem is to be
/// tuned again. Adds the problems with near ties, and returns the number of those whose other decisions are all slower.
std::int64_t settle(Database& database, const MakesDecision& makes, std::vector<Problem>& near_ties);

}  // namespace mmtune
