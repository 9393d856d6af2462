// How soon a search comes how close to the best of a space whose every candidate is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/replay/measured_space.h"
#include "tuner/text/report.h"

namespace mmtune {

/// A point of the way of one search.
struct CurvePoint {
  std::string strategy;
  std::uint64_t seed = 0;
  int evaluations = 0;       ///< candidates tried until here, failed ones too
  double share_of_best = 0;  ///< the shortest time of the space over the shortest so far; 0: all failed until here
};

/// Lets a strategy search the space, one candidate after another. Points are at 25, 50, 100, 200 evaluations and so on
/// and at the last, `most_evaluations`; a search that ends before stays where it was.
std::vector<CurvePoint> search_curve(const MeasuredSpace& space, const std::string& strategy, std::uint64_t seed,
                                     int most_evaluations);

/// The columns cache,strategy,seed,evaluations,share_of_best.
Table curve_points_table(const std::string& cache, const std::vector<CurvePoint>& points);

/// A row for each strategy and number of evaluations, over all seeds: cache,strategy,evaluations,seeds,mean,lowest,
/// lower_quartile,median.
Table curve_summary(const std::string& cache, const std::vector<CurvePoint>& points);

}  // namespace mmtune
