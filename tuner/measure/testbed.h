// What one problem after another is verified and timed with on a GPU.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/gpu/nvrtc.h"
#include "templates/gpu/device_spec.h"
#include "tuner/measure/check_kernels.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

namespace mmtune {

/// Calls that take less are raced as graphs, so that no launch latency of the host counts.
inline constexpr double kReplayed_us = 10e3;

/// The operands and exact results of a problem, and what compares and times with them. The GPU's context must be
/// current and stay so. Not thread safe.
class Testbed {
 public:
  /// `nvrtc` must outlive it.
  Testbed(const DeviceSpec& device, const Nvrtc& nvrtc, CompileTarget target)
      : device_(device), nvrtc_(nvrtc), target_(std::move(target)), stream_(make_stream()) {}

  /// Gives up the problem before and prepares this one; a GPU that nothing was timed on for a second also reaches its
  /// working clock. Throws OutOfMemoryError, DeviceError.
  void begin(const Problem& problem);

  /// All below belongs to the problem that was begun.
  const Problem& problem() const { return problem_; }
  Verifier& verifier() { return *verifier_; }

  /// A kernel of ours as a call, with the verifier's workspace. Both must outlive the call, and no later plan may need
  /// a larger workspace.
  Call call_of(const LoadedKernel& kernel, const LaunchPlan& plan) {
    return mmtune::call_of(kernel, plan, problem_, verifier_->random_operands(plan).workspace);
  }

  /// A stopwatch for the call, with this estimate of its time.
  Stopwatch watch(Call call, double estimate_us) {
    used_ = std::chrono::steady_clock::now();
    return {std::move(call), *sets_, estimate_us, stream_.get()};
  }

  /// The time of one call by itself.
  double one_call_us(const Call& call);

  /// A stopwatch for each call, all in the mode that suits the slowest, after one untimed sample each; of long calls
  /// after as many as it takes for the GPU to reach the clock that it can hold under them. Samples of heavy calls take
  /// at least about `heavy_sample_us`.
  std::vector<Stopwatch> line_up(const std::vector<Call>& calls, double heavy_sample_us = 0);

 private:
  const CheckKernels& check_kernels();
  void prepare();

  DeviceSpec device_;
  const Nvrtc& nvrtc_;
  CompileTarget target_;
  Stream stream_;
  std::chrono::steady_clock::time_point used_;  ///< when a stopwatch was last asked for
  Problem problem_;
  std::map<std::pair<Precision, Layout>, std::unique_ptr<CheckKernels>> check_kernels_;
  std::optional<Verifier> verifier_;
  OperandMemory memory_;
  std::optional<OperandSets> sets_;
};

}  // namespace mmtune
