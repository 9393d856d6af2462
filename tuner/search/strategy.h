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

namespace mmtune {

/// What the analytic model says of a configuration that the compiler has not seen.
Prediction predict(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device);

/// One configuration of one family, with the analytic model's opinion of it.
struct Point {
  const Family* family = nullptr;
  Config config;
  double predicted_us = 0;
};

/// "simt BM=128 …": identifies a point within a problem.
std::string key_of(const Point& point);

/// Points in the order of the model, best first; equals in the order of families and their tables. A space may have
/// millions, so each is made when it is asked for. Must not outlive the Spaces it is from.
class Ranking {
 public:
  std::size_t size() const { return entries_.size(); }
  Point operator[](std::size_t rank) const;
  double predicted_us(std::size_t rank) const { return entries_[rank].prospect.predicted_us; }

 private:
  friend class Spaces;
  struct Entry {
    const SearchSpace* space;
    Prospect prospect;
  };
  std::vector<Entry> entries_;
};

/// The families to search for one problem on one GPU.
class Spaces {
 public:
  Spaces(const std::vector<const Family*>& families, const Problem& problem, const DeviceSpec& device,
         const Restriction& restriction = {});

  /// Every point worth trying, best prediction first; at most `limit` of them.
  Ranking ranked(std::size_t limit) const;

  /// Points one step away, without predictions.
  std::vector<Point> neighbours(const Point& point) const;
  bool contains(const Point& point) const;
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

/// Proposes points and learns from what became of them. Deterministic: the same space, seed and lessons give the same
/// proposals, which is what makes a second run find everything already measured.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next points to try, none twice; empty when there is nothing left worth trying.
  virtual std::vector<Point> propose() = 0;

  /// What a proposed point came to, in any order.
  virtual void learn(const Point& point, const Trial& trial) = 0;
};

/// The winners of the problems before, latest first: where the search of the next one starts.
class Favourites {
 public:
  void add(Point winner);
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// What a point came to in another problem, and what the model had said there.
struct Lesson {
  Point point;
  Prediction prediction;
  double time_us = 0;
};

struct StrategySetup {
  const Spaces& spaces;
  const Effort& effort;
  std::uint64_t seed = 1;
  std::vector<Point> favourites;   ///< winners of neighbouring sizes: tried first
  std::vector<Lesson> lessons;     ///< of a problem near this one
  std::vector<Point> proven = {};  ///< winners elsewhere, nearest first: a few of them come then
};

/// By the name of --strategy. Throws UsageError that lists the known ones.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySetup& setup);
const std::vector<std::string_view>& strategy_names();

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup);
std::unique_ptr<Strategy> make_random(const StrategySetup& setup);
std::unique_ptr<Strategy> make_guided(const StrategySetup& setup);

/// Proposes these and nothing else. Not by name: no search.
std::unique_ptr<Strategy> make_listed(std::vector<Point> points);

}  // namespace mmtune
