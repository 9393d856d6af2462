// One problem on one GPU: search, judge, race, decide.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "db/store.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/finals.h"
#include "tuner/tune/judge.h"
#include "tuner/tune/program_supply.h"
#include "tuner/tune/search_identity.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

enum class Ending {
  decided,
  not_beaten,  ///< The stored decision lies outside what was searched, and stays.
  measured,    ///< The listed candidates were measured, to be decided by others.
  failed,
  stopped,
};

/// Every candidate becomes a trial: the supply makes it a program, the judge says what becomes of that, the finals find
/// the winner. For one use by one thread.
class ProblemTuning {
 public:
  using Clock = std::chrono::steady_clock;

  /// Searches until `deadline`, or, with `patience`, longer where what the search begins with is not judged yet.
  ProblemTuning(const TuningSetup& setup, const Problem& problem, SearchIdentity search, Clock::time_point deadline,
                Clock::duration patience);

  /// Failed if the problem has no valid candidate, or cannot be measured here. Throws DatabaseError, DeviceError.
  Ending run(const std::vector<Candidate>& favourites);

  /// The best of what was searched, once it is decided, or not beaten.
  const Candidate& winner() const { return winner_; }

  /// The time for which there was nothing to go on with until the first candidate was right.
  Clock::duration waited() const { return waited_; }

 private:
  using CandidateOf = std::function<Candidate(CandidateNumber)>;

  /// The proposals that are awaited beyond the deadline.
  struct Awaited {
    std::size_t all = 0;       ///< the most of the first
    std::size_t compiled = 0;  ///< the most of them that have to be compiled
    bool in_any_case = false;  ///< whether all are, and there is no deadline
  };

  std::size_t rounds_under_way() const;
  bool out_of_time() const;
  bool is_enough(const Awaited& awaited) const;
  std::optional<Clock::time_point> longest_wait(const Awaited& awaited, bool has_awaited) const;
  Ending measure(const std::vector<Candidate>& listed);
  Ending tune(const std::vector<Candidate>& favourites);
  bool search(const FamilySpaces& spaces, const std::vector<Candidate>& favourites);
  std::vector<Candidate> stored_candidates() const;
  std::vector<Candidate> untried_defenders(const FamilySpaces& spaces) const;
  bool work_through(Strategy& strategy, const CandidateOf& candidate_of, Awaited awaited);
  bool work_through(const std::vector<Candidate>& candidates, Awaited awaited);
  void judge_without_program();
  Observation set_aside(const Program& program);
  std::optional<Observation> note(const Program& program, const Trial& trial);
  Ending decide(const FamilySpaces& spaces);
  Ending fail() const;
  Ending keep(const Finalist& before, const FamilySpaces& spaces);
  void put_winner(const Finalist& winner);
  SearchEnd search_end() const;
  void store_decision(const Finalist& winner, const std::string& search, int candidates);

  const TuningSetup& setup_;
  Problem problem_;
  SearchIdentity search_;
  Clock::time_point deadline_;
  Clock::duration patience_;
  Clock::duration waited_ = {};
  ProblemKey key_;
  std::optional<Winner> before_;      ///< the stored decision
  std::optional<Candidate> outside_;  ///< the candidate that it is for, if that is not searched
  ProgramSupply supply_;
  Judge judge_;
  Finals finals_;
  std::unordered_set<std::string> tried_;  ///< key_of() the candidates that came to something
  std::unordered_set<std::string> anew_;   ///< key_of() those whose stored trials do not count
  int set_aside_ = 0;                      ///< the number of candidates that are set aside
  bool is_cut_ = false;      ///< whether the search ended before its time, or lost a compile that is worth another try
  bool is_limited_ = false;  ///< whether a source was given up that may compile if it gets more time
  std::string first_failure_;  ///< failure_line() of the first candidate that is not valid
  Candidate winner_;
};

}  // namespace mmtune
