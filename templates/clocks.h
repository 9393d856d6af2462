// Sums of clocks by what they go to, of which some overlap: what templates/cost.cpp makes a time of.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "templates/cost.h"

namespace mmtune {

/// What one iteration of the blocks on an SM needs of each resource, in clocks.
struct IterationClocks {
  double multiply_adds = 0, instructions = 0, idle = 0;  ///< of the schedulers, one after the other
  double shared_memory = 0, l2 = 0, memory = 0, latency = 0;

  double schedulers() const { return multiply_adds + instructions + idle; }
};

inline double cube(double x) { return x * x * x; }

/// The norm of what resources need that overlap: the third, or the sixth where each has a queue of its own, so that the
/// scarcest alone nearly is the time.
class Overlap {
 public:
  explicit Overlap(bool has_queues) : has_queues_(has_queues) {}
  double power(double x) const { return has_queues_ ? cube(x) * cube(x) : cube(x); }
  double root(double x) const { return std::cbrt(has_queues_ ? std::sqrt(x) : x); }
  double sum_of_powers(const IterationClocks& d) const {
    return power(d.schedulers()) + power(d.shared_memory) + power(d.l2) + power(d.memory) + power(d.latency);
  }

 private:
  bool has_queues_;
};

/// Clocks by what they go to.
class Clocks {
 public:
  void add(Bottleneck to, double clocks) { by_[static_cast<std::size_t>(to)] += clocks; }

  /// So many iterations. A norm of what they need lies between the sum and the largest alone; each has a share of it.
  void add(const Overlap& overlap, const IterationClocks& d, double iterations) {
    const double powers = overlap.sum_of_powers(d);
    const double per_power = iterations * overlap.root(powers) / powers;
    const double issued = per_power * overlap.power(d.schedulers()) / d.schedulers();
    add(Bottleneck::arithmetic, issued * d.multiply_adds);
    add(Bottleneck::instructions, issued * d.instructions);
    add(Bottleneck::idle, issued * d.idle);
    add(Bottleneck::shared_memory, per_power * overlap.power(d.shared_memory));
    add(Bottleneck::l2, per_power * overlap.power(d.l2));
    add(Bottleneck::memory, per_power * overlap.power(d.memory));
    add(Bottleneck::latency, per_power * overlap.power(d.latency));
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

/// Their sum alone.
class SumOfClocks {
 public:
  void add(Bottleneck, double clocks) { sum_ += clocks; }
  void add(const Overlap& overlap, const IterationClocks& d, double iterations) {
    sum_ += iterations * overlap.root(overlap.sum_of_powers(d));
  }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
};

}  // namespace mmtune
