// What the analytic model says of a kernel at any extents, without a plan for each.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "templates/base/config.h"
#include "templates/family/family.h"
#include "templates/gpu/device_spec.h"
#include "templates/model/cost.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// Immutable, so usable from any thread. Allocates nothing when it is asked.
class KernelModel {
 public:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  /// The model of a configuration rendered for this precision, layout and alignment; extents have no meaning. Registers
  /// are the compiler's, per thread.
  KernelModel(const Family& family, const Config& config, const Problem& rendered, const DeviceSpec& device,
              int registers);

  /// The time that predict() says of a plan for these extents; the workspace may be off by the padding of rows.
  /// `parts`: so many blocks share a tile's k, where the launch says so; 0: as many as in the configuration.
  double time_us(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1, int parts = 0) const {
    return time_below(problem, device, products, parts, Power::ample, kNoLimit).us;
  }

  /// The same with that power; where the time is surely no less than `limit_us` perhaps a bound, which is no less than
  /// that either.
  TimeBound time_below(const Problem& problem, const DeviceSpec& device, std::int64_t products, int parts, Power power,
                       double limit_us) const;

  /// No more than time_us() says of any number of parts, in a tenth of the time; times least_power_factor() no more
  /// than it is with limited power, either.
  double least_us(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1) const;

  /// The bytes of workspace, about as many as a plan for these extents has.
  double workspace_bytes(const Problem& problem, int parts = 0) const;

  /// Whether more than half of a cluster's blocks along m have a tile of C, and along n.
  bool fills_clusters(const Problem& problem) const;

  /// Whether blocks may lie in pairs on some SMs while others have none, as may_lie_in_pairs() in
  /// templates/family/min_blocks.h says.
  bool may_lie_in_pairs(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1) const;

  /// Whether the launch says how many blocks share a tile's k.
  bool splits_at_launch() const { return splits_at_launch_; }

  /// A number of blocks sharing a tile's k, 0 for none, and the kernel's time with it.
  struct Parts {
    int number = 0;
    TimeBound time{kNoLimit};
  };

  /// The number that is expected to be the fastest, where the launch says it: of `numbers` those count whose parts have
  /// two steps at least. 1 is another program's. The time is as time_below() says; of a bound the number may be any.
  Parts best_parts(const Problem& problem, std::span<const int> numbers, const DeviceSpec& device,
                   std::int64_t products = 1, Power power = Power::ample, double limit_us = kNoLimit) const;

  /// The kernel's configuration with the best of its family's numbers of parts as SPLIT; as it is where there is none.
  Config fitted(const Family& family, Config config, const Problem& problem, const DeviceSpec& device,
                std::int64_t products = 1) const;

  /// Equal ones say the same of every problem, as those of kernels do that differ in what the model does not look at.
  friend bool operator==(const KernelModel&, const KernelModel&) = default;

 private:
  /// The bytes of a copy by element of the operand: a kernel may leave rows where they are that are whole lines.
  struct PerElement {
    double of_whole_lines = 0;
    double of_others = 0;

    friend bool operator==(const PerElement&, const PerElement&) = default;
  };

  PlanCost cost_;
  bool splits_at_launch_ = false;
  double fixed_bytes_ = 0;    ///< the bytes of the workspace that no extent changes
  double bytes_per_c_ = 0;    ///< the others, by element of C
  PerElement per_a_, per_b_;  ///< and by element of A and B
};

}  // namespace mmtune
