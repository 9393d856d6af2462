#include "templates/model/correction.h"

#include <algorithm>
#include <cmath>

#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

constexpr std::int64_t kLeastExtent = 48;  // the least of m and n, as in covers
constexpr double kMostFlops = 4e11;        // some 600 us of an H100 in 16 bits

/// A layer's weights, a row for each of its inputs, and its biases.
template <std::size_t Inputs, std::size_t Outputs>
struct Layer {
  std::array<std::array<float, Outputs>, Inputs> weights;
  std::array<float, Outputs> biases;

  std::array<float, Outputs> sums(const std::array<float, Inputs>& inputs) const {
    std::array<float, Outputs> sums = biases;
    for (std::size_t i = 0; i < Inputs; ++i) {
      if (inputs[i] == 0) continue;  // Half of them are.
      for (std::size_t o = 0; o < Outputs; ++o) sums[o] += inputs[i] * weights[i][o];
    }
    return sums;
  }
};

template <std::size_t N>
std::array<float, N> rectified(std::array<float, N> values) {
  for (float& value : values) value = std::max(value, 0.0f);
  return values;
}

/// A network whose result is the logarithm of the factor.
template <std::size_t FirstNodes, std::size_t SecondNodes>
struct Network {
  Layer<kCorrectionInputs, FirstNodes> first;
  Layer<FirstNodes, SecondNodes> second;
  Layer<SecondNodes, 1> third;

  float log_factor(const CorrectionInputs& inputs) const {
    return third.sums(rectified(second.sums(rectified(first.sums(inputs)))))[0];
  }
};

/// A tree all nodes of whose levels ask the same: whether that input is over that threshold. The answers, the first
/// level's first, are the binary digits of the leaf's number. Leaves are logarithms of a factor in kLeafUnit.
template <std::size_t Levels>
struct Tree {
  std::array<std::uint8_t, Levels> inputs;
  std::array<float, Levels> thresholds;
  std::array<std::int16_t, std::size_t{1} << Levels> leaves;

  int leaf(const CorrectionInputs& values) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < Levels; ++i) number = 2 * number + (values[inputs[i]] > thresholds[i] ? 1 : 0);
    return leaves[number];
  }
};

#include "templates/model/correction.inc"

/// The factor of the networks.
double of_networks(const CorrectionInputs& inputs) {
  double sum = 0;
  for (const auto& network : kNetworks) sum += static_cast<double>(network.log_factor(inputs));
  return std::exp(sum / static_cast<double>(kNetworks.size()));
}

template <class Trees>
double of_trees(const Trees& trees, const CorrectionInputs& inputs) {
  int sum = 0;
  for (const auto& tree : trees) sum += tree.leaf(inputs);
  return std::clamp(std::exp(static_cast<double>(kLeafUnit) * sum), kLeastOfTrees, 1 / kLeastOfTrees);
}

double bounded(double factor) { return std::clamp(factor, kLeastCorrection, kMostCorrection); }

}  // namespace

bool has_correction(const Problem& problem, const PlanCost& cost, std::int64_t products) {
  const PrecisionTraits& types = traits(problem.precision);
  const bool is_in_range = std::min(problem.m, problem.n) >= kLeastExtent && flops(problem) <= kMostFlops;
  return cost.blocks_per_sm > 0 && cost.fetch == Fetch::accelerator && multiplies_narrow_floats(types) &&
         types.c.bytes == 2 && is_in_range && products == 1 && !problem.invariant && !transposes_a(problem.layout);
}

CorrectionInputs correction_inputs(const Problem& problem, const PlanCost& cost, const Prediction& analytic) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto log = [](double x) { return std::log2(std::max(static_cast<float>(x), 1e-3f)); };
  const auto flag = [](bool x) { return x ? 1.0f : 0.0f; };
  const double tiles_m = tiles_along(problem.m, cost.tile_m), tiles_n = tiles_along(problem.n, cost.tile_n);
  const double rows = tiles_along(problem.m, cost.tile_m, cost.cluster_m) * cost.tile_m;
  const double columns = tiles_along(problem.n, cost.tile_n, cost.cluster_n) * cost.tile_n;
  const double consumers = cost.block_warps / 4 - 1;  // A warpgroup fetches.
  const int cluster = cost.cluster_m * cost.cluster_n;
  const int width = cost.turns_results ? cost.tile_m : cost.tile_n;  // the columns of an instruction
  const double full = std::ceil(analytic.waves);
  const auto share = [&](Bottleneck of) { return static_cast<float>(analytic.shares[static_cast<std::size_t>(of)]); };
  return {log(cost.tile_m),
          log(cost.tile_n),
          static_cast<float>(consumers),
          flag(consumers == 1),
          flag(cost.hides_stores),
          log(cost.cluster_m),
          log(cost.cluster_n),
          flag(cluster == 2),
          flag(cluster == 4 && cost.cluster_m != cost.cluster_n),
          flag(cost.turns_results),
          log(cost.split_k),
          flag(!cost.persistent),
          flag(cost.blocks_per_sm > 1),
          log(cost.group),
          log(analytic.waves),
          static_cast<float>(full / analytic.waves),
          log(full),
          log(tiles_m),
          log(tiles_n),
          log(tiles_along(problem.k, cost.tile_k)),
          log(analytic.analytic_us),
          log(static_cast<double>(row_alignment(stored_a(problem), types.a.bytes))),
          log(static_cast<double>(row_alignment(stored_b(problem), types.b.bytes))),
          log(static_cast<double>(row_alignment(stored_c(problem), types.c.bytes))),
          flag(transposes_b(problem.layout)),
          static_cast<float>(static_cast<double>(problem.m) / rows),
          static_cast<float>(static_cast<double>(problem.n) / columns),
          flag(cost.tile_m % 64 == 0),
          flag(width % 64 == 0),
          flag(width % 32 == 0),
          flag(width % 16 == 0),
          flag(types.a.bytes == 1),
          flag(cost.copies_first),
          flag(problem.align.c < kAlignments.back()),
          share(Bottleneck::arithmetic),
          share(Bottleneck::shared_memory),
          share(Bottleneck::l2),
          share(Bottleneck::memory),
          share(Bottleneck::latency),
          share(Bottleneck::edges),
          share(Bottleneck::exchange),
          share(Bottleneck::launch)};
}

Correction correction(const CorrectionInputs& inputs, double limit) {
  const double factor = of_networks(inputs);
  const double least = bounded(kLeastOfTrees * factor);
  if (least >= limit) return {least, false};
  return {bounded(of_trees(kTrees, inputs) * factor), true};
}

double power_correction(const CorrectionInputs& inputs) { return of_trees(kPowerTrees, inputs); }

}  // namespace mmtune
