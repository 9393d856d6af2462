// A tuned kernel against an opponent: the same operands, the same clocks, calls interleaved in random order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "db/trial.h"
#include "runtime/nvml.h"
#include "runtime/nvrtc.h"
#include "tuner/check_kernels.h"
#include "tuner/lane.h"
#include "tuner/opponent.h"

namespace mmtune {

/// A median with its 95 % confidence interval.
struct Ratio {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// The median of theirs[i] / ours[i], times of the same round: above 1, we are faster. The interval is that of order
/// statistics, which assumes nothing about the distribution: with n ratios in ascending order, from number j to number
/// n + 1 - j for the largest j with P(Binomial(n, 1/2) < j) <= 2.5 %. Fewer than 6 ratios have no such j; then it is
/// from the first to the last. Both lists must have the same length, at least 1.
Ratio ratio_of(std::span<const double> theirs, std::span<const double> ours);

struct Comparison {
  /// How a side did. The error is |C - exact| / |exact| in the Frobenius norm on random operands.
  struct Side {
    Timing timing;
    double error = 0;
  };

  Side ours;
  std::vector<std::optional<Side>> theirs;  ///< in the order of Opponent::entries(); nothing where it has no algorithm
  std::optional<std::size_t> best;          ///< the fastest of theirs
  std::optional<Ratio> ratio;               ///< against the fastest of theirs
  std::optional<double> sm_clock_mhz;       ///< mean while racing
  std::vector<std::string> throttling;      ///< what held the clocks down in the middle of the race
};

/// Compares on one GPU, whose context must be current and stay so. Not thread safe.
class Bench {
 public:
  /// `rounds` of 0: as many as fit the time for a problem, at least 15. `nvrtc` and `opponent` must outlive it.
  Bench(const DeviceSpec& device, const Nvrtc& nvrtc, CompileTarget target, Opponent& opponent, int rounds);

  /// Checks our kernel, then both sides' errors, picks the fastest algorithm of each of the opponent's entries, and
  /// races these against ours. Throws Error if a side computes something else, OutOfMemoryError, DeviceError.
  Comparison compare(const Problem& problem, const Contender& ours);

 private:
  const CheckKernels& check_kernels(const Problem& problem);

  DeviceSpec device_;
  const Nvrtc& nvrtc_;
  CompileTarget target_;
  Opponent& opponent_;
  int rounds_;
  Stream stream_;
  Nvml nvml_;
  bool warm_ = false;
  std::map<std::pair<Precision, Layout>, std::unique_ptr<CheckKernels>> check_kernels_;
};

}  // namespace mmtune
