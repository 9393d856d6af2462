// Where candidates are judged: an installed GPU, or the analytic model of one that is not there. A lane is used by one
// thread; there is one lane per GPU, so two measurements never share it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/nvrtc.h"
#include "templates/family.h"
#include "tuner/device_choice.h"

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
  std::string note;        ///< why it failed
  Timing timing;           ///< if ok or too slow
  double error_share = 0;  ///< of the allowed bound
};

/// A finalist: a candidate that was right, and its program.
struct Contender {
  Candidate candidate;
  Binary binary;  ///< with cubin
};

class Lane {
 public:
  virtual ~Lane() = default;

  virtual Evidence evidence() const = 0;
  virtual Environment environment() const = 0;

  /// Prepares operands and references. Throws OutOfMemoryError if the problem does not fit.
  virtual void begin(const Problem& problem) = 0;

  /// Verifies, times and verifies again. A candidate clearly slower than `best_us` (0: none yet) is abandoned early.
  /// Throws DeviceLostError if the candidate broke the GPU's context.
  virtual Evaluation evaluate(const Candidate& candidate, const Binary& binary, double best_us) = 0;

  /// Times finalists again, interleaved in random order, in the order given.
  virtual std::vector<Timing> race(const std::vector<Contender>& contenders) = 0;
};

/// `ordinal` of an installed GPU. Throws DeviceError.
std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target);

/// Nothing runs; times are predictions from the compiler's registers.
std::unique_ptr<Lane> make_model_lane(const DeviceChoice& device, const Nvrtc& nvrtc);

}  // namespace mmtune
