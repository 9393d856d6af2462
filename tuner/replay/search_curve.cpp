#include "tuner/replay/search_curve.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tuner/race/quantile.h"
#include "tuner/replay/replay.h"

namespace mmtune {
namespace {

constexpr int kFirstPoint = 25;
constexpr std::size_t kAtOnce = 1;  // Nothing is gained by judging several: each is known at once.

std::vector<int> places(int most_evaluations) {
  std::vector<int> places;
  for (int place = kFirstPoint; place < most_evaluations; place *= 2) places.push_back(place);
  places.push_back(most_evaluations);
  return places;
}

}  // namespace

std::vector<CurvePoint> search_curve(const MeasuredSpace& space, const std::string& strategy, std::uint64_t seed,
                                     int most_evaluations) {
  StrategySetup setup{space, most_evaluations, seed};
  setup.at_once = kAtOnce;
  setup.is_thrifty = false;
  const auto search = make_strategy(strategy, setup);
  const auto recall = [&](CandidateNumber number) { return Recollection{space.candidate(number).observation, 0}; };
  const Replay done = replay(*search, recall, kUnlimited_s, kAtOnce);
  std::vector<CurvePoint> points;
  for (const int place : places(most_evaluations)) {
    const std::size_t steps = std::min(static_cast<std::size_t>(place), done.steps.size());
    const double best_us = steps == 0 ? 0 : done.steps[steps - 1].best_us;
    points.push_back({strategy, seed, place, best_us > 0 ? space.best_us() / best_us : 0});
  }
  return points;
}

Table curve_points_table(const std::string& cache, const std::vector<CurvePoint>& points) {
  Table table({left("cache"), left("strategy"), left("seed"), left("evaluations"), left("share_of_best")});
  for (const auto& [strategy, seed, evaluations, share] : points) {
    table.add({cache, strategy, seed, evaluations, Cell(share, 4)});
  }
  return table;
}

Table curve_summary(const std::string& cache, const std::vector<CurvePoint>& points) {
  std::map<std::pair<std::string, int>, std::vector<double>> shares;
  for (const CurvePoint& each : points) shares[{each.strategy, each.evaluations}].push_back(each.share_of_best);
  Table table({left("cache"), left("strategy"), right("evaluations"), right("seeds"), right("mean"), right("lowest"),
               right("lower_quartile"), right("median")});
  for (auto& [key, each] : shares) {
    std::sort(each.begin(), each.end());
    table.add({cache, key.first, key.second, each.size(), Cell(mean(each), 4), Cell(each.front(), 4),
               Cell(each[each.size() / 4], 4), Cell(each[each.size() / 2], 4)});
  }
  return table;
}

}  // namespace mmtune
