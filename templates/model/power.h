// What the power limit does to calls that follow each other: the clock falls, and some plans lose more by it than
// others. Times of single calls, and the model that is fitted to them, know nothing of it.
#pragma once

#include "templates/gpu/device_spec.h"
#include "templates/model/plan_cost.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// Whether calls that take so long meet the power limit when they follow each other: of tensor cores that have so much
/// to multiply that memory does not bound them. On CUDA cores all plans slow down alike: by 5 % in fp32 on an H100.
bool is_heavy(const Problem& problem, double call_us);

/// Whether calls are heavy for so long that it depends on the plan what the power limit costs.
bool has_power_factor(const Problem& problem, const DeviceSpec& device);

/// How much longer a plan takes under the power limit, for a problem that has_power_factor(), beside one of tiles of
/// 128x128 without clusters whose stores are not hidden. 1 of plans whose operands the accelerator does not fetch.
double power_factor(const PlanCost& cost, const DeviceSpec& device);

}  // namespace mmtune
