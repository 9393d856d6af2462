// The analytic model: a predicted time from a launch plan and a GPU's limits. It ranks candidates before they are
// compiled, serves sizes that were never tuned and GPUs that are not there. Predicted, and called so wherever it shows.
#pragma once

#include <cstdint>
#include <string_view>

#include "templates/gpu/device_spec.h"
#include "templates/model/clocks.h"
#include "templates/model/plan_cost.h"
#include "templates/model/power.h"
#include "templates/model/prediction.h"
#include "templates/plan/launch_plan.h"
#include "templates/problem/problem.h"

namespace mmtune {

std::string_view to_string(Bottleneck bottleneck);

/// The problem itself, or the one with a k of 1 where k is 0: the model needs a loop to time.
Problem with_depth(Problem problem);

/// The prediction for the extents of a problem that differs from the plan's in nothing else. `workspace_bytes` are all
/// that a plan for these extents has. `products` of the problem are computed by one launch, and the time is that of
/// all.
Prediction predict(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                   std::int64_t products = 1);

/// A time, or no more than it is.
struct TimeBound {
  double us = 0;
  bool is_exact = true;
};

/// The time of predict() alone, sooner worked out, with that power. Where it is surely no less than `limit_us` a bound
/// may do, which is no less than that either. Of plans whose operands the accelerator does not fetch it is not known
/// what the power limit costs.
TimeBound predict_us(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes,
                     const DeviceSpec& device, std::int64_t products, Power power, double limit_us);

/// No more than predict_us() says with ample power, in a tenth of the time: all that is issued, at the full rate of all
/// SMs. Times least_power_factor() it is no more than with limited power, either.
double least_us(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, std::int64_t products = 1);

/// Registers and the occupancy that follows are the compiler's where they are known, else (registers_per_thread = 0)
/// plan.work.registers. The time is infinite where a block does not fit the device or the device lacks the unit that
/// the kernel uses, and 0 for an empty C. A program that cannot be one for a batch, see why_unbatched(), is launched
/// once for each of the products.
Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread,
                   std::int64_t products = 1);

/// How many times as long as by itself the plan's call is expected to take under the power limit, as in predict_us().
double power_factor(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device);

}  // namespace mmtune
