// Where candidates are judged: an installed GPU, or the analytic model of one that is not there. A lane is used by one
// thread; there is one lane per GPU, so two measurements never share it.
#pragma once

#include <mmtune/error.h>

#include <memory>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/nvrtc.h"
#include "templates/family.h"
#include "tuner/devices/device_choice.h"
#include "tuner/race/race.h"

namespace mmtune {

/// A configuration ready to be judged.
struct Candidate {
  const Family* family = nullptr;
  Config config;
  LaunchPlan plan;
  Source source;
};

struct Evaluation {
  Outcome outcome = Outcome::ok;
  std::string note;           ///< why it failed
  Timing timing;              ///< if ok or too slow
  double error_share = 0;     ///< of the allowed bound
  bool deterministic = true;  ///< another run on the same operands gave the same bits; if ok
};

/// This problem cannot be measured although the GPU works; others may.
class UnmeasurableError : public Error {
 public:
  using Error::Error;
};

/// One of several candidates that ran in turn crashed, did not end or could not be launched.
class RaceLostError : public Error {
 public:
  using Error::Error;
};

/// A finalist: a candidate that was right, and its program.
struct Contender {
  Candidate candidate;
  Binary binary;  ///< with cubin
};

/// How a finalist did.
struct Finish {
  Timing timing;
  Placing placing;
  Outcome outcome = Outcome::ok;  ///< or unstable, by what was seen of it after the race
  std::string note;               ///< why it is unstable
  bool deterministic = true;      ///< as far as it was seen to run; if ok
};

class Lane {
 public:
  virtual ~Lane() = default;

  virtual Evidence evidence() const = 0;
  virtual Environment environment() = 0;

  /// Prepares operands and references. OutOfMemoryError if the problem does not fit, and UnmeasurableError, may be
  /// thrown only by what is called next.
  virtual void begin(const Problem& problem) = 0;

  /// Verifies, times and verifies again. A candidate clearly slower than `best_us` (0: none yet) is abandoned early.
  /// Throws DeviceLostError if the GPU or its context can do no more.
  virtual Evaluation evaluate(const Candidate& candidate, const Binary& binary, double best_us) = 0;

  /// Times finalists again, interleaved in random order, until the race is decided (tuner/race/race.h) or takes too
  /// long; then verifies those that are not slower beyond doubt again, in several launches. At least one; what comes
  /// back is in their order. Throws RaceLostError if one of them, nobody knows which, stopped the race; the lane goes
  /// on. Throws DeviceLostError if the GPU can do no more.
  virtual std::vector<Finish> race(const std::vector<Contender>& contenders) = 0;
};

/// `ordinal` of an installed GPU. Throws DeviceError.
std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target);

/// Nothing runs; times are predictions from the compiler's registers. `nvrtc` is its version.
std::unique_ptr<Lane> make_model_lane(const DeviceChoice& device, std::string nvrtc);

}  // namespace mmtune
