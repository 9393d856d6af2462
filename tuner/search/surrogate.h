// What measurements say about configurations that were not measured: a Gaussian process over the residual of a
// model (C. Rasmussen, C. Williams: Gaussian Processes for Machine Learning, 2006, chapter 2).
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/space.h"

namespace mmtune {

/// Expects of every candidate a logarithm of its time and says how sure it is. Before anything is observed that is the
/// prior, the analytic model's opinion; an observation moves all candidates as far as they are alike: as far as their
/// time goes to the same things, whose cost the model misjudges alike, have parameters' values in common, and have
/// similar combinations of them. Candidates may be of different spaces. They are numbered from 0 in the order of
/// add(). Cost: a candidate takes memory for every plan, a plan time for every candidate and plan.
class Surrogate {
 public:
  std::size_t add(Features features, double prior_log_time);
  std::size_t size() const { return candidates_.size(); }

  /// This candidate will be observed: the deviations of those like it shrink from now on. Once for a candidate.
  void plan(std::size_t candidate);
  /// What a planned candidate came to. One that is never observed is taken to be as expected.
  void observe(std::size_t candidate, double log_time);
  /// Makes expected() follow the observations.
  void update();

  double expected(std::size_t candidate) const { return candidates_[candidate].expected; }
  double deviation(std::size_t candidate) const;  ///< standard deviation of the logarithm; 0 for a planned one

  /// By how much a candidate is expected to undercut `best_log_time`, where it does (expected improvement).
  double improvement(std::size_t candidate, double best_log_time) const;

 private:
  struct Candidate {
    Features features;
    double prior = 0;
    double expected = 0;
    double variance = 0;
    std::vector<float> factors;  ///< its row of the Cholesky factor, as if it came after all plans
  };
  struct Row {
    std::size_t candidate;
    double pivot;
    bool observed = false;
    double log_time = 0;
    double innovation = 0;  ///< what was not expected, in standard deviations
  };

  void factor(Candidate& candidate, const Row& row, std::size_t index) const;

  std::vector<Candidate> candidates_;
  std::vector<Row> rows_;
};

}  // namespace mmtune
