// A tuned kernel against an opponent: the same operands, the same clocks, calls interleaved in random order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "db/trial.h"
#include "runtime/gpu/nvml.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/compare/opponent.h"
#include "tuner/lanes/program.h"
#include "tuner/measure/testbed.h"
#include "tuner/race/ratio.h"

namespace mmtune {

struct Comparison {
  /// How a side did. The error is |C - exact| / |exact| in the Frobenius norm on random operands.
  struct Side {
    Timing timing;
    double error = 0;
  };

  Side ours;
  std::vector<std::optional<Side>> theirs;  ///< one for each of Opponent::entries(); nothing where it has no algorithm
  std::optional<std::size_t> best;          ///< the number of the fastest of theirs
  std::optional<Ratio> ratio;               ///< the ratio to the fastest of theirs
  std::optional<double> sm_clock_mhz;       ///< the mean while racing
  std::optional<double> power_w;            ///< the mean of the whole card while racing
  int throttle = 0;                         ///< bits of Throttle: what held the clocks down while racing
};

/// Compares on one GPU, whose context must be current and stay so, and whose lock (tuner/workers/gpu_lock.h) the caller
/// has. Not thread safe.
class Bench {
 public:
  /// With `rounds` of 0 as many as fit the time for a problem, at least 15. `nvrtc` and `opponent` must outlive it.
  Bench(const DeviceSpec& device, const Nvrtc& nvrtc, CompileTarget target, Opponent& opponent, int rounds);

  /// Checks our kernel, then both sides' errors, picks the fastest algorithm of each of the opponent's entries, and
  /// races these against ours. Throws Error if a side computes something else, OutOfMemoryError, DeviceError.
  Comparison compare(const Problem& problem, const Program& ours) { return compare(problem, {&ours, 1}).front(); }

  /// The same for several kernels of ours in one race, in their order.
  std::vector<Comparison> compare(const Problem& problem, std::span<const Program> ours);

 private:
  Opponent& opponent_;
  int rounds_;
  Nvml nvml_;
  Testbed testbed_;
};

}  // namespace mmtune
