// The cases of the source documents (tuner/documents/documents.h) on one device.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "runtime/choose/dispatch.h"
#include "tuner/devices/device_choice.h"
#include "tuner/documents/documents.h"
#include "tuner/inspect/local_compiler.h"

namespace mmtune {

/// The origin of a study's time.
enum class Origin {
  measured,
  extrapolated,  ///< It was measured for a smaller problem, and multiplied by the ratio of operations.
  predicted,
};

std::string_view to_string(Origin origin);

struct StudyResult {
  StudyCase what;   ///< the case; of a tuned kernel with the family and configuration that were taken
  std::string gpu;  ///< the GPU, also of a loop on the host, which has no other name
  Origin origin = Origin::measured;
  double kernel_ms = kUnknown_ms;  ///< the kernel's time, or that of a loop on the host
  double total_ms = kUnknown_ms;   ///< the time with allocation and copies
  std::string note;                ///< how a tuned kernel was found, or why there is no time

  static constexpr double kUnknown_ms = std::numeric_limits<double>::quiet_NaN();
};

struct StudyLimits {
  std::int64_t host_through = 1024;  ///< the largest n for which loops on the host run; beyond they are extrapolated
  double longest_s = 60;             ///< a kernel that takes longer is extrapolated from a quarter of the extents
};

class WholeCalls;

/// One device, with what is needed to run cases on it. An installed GPU's context must be current and its lock held.
class Study {
 public:
  /// `tuned`: stored kernels; empty: the model's favourite stands in for the tuned one. `nvrtc` must outlive it, and
  /// may be null for a model.
  Study(DeviceChoice device, const Nvrtc* nvrtc, DispatchTable tuned, const StudyLimits& limits);
  ~Study();

  /// Never throws for what a case is at fault for: then there is a note and no time. Throws DeviceLostError.
  StudyResult run(const StudyCase& what);

 private:
  StudyResult run_on_host(StudyResult result) const;
  void choose_tuned(StudyResult& result) const;
  void run_on_gpu(StudyResult& result);
  std::optional<double> extrapolated_ms(const StudyCase& what);
  Program program(const StudyCase& what, const Problem& problem);

  DeviceChoice device_;
  DispatchTable tuned_;
  StudyLimits limits_;
  LocalCompiler compiler_;
  std::unique_ptr<WholeCalls> calls_;  ///< null: a model
};

}  // namespace mmtune
