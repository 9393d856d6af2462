#include "tuner/cover/portfolio.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mmtune {

namespace {

constexpr double kMostLoss = 9;    // what a size loses that no kernel serves
constexpr double kSquareCost = 4;  // the weight of the square of a loss: from a quarter on it counts more than the loss

double cost_of(double loss) { return loss + kSquareCost * loss * loss; }

/// What sizes lose beside the fastest of all kernels.
struct SizeLosses {
  std::vector<std::vector<double>> by_kernel;  ///< the losses by size, then by kernel
  std::vector<double> now;                     ///< the losses of the sizes with the kernels that are chosen

  explicit SizeLosses(const TimeMatrix& matrix) {
    for (const std::vector<double>& times : matrix.time_us) {
      const double best = times.empty() ? 0 : *std::min_element(times.begin(), times.end());
      std::vector<double>& losses = by_kernel.emplace_back();
      for (const double time : times) {
        losses.push_back(std::isfinite(time) ? std::min(kMostLoss, time / best - 1) : kMostLoss);
      }
      now.push_back(best > 0 && std::isfinite(best) ? kMostLoss : 0);  // 0: Nothing serves it.
    }
  }

  void choose(std::size_t kernel) {
    for (std::size_t size = 0; size < now.size(); ++size) {
      if (!by_kernel[size].empty()) now[size] = std::min(now[size], by_kernel[size][kernel]);
    }
  }
};

/// The amounts by which the kernels would lower the cost of all losses.
std::vector<double> gains_of(const TimeMatrix& matrix, const SizeLosses& losses) {
  std::vector<double> gains(matrix.kernels);
  for (std::size_t size = 0; size < losses.now.size(); ++size) {
    const std::vector<double>& by_kernel = losses.by_kernel[size];
    for (std::size_t kernel = 0; kernel < by_kernel.size(); ++kernel) {
      if (!(by_kernel[kernel] < losses.now[size])) continue;
      gains[kernel] += matrix.weights[size] * (cost_of(losses.now[size]) - cost_of(by_kernel[kernel]));
    }
  }
  return gains;
}

}  // namespace

Portfolio choose_portfolio(const TimeMatrix& matrix, std::size_t most, double loss,
                           const std::vector<std::size_t>& first) {
  SizeLosses losses(matrix);
  const double total = std::accumulate(matrix.weights.begin(), matrix.weights.end(), 0.0);
  Portfolio portfolio;
  const auto summarise = [&] {
    portfolio.mean_loss = portfolio.worst_loss = 0;
    for (std::size_t size = 0; size < losses.now.size(); ++size) {
      portfolio.mean_loss += matrix.weights[size] * losses.now[size] / total;
      portfolio.worst_loss = std::max(portfolio.worst_loss, losses.now[size]);
    }
  };
  const auto program_of = [&](std::size_t kernel) {
    return matrix.programs.empty() ? kernel : matrix.programs[kernel];
  };
  const auto add = [&](std::size_t kernel) {
    portfolio.kernels.push_back(kernel);
    portfolio.programs.insert(program_of(kernel));
    losses.choose(kernel);
    summarise();
  };
  summarise();
  for (const std::size_t kernel : first) add(kernel);
  while (portfolio.mean_loss > loss) {
    const bool is_full = portfolio.programs.size() >= most;
    const std::vector<double> gains = gains_of(matrix, losses);
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
