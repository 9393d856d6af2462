// What kernels took for sample sizes, as a database has it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/store.h"
#include "runtime/choose/kernel_model.h"
#include "tuner/lanes/candidate.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// The time of calls that follow each other: by the model under the power limit, where they meet it. `single_us` is
/// what calls of this configuration took by themselves.
double limited_us(double single_us, const Family& family, const Config& config, const Problem& problem,
                  const DeviceSpec& device);

/// A program for all sizes, and what its launch says of the configuration.
struct SampledKernel {
  Candidate candidate;
  std::size_t program = 0;  ///< a number that kernels of equal source share
  std::size_t launch = 0;   ///< the number of the first kernel that differs in SPLIT alone, which each size has anew
  Precision precision;
  Layout layout;
  Alignment align;  ///< the alignment that it is rendered for
};

/// Kernels are numbered in the order in which they are found, sizes as the problems are.
class MeasuredKernels {
 public:
  /// Reads the trials of these problems that have a time and whose source is still made.
  MeasuredKernels(Store& store, const Preparation& preparation, const std::vector<Problem>& problems);

  struct Time {
    double us = 0;       ///< limited_us() of the median
    bool is_ok = false;  ///< whether it was verified in full, so that it may become a decision
    TrialKey key;
  };

  const std::vector<Problem>& problems() const { return problems_; }
  const std::vector<SampledKernel>& kernels() const { return kernels_; }
  const std::map<std::size_t, Time>& times(std::size_t size) const { return times_[size]; }

  /// The number of the program of each kernel.
  std::vector<std::size_t> programs() const;

  /// A kernel's program as it should be launched for a problem that it suits: with the SPLIT that the model expects to
  /// be the fastest, where that comes with the launch.
  Candidate fitted(std::size_t kernel, const Problem& problem) const;

  /// The same with other clusters that its launch can say and that have tiles of C: those that were measured nowhere,
  /// each for the first of the program's launches alone.
  std::vector<Candidate> fitted_to_other_clusters(std::size_t kernel, const Problem& problem) const;

  /// Whether a candidate has a time for a size.
  bool has_time(std::size_t size, const Candidate& candidate) const;

  /// The shortest time for a size; infinite if there is none.
  double best_us(std::size_t size) const;

  /// The fastest kernel of these programs that may become the decision of a size; nothing if there is none.
  std::optional<std::size_t> fastest(std::size_t size, const std::set<std::size_t>& programs) const;

  /// Whether a kernel is one for problems like this.
  bool suits(std::size_t kernel, const Problem& problem) const;

  /// The model's time of calls that follow each other; infinite where the candidate cannot run.
  double model_us(const Candidate& candidate, const Problem& problem) const;

 private:
  struct UnmeasuredLaunch {
    Candidate candidate;
    KernelModel model;
  };
  void add_other_clusters(std::size_t kernel, const TrialKey& key, std::map<std::string, std::size_t>& launches);

  DeviceSpec device_;
  std::vector<Problem> problems_;
  std::vector<SampledKernel> kernels_;
  std::vector<KernelModel> models_;                                      ///< the models, one for each kernel
  std::map<std::size_t, std::vector<UnmeasuredLaunch>> other_clusters_;  ///< by the number of the launch that has them
  std::vector<std::map<std::size_t, Time>> times_;                       ///< times by size, then by kernel
};

}  // namespace mmtune
