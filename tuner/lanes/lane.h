// A lane is where candidates are judged: an installed GPU, or the analytic model of one that is not there. A lane is
// used by one thread; there is one lane per GPU, so two measurements never share it.
#pragma once

#include <mmtune/error.h>

#include <memory>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/devices/device_choice.h"
#include "tuner/lanes/program.h"
#include "tuner/measure/verdict.h"
#include "tuner/race/race.h"

namespace mmtune {

/// A problem cannot be measured although the GPU works; others may.
class UnmeasurableError : public Error {
 public:
  using Error::Error;
};

/// One of several candidates that ran in turn crashed, did not end or could not be launched.
class RaceLostError : public Error {
 public:
  using Error::Error;
};

/// The most samples of a screening. Where no race follows, as for listed candidates, fewer do: the choice is among
/// kernels that differ by more than samples.
inline constexpr int kScreenSamples = 5;
inline constexpr int kListedSamples = 3;

/// What a race came to, in the order of its programs.
struct RaceResult {
  std::vector<Verdict> verdicts;  ///< the verdicts with times, ok or unstable: what was seen after the race
  std::vector<Placing> placings;

  static constexpr void fields(auto&& visit) {
    visit("verdicts", &RaceResult::verdicts);
    visit("placings", &RaceResult::placings);
  }
  std::string_view contradiction() const {
    if (verdicts.size() != placings.size()) return "placings: not as many as verdicts";
    for (const Verdict& verdict : verdicts) {
      const bool raced = verdict.outcome == Outcome::ok || verdict.outcome == Outcome::unstable;
      if (!raced || !(verdict.timing.median_us > 0)) return "verdicts: an outcome or a time of no race";
    }
    return "";
  }
};
static_assert(kListsAllMembers<RaceResult>);

class Lane {
 public:
  virtual ~Lane() = default;

  virtual Evidence evidence() const = 0;
  virtual Environment environment() = 0;

  /// Prepares operands and references, and screenings of so many samples. OutOfMemoryError if the problem does not fit,
  /// and UnmeasurableError, may be thrown only by what is called next.
  virtual void begin(const Problem& problem, int samples) = 0;

  /// Verifies, times and verifies again. A candidate clearly slower than `best_us` (0: none yet) is abandoned early.
  /// Throws DeviceLostError if the GPU or its context can do no more.
  virtual Verdict evaluate(const Program& program, double best_us) = 0;

  /// Times the finalists' programs again, at least one, interleaved in random order, until the race is decided
  /// (tuner/race/race.h) or takes too long; then verifies those that are as fast as the leader, by is_as_fast(), again
  /// in several launches. Throws RaceLostError if one of all, it is not known which, stopped the race; the lane goes
  /// on. Throws DeviceLostError if the GPU can do no more.
  virtual RaceResult race(const std::vector<Program>& finalists) = 0;
};

/// The device is an installed GPU. Throws DeviceError.
std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target);

/// Nothing runs; times are predictions from the compiler's registers. `nvrtc` is its version.
std::unique_ptr<Lane> make_model_lane(const DeviceChoice& device, std::string nvrtc);

}  // namespace mmtune
