// What the power limit does to calls that follow each other: the clock of the SMs falls, that of memory does not, so
// that plans which wait for memory lose less than others. Times of single calls, and the model that is fitted to them,
// know nothing of it.
#pragma once

#include <array>

#include "templates/gpu/device_spec.h"
#include "templates/model/clocks.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// The power that calls find: as much as they need, or what the limit leaves them.
enum class Power { ample, limited };

/// Whether calls that take so long meet the power limit when they follow each other: of tensor cores that have so much
/// to multiply that memory does not bound them. On CUDA cores all plans slow down alike: by 5 % in fp32 on an H100.
bool is_heavy(const Problem& problem, double call_us);

/// The power that a problem's calls find when they follow each other: limited where they are heavy for so long that it
/// depends on the plan what the limit costs.
Power power_of(const Problem& problem, const DeviceSpec& device);

/// How many times as long as by itself a call takes under the limit, where the model expects these shares of its time,
/// by Bottleneck; power_correction() knows more of some.
double power_factor(const std::array<double, kBottlenecks>& shares, const DeviceSpec& device);

/// No more than that of any shares, corrected or not, nor than 1, which plans have whose operands the accelerator does
/// not fetch.
double least_power_factor(const DeviceSpec& device);

}  // namespace mmtune
