// What measurements say about configurations that were not measured: a Gaussian process over the residual of a
// model, or over all of the time where there is no model (C. Rasmussen, C. Williams: Gaussian Processes for Machine
// Learning, 2006, chapter 2).
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/space.h"

namespace mmtune {

/// Expects of every candidate a speed, as a multiple of what the prior says, and tells how sure it is. The prior is the
/// analytic model's opinion; without a model all candidates are expected to take what those observed take on average.
/// An observation moves all candidates as far as they are alike: as far as their time goes to the same things, whose
/// cost the model misjudges alike, have parameters' values in common, and have similar combinations of them; what a
/// model would know of that is unknown without one, and much more. Speeds and not times: of slow candidates it matters
/// little how slow they are. Candidates may be of different spaces. They are numbered from 0 in the order of add().
/// Cost: a candidate takes memory for every plan, a plan time for every candidate and plan.
class Surrogate {
 public:
  std::size_t add(Features features, double prior_log_time);
  /// `lead`: by how much it is expected to be faster than others, as a logarithm of time.
  std::size_t add_without_model(Features features, double lead);
  std::size_t size() const { return candidates_.size(); }

  /// This candidate will be observed: the deviations of those like it shrink from now on. Once for a candidate.
  void plan(std::size_t candidate);
  /// What a planned candidate came to. One that is never observed is taken to be as expected.
  void observe(std::size_t candidate, double log_time);
  /// A candidate without a time counts as one that takes longer than expected.
  void observe_failure(std::size_t candidate);
  /// Makes expected() follow the observations.
  void update();

  double expected(std::size_t candidate) const;   ///< the logarithm of the time
  double deviation(std::size_t candidate) const;  ///< the standard deviation of the speed; 0 for a planned one

  /// How much faster than `best_log_time` a candidate is expected to be, where it is, as a share of that speed
  /// (expected improvement).
  double improvement(std::size_t candidate, double best_log_time) const;

 private:
  /// A candidate as the Gaussian process sees it.
  struct Point {
    Features features;
    bool has_model = true;
    double prior = 0;  ///< the logarithm of time; without a model relative to common_
    double speed = 1;  ///< the expected speed as a multiple of the prior's
    double variance = 0;
    std::vector<float> factors;  ///< the row of the Cholesky factor, as if the candidate came after all plans
  };
  struct Row {
    enum class Kind { open, timed, failed };
    std::size_t candidate;
    double pivot;
    Kind kind = Kind::open;
    double log_time = 0;    ///< the logarithm of its time, if it was timed
    double speed = 0;       ///< the speed that it counts as, if it failed
    double innovation = 0;  ///< what was not expected, in standard deviations
  };

  static double covariance(const Point& x, const Point& y);
  std::size_t add(Point candidate);
  Row* find(std::size_t candidate);
  void find_common();
  double reference(const Point& candidate) const;  ///< the prior's logarithm of time
  void factor(Point& candidate, const Row& row, std::size_t index) const;

  std::vector<Point> candidates_;
  std::vector<Row> rows_;
  double common_ = 0;  ///< the logarithm of the time that candidates without a model take on average
};

}  // namespace mmtune
