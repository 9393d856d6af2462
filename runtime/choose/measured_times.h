// What measured times say about sizes that were not measured: by how much the analytic model errs for a kernel there,
// and which kernels are worth asking it about.
//
// The model's error changes slowly with the extents. Between measured sizes that of a kernel is the mean of its errors
// there, as logarithms, weighted by a power of the distance (D. Shepard, A two-dimensional interpolation function for
// irregularly-spaced data, 1968). Where the kernel itself was not measured, what all kernels have in common remains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// What a kernel took for a size.
struct KernelTime {
  std::uint32_t kernel = 0;  ///< the caller's number of the kernel
  Problem problem;
  double median_us = 0;  ///< the measured time, over 0
  double model_us = 0;   ///< the model's time of the same, over 0 and finite
};

/// What was measured of kernels of one precision and layout. Immutable, so usable from any thread.
class MeasuredTimes {
 public:
  MeasuredTimes() = default;
  explicit MeasuredTimes(const std::vector<KernelTime>& times);

  struct Weighting;

  /// What is known around one size. Must not outlive the times.
  class Around {
   public:
    /// The factor by which the model's time of this kernel is to be multiplied.
    double factor(std::uint32_t kernel) const;

    /// A factor of at least 1: by how much slower the kernel may be than expected, the less of it was measured around
    /// here. A choice compares expected times multiplied by it.
    double caution(std::uint32_t kernel) const;

    /// The kernels that came off best in the measured sizes around here, of those that `is_asked_for(kernel)` says: at
    /// most so many, in no order.
    template <class IsAskedFor>
    std::vector<std::uint32_t> promising(std::size_t most, const IsAskedFor& is_asked_for) const {
      std::vector<Promise> promises;
      promises.reserve(sums_.size());
      for (const Sum& sum : sums_) {
        if (sum.gain > 0 && is_asked_for(sum.kernel)) promises.push_back({sum.gain, sum.kernel});
      }
      return best_of(promises, most);
    }

   private:
    friend class MeasuredTimes;
    struct Sum {
      std::uint32_t kernel = 0;
      double weight = 0;
      double error = 0;  ///< a weighted sum of logarithms
      double gain = 0;   ///< what it loses less than a kernel that is unknown, weighted
    };
    struct Promise {
      double gain = 0;
      std::uint32_t kernel = 0;
    };
    Sum sum_of(std::uint32_t kernel) const;
    static std::vector<std::uint32_t> best_of(std::vector<Promise>& promises, std::size_t most);

    std::vector<Sum> sums_;              ///< the sums of kernels that were measured around here
    std::vector<std::uint32_t> places_;  ///< the place of each kernel's sum, from 1; 0: it has none
    double common_error_ = 0;
    const Weighting* weighting_ = nullptr;
  };
  Around around(const Problem& problem) const;

 private:
  struct Result {
    std::uint32_t kernel = 0;
    double error = 0;  ///< the logarithm of the time over the model's
    double gain = 0;
  };
  struct Size {
    double common_error = 0;  ///< the mean over its results
    std::vector<Result> results;
  };

  /// A place by the octaves of m, n and k, by the alignment, and by where rows of A, B and C begin in lines of memory:
  /// a model errs otherwise where they are aligned otherwise.
  static constexpr std::size_t kAxes = 7;
  using Place = std::array<double, kAxes>;
  static Place place_of(const Problem& problem);
  static double squared_distance(const Place& x, const Place& y);

  /// A size by its number, and how far away it is.
  struct Near {
    double squared_distance = 0;
    std::uint32_t size = 0;
  };
  std::vector<Near> nearest(const Place& at) const;

  static constexpr std::size_t kBlock = 8;
  using Floats = std::array<float, kBlock>;
  /// Places of sizes in a row, in the order in which vector units take them.
  struct Block {
    std::array<Floats, kAxes> at;
  };
  std::vector<Block> blocks_;  ///< the places, rounded: every look-up goes through all of these
  std::vector<Place> places_;  ///< the places of the sizes
  std::vector<Size> sizes_;
  std::size_t kernels_ = 0;
};

}  // namespace mmtune
