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
class SizeLosses {
 public:
  explicit SizeLosses(const TimeMatrix& matrix) : matrix_(matrix) {
    for (const std::vector<double>& times : matrix.time_us) {
      const double best = times.empty() ? 0 : *std::min_element(times.begin(), times.end());
      std::vector<KernelLoss>& better = better_.emplace_back();
      now_.push_back(best > 0 && std::isfinite(best) ? kMostLoss : 0);  // 0: Nothing serves it.
      for (std::size_t kernel = 0; kernel < times.size(); ++kernel) {
        const double loss = times[kernel] / best - 1;
        if (loss < now_.back()) better.push_back({kernel, loss});
      }
    }
  }

  /// The losses with the kernels that are chosen, by size.
  const std::vector<double>& now() const { return now_; }

  void choose(std::size_t kernel) {
    for (std::size_t size = 0; size < now_.size(); ++size) {
      std::vector<KernelLoss>& better = better_[size];
      const auto found =
          std::find_if(better.begin(), better.end(), [&](const KernelLoss& each) { return each.kernel == kernel; });
      if (found == better.end()) continue;
      now_[size] = found->loss;
      std::erase_if(better, [&](const KernelLoss& each) { return !(each.loss < now_[size]); });
    }
  }

  /// The amounts by which the kernels would lower the cost of all losses.
  std::vector<double> gains() const {
    std::vector<double> gains(matrix_.kernels);
    for (std::size_t size = 0; size < now_.size(); ++size) {
      for (const auto& [kernel, loss] : better_[size]) {
        gains[kernel] += matrix_.weights[size] * (cost_of(now_[size]) - cost_of(loss));
      }
    }
    return gains;
  }

 private:
  struct KernelLoss {
    std::size_t kernel;
    double loss;
  };
  const TimeMatrix& matrix_;
  std::vector<double> now_;
  std::vector<std::vector<KernelLoss>> better_;  ///< the kernels that lose less than that at a size: mostly few
};

}  // namespace

Portfolio choose_portfolio(const TimeMatrix& matrix, std::size_t most, double loss,
                           const std::vector<std::size_t>& first) {
  SizeLosses losses(matrix);
  const double total = std::accumulate(matrix.weights.begin(), matrix.weights.end(), 0.0);
  Portfolio portfolio;
  const auto summarise = [&] {
    portfolio.mean_loss = portfolio.worst_loss = 0;
    for (std::size_t size = 0; size < losses.now().size(); ++size) {
      portfolio.mean_loss += matrix.weights[size] * losses.now()[size] / total;
      portfolio.worst_loss = std::max(portfolio.worst_loss, losses.now()[size]);
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
    const std::vector<double> gains = losses.gains();
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
