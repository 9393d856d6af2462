// Which candidate wins a problem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "tuner/lanes/lane.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// A candidate that was right.
struct Finalist {
  Program program;  ///< the program, with its machine code if it was compiled in this run; else the store may have that
  Trial trial;
};

/// Fills in the program's machine code for `target` from the store, where it is missing. False if it is not there
/// either: that of candidates that lost is not kept.
bool add_code(Program& program, Store& store, const std::string& target);

/// Puts the fastest first. Equally fast ones keep their order.
void sort_by_time(std::vector<Finalist>& finalists);

/// What the winner of a problem has to beat, as far as it is searched: what an application runs where nothing is tuned,
/// unless the model leaves no hope and no time for it beside a best of `best_us`, and the stored decision.
std::vector<Candidate> defenders(const ProblemKey& problem, const FamilySpaces& spaces, double best_us, Store& store);

/// A stored decision that lies outside what is searched, if this program still makes it: only what beats it in a race
/// takes its place.
std::optional<Candidate> winner_outside(const Winner& stored, const FamilySpaces& spaces,
                                        const Preparation& preparation);

/// Throws UnmeasurableError for a time below what this GPU can take (db/device_key.h).
void require_possible(const TrialKey& key, const Verdict& verdict);

/// Whether a candidate that was screened with this time may be faster than one with the best.
bool may_be_fastest(const Problem& problem, double time_us, double best_us);

/// The winners of sizes no extent of which differs by more than a factor of two, nearest first.
std::vector<Winner> neighbours_of(const Problem& problem, std::vector<Winner> winners);

/// Times the fastest of these, sorted by time and at least one, against each other and verifies them again; the stored
/// decision races even where its time, which may be from other conditions, is up to twice that of the best. What came
/// of it is in their trials, also in the store; those whose machine code for `target` is not there take no part. The
/// index of the winner; see choose_winner() for ties. Where one of them turns out not to be right, or not deterministic
/// and has to be, there is no winner yet: the race without it may end otherwise.
std::size_t race(std::vector<Finalist>& finalists, Lane& lane, Store& store, const std::string& target);

}  // namespace mmtune
