// How a space is searched: one small interface, one file per strategy in tuner/search/strategies/.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tuner/search/space.h"

namespace mmtune {

/// How much to try. Names are those of --effort.
struct Effort {
  std::string_view name;
  int most_trials;  ///< the most trials for one problem
};

/// Throws UsageError that lists the known ones.
const Effort& effort_named(std::string_view name);
std::vector<std::string> effort_names();

/// What a candidate came to, as far as a search learns from it.
struct Observation {
  enum class Kind {
    timed,
    too_slow,  ///< It was abandoned; time_us is a first idea.
    failed,    ///< It has no time.
  };
  Kind kind = Kind::failed;
  double time_us = 0;
};

/// Proposes candidates and learns from what became of them. Deterministic: the same space, seed and lessons give the
/// same proposals, which is what makes a second run find everything already measured.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next candidates to try, none twice; empty when there is nothing left worth trying.
  virtual std::vector<CandidateNumber> propose() = 0;

  /// What a proposed candidate came to, in any order.
  virtual void learn(CandidateNumber candidate, const Observation& observation) = 0;
};

/// What a candidate of another space came to.
struct Lesson {
  Description candidate;
  double time_us = 0;
};

/// What is proven elsewhere is tried where its expected time is at most so many times the shortest: of 222 winners on
/// an H200 none had over 1.7.
inline constexpr double kProvenReach = 2;

struct StrategySetup {
  const CandidateSpace& space;
  int most_trials;
  std::uint64_t seed = 1;
  std::vector<CandidateNumber> favourites = {};  ///< winners of spaces like this one
  std::vector<Lesson> lessons = {};              ///< what was learnt in a space like this one
  std::vector<CandidateNumber> proven = {};      ///< winners elsewhere, nearest first
  std::size_t at_once = 8;                       ///< how many candidates are judged together: a round has no more
  std::vector<CandidateNumber> at_hand = {};     ///< those that cost little to try: first, where they may be fast
  bool is_predicted = false;  ///< whether the model that expects times also says them, of what compilers made
  bool is_thrifty = true;     ///< whether to end early: in a small space, with long trials, where nothing is promised
};

/// The strategy with a name of --strategy. Throws UsageError that lists the known ones.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySetup& setup);
std::vector<std::string> strategy_names();

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup);
std::unique_ptr<Strategy> make_random(const StrategySetup& setup);
std::unique_ptr<Strategy> make_guided(const StrategySetup& setup);
std::unique_ptr<Strategy> make_ranked(const StrategySetup& setup);

/// Proposes these candidates, once, and learns nothing. Not by name: no search.
std::unique_ptr<Strategy> make_listed(std::vector<CandidateNumber> candidates);

}  // namespace mmtune
