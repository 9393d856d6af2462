// Sums of clocks by what they go to, of which some overlap: what templates/model/cost.cpp makes a time of.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace mmtune {

/// What time goes to.
enum class Bottleneck {
  arithmetic,     ///< multiply-adds at the full rate
  instructions,   ///< everything else that the main loop issues
  idle,           ///< schedulers without a warp, or without one that is ready
  shared_memory,  ///< the bandwidth of shared memory
  l2,             ///< the bandwidth of L2
  memory,         ///< the bandwidth of device memory
  latency,        ///< waiting for a fetch or for the step before
  barriers,       ///< between two tiles along k
  edges,          ///< the first fetch of a block and the store of its results
  exchange,       ///< sums that blocks hand to each other
  workspace,      ///< what one kernel writes for the next
  launch,
};
inline constexpr std::size_t kBottlenecks = 12;

/// What one iteration of the blocks on an SM needs of each resource, in clocks.
struct IterationClocks {
  double multiply_adds = 0, instructions = 0, idle = 0;  ///< the schedulers' clocks, one after the other
  double shared_memory = 0, l2 = 0, memory = 0, latency = 0;

  double schedulers() const { return multiply_adds + instructions + idle; }
};

inline double cube(double x) { return x * x * x; }

/// A norm of what resources need that overlap lies between the sum and the largest alone: the third.
inline double sum_of_cubes(const IterationClocks& d) {
  return cube(d.schedulers()) + cube(d.shared_memory) + cube(d.l2) + cube(d.memory) + cube(d.latency);
}

/// Clocks by what they go to.
class Clocks {
 public:
  void add(Bottleneck to, double clocks) { by_[static_cast<std::size_t>(to)] += clocks; }

  /// Adds so many iterations. Each resource has a share of the norm.
  void add(const IterationClocks& d, double iterations) {
    const double cubes = sum_of_cubes(d);
    const double per_cube = iterations * std::cbrt(cubes) / cubes;
    const double issued = per_cube * cube(d.schedulers()) / d.schedulers();
    add(Bottleneck::arithmetic, issued * d.multiply_adds);
    add(Bottleneck::instructions, issued * d.instructions);
    add(Bottleneck::idle, issued * d.idle);
    add(Bottleneck::shared_memory, per_cube * cube(d.shared_memory));
    add(Bottleneck::l2, per_cube * cube(d.l2));
    add(Bottleneck::memory, per_cube * cube(d.memory));
    add(Bottleneck::latency, per_cube * cube(d.latency));
  }

  double sum() const { return std::accumulate(by_.begin(), by_.end(), 0.0); }
  std::array<double, kBottlenecks> shares() const {
    auto shares = by_;
    const double all = sum();
    for (double& share : shares) share /= all;
    return shares;
  }

 private:
  std::array<double, kBottlenecks> by_{};
};

/// The sum of the clocks alone.
class SumOfClocks {
 public:
  void add(Bottleneck, double clocks) { sum_ += clocks; }
  void add(const IterationClocks& d, double iterations) { sum_ += iterations * std::cbrt(sum_of_cubes(d)); }
  double sum() const { return sum_; }
  static std::array<double, kBottlenecks> shares() { return {}; }

 private:
  double sum_ = 0;
};

}  // namespace mmtune
