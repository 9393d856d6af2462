// What the analytic model says of a kernel at any extents, without a plan for each.
#pragma once

#include <cstdint>

#include "templates/config.h"
#include "templates/cost.h"
#include "templates/device_spec.h"
#include "templates/family.h"
#include "templates/problem.h"

namespace mmtune {

/// Immutable, so usable from any thread. Allocates nothing when it is asked.
class KernelModel {
 public:
  KernelModel() = default;

  /// Of a configuration rendered for this precision, layout and alignment; extents have no meaning. Registers are the
  /// compiler's, per thread.
  KernelModel(const Family& family, const Config& config, const Problem& rendered, const DeviceSpec& device,
              int registers);

  /// As predict() says of a plan for these extents; the workspace may be off by the padding of rows.
  double time_us(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1) const;

  /// No more than time_us() says, in a tenth of the time.
  double least_us(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1) const {
    return mmtune::least_us(problem, cost_, device, products);
  }

  /// About as many as a plan for these extents has.
  double workspace_bytes(const Problem& problem) const;

  /// Equal ones say the same of every problem, as those of kernels do that differ in what the model does not look at.
  friend bool operator==(const KernelModel&, const KernelModel&) = default;

 private:
  PlanCost cost_;
  double fixed_bytes_ = 0;                                      ///< of the workspace,
  double bytes_per_a_ = 0, bytes_per_b_ = 0, bytes_per_c_ = 0;  ///< and by element of the operands
};

}  // namespace mmtune
