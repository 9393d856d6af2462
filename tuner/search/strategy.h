// How a space is searched: one small interface, one file per strategy in tuner/search/strategies/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/trial.h"
#include "templates/cost.h"
#include "templates/family.h"
#include "templates/space.h"
#include "tuner/search/candidate.h"

namespace mmtune {

/// What the analytic model says of a configuration that the compiler has not seen.
Prediction predict(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device);

/// Candidates in the order of the model, best first; equals in the order of families and their tables. A space may have
/// millions, so each is made when it is asked for. Must not outlive the Spaces it is from.
class Ranking {
 public:
  std::size_t size() const { return entries_.size(); }
  Candidate operator[](std::size_t rank) const;
  double predicted_us(std::size_t rank) const { return entries_[rank].config.predicted_us; }

 private:
  friend class Spaces;
  struct Entry {
    const SearchSpace* space;
    RankedConfig config;
  };
  std::vector<Entry> entries_;
};

/// The families to search for one problem on one GPU.
class Spaces {
 public:
  Spaces(const std::vector<const Family*>& families, const Problem& problem, const DeviceSpec& device,
         const Restriction& restriction = {});

  /// Every candidate worth trying, best prediction first; at most `limit` of them.
  Ranking ranked(std::size_t limit) const;

  /// Candidates one step away, without predictions.
  std::vector<Candidate> neighbours(const Candidate& candidate) const;
  bool contains(const Candidate& candidate) const;
  Prediction predict(const Family& family, const Config& config) const;
  double predict_us(const Family& family, const Config& config) const { return predict(family, config).time_us; }

 private:
  std::vector<SearchSpace> spaces_;
  Problem problem_;
  DeviceSpec device_;
};

/// How much to try. Names are those of --effort.
struct Effort {
  std::string_view name;
  int most_trials;  ///< for one problem
};

/// Throws UsageError that lists the known ones.
const Effort& effort_named(std::string_view name);

/// Proposes candidates and learns from what became of them. Deterministic: the same space, seed and lessons give the
/// same proposals, which is what makes a second run find everything already measured.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next candidates to try, none twice; empty when there is nothing left worth trying.
  virtual std::vector<Candidate> propose() = 0;

  /// What a proposed candidate came to, in any order.
  virtual void learn(const Candidate& candidate, const Trial& trial) = 0;
};

/// The winners of the problems before, latest first: where the search of the next one starts.
class Favourites {
 public:
  void add(Candidate winner);
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::vector<Candidate> candidates_;
};

/// What a candidate came to in another problem, and what the model had said there.
struct Lesson {
  Candidate candidate;
  Prediction prediction;
  double time_us = 0;
};

struct StrategySetup {
  const Spaces& spaces;
  const Effort& effort;
  std::uint64_t seed = 1;
  std::vector<Candidate> favourites;   ///< winners of neighbouring sizes: tried first
  std::vector<Lesson> lessons;         ///< of a problem near this one
  std::vector<Candidate> proven = {};  ///< winners elsewhere, nearest first: a few of them come then
};

/// By the name of --strategy. Throws UsageError that lists the known ones.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySetup& setup);
const std::vector<std::string_view>& strategy_names();

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup);
std::unique_ptr<Strategy> make_random(const StrategySetup& setup);
std::unique_ptr<Strategy> make_guided(const StrategySetup& setup);
std::unique_ptr<Strategy> make_ranked(const StrategySetup& setup);

/// Proposes these and nothing else. Not by name: no search.
std::unique_ptr<Strategy> make_listed(std::vector<Candidate> candidates);

}  // namespace mmtune
