// How long a kernel takes, over operands that are never warm in the L2 cache.
#pragma once

#include "db/trial.h"
#include "runtime/launch.h"
#include "tuner/check_kernels.h"

#include <cstdint>
#include <vector>

namespace mmtune {

/// Several sets of random operands for one problem, together at least twice the L2 cache and at least two, so that
/// calls in turn find none of their operands cached.
class OperandSets {
 public:
  /// `first` becomes set 0. Throws OutOfMemoryError.
  OperandSets(const CheckKernels& kernels, const Problem& problem, const Operands& first, std::int64_t l2_bytes,
              CUstream stream);

  int count() const { return static_cast<int>(sets_.size()); }
  const Operands& set(int index) const { return sets_[static_cast<std::size_t>(index)]; }

 private:
  DeviceBuffer memory_;
  std::vector<Operands> sets_;
};

/// Times one kernel. Short kernels are replayed as a CUDA graph over all sets, so that a sample is long enough for
/// the clock and no launch latency of the host is in it; long ones are called one by one. Not thread safe.
class Stopwatch {
 public:
  /// `estimate_us` decides between the two modes. `workspace` serves all sets in turn.
  Stopwatch(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem, const OperandSets& sets,
            CUdeviceptr workspace, double estimate_us, CUstream stream);

  /// One sample: microseconds per call. Waits for it.
  double sample_us();

  bool uses_graph() const { return static_cast<bool>(graph_); }
  int calls_per_sample() const { return calls_; }

 private:
  void call(int set);

  const LoadedKernel& kernel_;
  const LaunchPlan& plan_;
  Problem problem_;
  const OperandSets& sets_;
  CUdeviceptr workspace_;
  CUstream stream_;
  int calls_ = 1;
  int next_set_ = 0;
  GraphExec graph_;
  Event start_;
  Event stop_;
};

/// Median, quartiles and minimum of samples in microseconds; at least one.
Timing summarise(std::vector<double> samples_us);

}  // namespace mmtune
