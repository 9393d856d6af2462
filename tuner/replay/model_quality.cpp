#include "tuner/replay/model_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "templates/base/order.h"
#include "templates/model/cost.h"

namespace mmtune {
namespace {

constexpr std::size_t kFirstFew = 8;

/// The geometric mean of losses, taken of the whole times, so that a loss of nothing counts as 1.
double geometric_mean(const std::vector<ModelQuality>& rows, double ModelQuality::*loss) {
  double sum = 0;
  for (const ModelQuality& row : rows) sum += std::log1p(row.*loss);
  return std::expm1(sum / static_cast<double>(rows.size()));
}

}  // namespace

ModelQuality quality_of(const TimedProblem& problem, const DeviceSpec& device) {
  std::vector<double> predicted, stored;
  for (const auto& [candidate, trial] : problem.trials) {
    const LaunchPlan plan = candidate.family->plan(problem.problem, candidate.config, device);
    predicted.push_back(predict(problem.problem, plan, device, 0).time_us);
    stored.push_back(trial.timing.median_us);
  }
  const auto order = places_in_order(predicted.size(), [&](auto i, auto j) { return predicted[i] < predicted[j]; });
  const double best_us = problem.best()->trial.timing.median_us;
  double few_us = stored[order.front()];
  for (std::size_t i = 0; i < std::min(kFirstFew, order.size()); ++i) few_us = std::min(few_us, stored[order[i]]);
  return {.problem = problem.problem,
          .configurations = static_cast<int>(stored.size()),
          .spearman = rank_correlation(predicted, stored),
          .loss_first = stored[order.front()] / best_us - 1,
          .loss_best_of_8 = few_us / best_us - 1};
}

Table quality_table(const std::vector<ModelQuality>& rows, Format format) {
  using Row = ModelQuality;
  const bool full = is_for_programs(format);
  const auto loss = [full](double share) { return full ? Cell(share, 5) : Cell(100 * share, 2); };
  const std::vector<CellOf<Row>> columns{
      {{"precision"}, [](const Row& r) { return to_string(r.problem.precision); }},
      {{"m", kRight}, [](const Row& r) { return r.problem.m; }},
      {{"n", kRight}, [](const Row& r) { return r.problem.n; }},
      {{"k", kRight}, [](const Row& r) { return r.problem.k; }},
      {{"configurations", kRight}, [](const Row& r) { return r.configurations; }},
      {{"spearman", kRight}, [](const Row& r) { return Cell(r.spearman, 4); }},
      {{full ? "loss_first" : "first, % slower", kRight}, [loss](const Row& r) { return loss(r.loss_first); }},
      {{full ? "loss_best_of_8" : "best of 8, % slower", kRight},
       [loss](const Row& r) { return loss(r.loss_best_of_8); }},
  };
  return table_of(columns, rows);
}

std::string quality_summary(const std::vector<ModelQuality>& rows) {
  return fmt::format(
      "the model's first is {:.1f} % slower than the best, its best of {} {:.1f} % (geometric means of {})",
      100 * geometric_mean(rows, &ModelQuality::loss_first), kFirstFew,
      100 * geometric_mean(rows, &ModelQuality::loss_best_of_8), rows.size());
}

}  // namespace mmtune
