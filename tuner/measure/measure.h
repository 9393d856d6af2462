// How long a kernel takes, over operands that are never warm in the L2 cache.
#pragma once

#include <array>
#include <vector>

#include "db/trial.h"
#include "runtime/gpu/driver.h"
#include "templates/gpu/device_spec.h"
#include "tuner/measure/call.h"
#include "tuner/measure/check_kernels.h"
#include "tuner/measure/conditions.h"

namespace mmtune {

/// Sets that make samples longer take at most this part of a GPU's memory, and so does what is kept of them.
inline constexpr std::int64_t kShareOfMemory = 16;

/// The sets of operands that calls of a problem take in turn so that they find none of their operands cached: together
/// at least twice the L2 cache, and at least two.
int cold_set_count(const Problem& problem, const DeviceSpec& device);

/// The sets that there are of a problem: those, and up to a sixteenth of the GPU's memory so many that a call on each
/// takes half a millisecond together at the peaks of memory and arithmetic, beside which the microseconds before the
/// first call and behind the last one do not count.
int operand_set_count(const Problem& problem, const DeviceSpec& device);

/// Memory of random operands that problems have in turn: to take and fill it for each took a tenth of the time of a
/// cover's measurements.
class OperandMemory {
 public:
  /// At least so many bytes of an operand of that precision, from now on at that address. C may have been written to.
  /// Throws OutOfMemoryError.
  CUdeviceptr take(const CheckKernels& kernels, Precision precision, Role role, std::int64_t bytes, CUstream stream);

  /// The bytes of all operands.
  std::int64_t bytes() const;

 private:
  Precision precision_{};
  std::array<DeviceBuffer, 3> buffers_;  ///< one for each Role
};

/// Sets of random operands for one problem, operand_set_count() of them.
class OperandSets {
 public:
  /// `first` becomes set 0, and the others have this memory. Throws OutOfMemoryError.
  OperandSets(const CheckKernels& kernels, const Problem& problem, const Operands& first, const DeviceSpec& device,
              OperandMemory& memory, CUstream stream);

  int count() const { return static_cast<int>(sets_.size()); }
  /// The least that calls have to take in turn: cold_set_count().
  int cold_count() const { return cold_count_; }
  const Operands& set(int index) const { return sets_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<Operands> sets_;
  int cold_count_;
};

/// Lets an idle GPU reach its working clock before the first call is timed; overwrites C of set 1.
void warm_up(const CheckKernels& kernels, const Problem& problem, const OperandSets& sets, CUstream stream);

/// Times one call. Short calls are replayed as a CUDA graph over as many sets as a sample of half a millisecond needs,
/// so that it is long enough for the clock and no launch latency of the host is in it; long ones are made one by one.
/// Not thread safe.
class Stopwatch {
 public:
  /// `estimate_us` of one call decides between the two modes, and over how many sets it is replayed; 0: over all.
  /// `sets` must outlive the stopwatch.
  Stopwatch(Call call, const OperandSets& sets, double estimate_us, CUstream stream);

  /// One sample: microseconds per call. Waits for it.
  double sample_us();

  /// The two halves of sample_us(), for what is to be done while the GPU works.
  void start();
  double finish_us();

  /// Samples make as many calls from now on as take this time together, by this time of one; no fewer than before.
  void lengthen(double sample_us, double call_us);

  bool uses_graph() const { return static_cast<bool>(graph_); }
  int calls_per_sample() const { return calls_ * repeats_; }

 private:
  Call call_;
  const OperandSets& sets_;
  CUstream stream_;
  int calls_ = 1;
  int repeats_ = 1;
  int next_set_ = 0;
  GraphExec graph_;
  Event start_;
  Event stop_;
};

/// Median, quartiles and minimum of samples in microseconds; at least one.
Timing summarise(std::vector<double> samples_us);

/// The summary of a stopwatch's samples, with its mode and the conditions that they were taken under.
Timing summarise(const Stopwatch& watch, std::vector<double> samples_us, const Conditions& conditions);

}  // namespace mmtune
