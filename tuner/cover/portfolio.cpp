#include "tuner/cover/portfolio.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mmtune {

namespace {

constexpr double kMostLoss = 9;    // what a size loses that no kernel serves
constexpr double kSquareCost = 4;  // the weight of the square of a loss: from a quarter on it counts more than the loss

double cost_of(double loss) { return loss + kSquareCost * loss * loss; }

}  // namespace

Portfolio choose_portfolio(const TimeMatrix& matrix, std::size_t most, double loss,
                           const std::vector<std::size_t>& first) {
  const std::size_t sizes = matrix.time_us.size();
  std::vector<std::vector<double>> losses(sizes);
  std::vector<double> now(sizes, kMostLoss);
  double total = 0;
  for (std::size_t size = 0; size < sizes; ++size) {
    const std::vector<double>& times = matrix.time_us[size];
    const double best = times.empty() ? 0 : *std::min_element(times.begin(), times.end());
    for (const double time : times) {
      losses[size].push_back(std::isfinite(time) ? std::min(kMostLoss, time / best - 1) : kMostLoss);
    }
    if (!(best > 0) || !std::isfinite(best)) now[size] = 0;  // Nothing serves it.
    total += matrix.weights[size];
  }
  Portfolio portfolio;
  const auto summarise = [&] {
    portfolio.mean_loss = portfolio.worst_loss = 0;
    for (std::size_t size = 0; size < sizes; ++size) {
      portfolio.mean_loss += matrix.weights[size] * now[size] / total;
      portfolio.worst_loss = std::max(portfolio.worst_loss, now[size]);
    }
  };
  const auto program_of = [&](std::size_t kernel) {
    return matrix.programs.empty() ? kernel : matrix.programs[kernel];
  };
  const auto add = [&](std::size_t kernel) {
    portfolio.kernels.push_back(kernel);
    portfolio.programs.insert(program_of(kernel));
    for (std::size_t size = 0; size < sizes; ++size) {
      if (!losses[size].empty()) now[size] = std::min(now[size], losses[size][kernel]);
    }
    summarise();
  };
  summarise();
  for (const std::size_t kernel : first) add(kernel);
  while (portfolio.mean_loss > loss) {
    const bool is_full = portfolio.programs.size() >= most;
    std::vector<double> gains(matrix.kernels);
    for (std::size_t size = 0; size < sizes; ++size) {
      for (std::size_t kernel = 0; kernel < losses[size].size(); ++kernel) {
        if (!(losses[size][kernel] < now[size])) continue;
        gains[kernel] += matrix.weights[size] * (cost_of(now[size]) - cost_of(losses[size][kernel]));
      }
    }
    double most_gain = 0;
    std::size_t chosen = matrix.kernels;
    for (std::size_t kernel = 0; kernel < matrix.kernels; ++kernel) {
      if (gains[kernel] <= most_gain || (is_full && !portfolio.programs.contains(program_of(kernel)))) continue;
      most_gain = gains[kernel];
      chosen = kernel;
    }
    if (chosen == matrix.kernels) break;
    add(chosen);
  }
  return portfolio;
}

}  // namespace mmtune
