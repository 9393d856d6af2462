// What measurements add to the analytic model where it errs alike from size to size: the mean of small networks that
// are fitted to them, and trees that are fitted to what these leave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "templates/model/plan_cost.h"
#include "templates/model/prediction.h"

namespace mmtune {

/// What networks and trees are told of a call: shapes of tiles and clusters, how often they fill the GPU, how rows lie
/// in lines of memory, whether operands are copied first and the problem's results are aligned, and the time that the
/// model expects, with eight of its `shares`, which are by Bottleneck: the others are hardly ever large. Extents,
/// numbers and times as logarithms to the base 2. A program that takes results to be less aligned than they are is
/// corrected as one that does not: no trial is of such.
inline constexpr std::size_t kCorrectionInputs = 42;
using CorrectionInputs = std::array<float, kCorrectionInputs>;
CorrectionInputs correction_inputs(const Problem& problem, const PlanCost& cost, const Prediction& analytic);

/// Whether the kernel fits the device, and the correction was fitted to such calls: products of 16 or 8 bits with
/// results of 16 on Hopper's tensor cores, whose operands the accelerator fetches, of rows along k in A, one product a
/// launch, from 48 rows and columns up to 4e11 operations, beyond which hardly a trial is. The trials are of bf16, fp16
/// and e4m3_bf16 on H200s, and of few operations on H100s; e5m2_bf16 is taken to be alike.
bool has_correction(const Problem& problem, const PlanCost& cost, std::int64_t products);

/// What trees say is a factor between this and its inverse: 1 in 10,000 calls would come below, and 4 in 1,000 of those
/// that were raced under the power limit.
inline constexpr double kLeastOfTrees = 0.95;

/// The factor by which such a call takes longer than the model expects, between these. Where it is sure to be at least
/// `limit`, that may be all that is said of it: a lower bound, and then not exact.
inline constexpr double kLeastCorrection = 0.85;
inline constexpr double kMostCorrection = 1.5;
struct Correction {
  double factor = 1;
  bool is_exact = true;
};
Correction correction(const CorrectionInputs& inputs, double limit = std::numeric_limits<double>::infinity());

/// The factor by which such a call takes longer under the power limit than power_factor() says: of other trees, which
/// were fitted to races of products of bf16, fp16 and e4m3_bf16 on H200s.
double power_correction(const CorrectionInputs& inputs);

}  // namespace mmtune
