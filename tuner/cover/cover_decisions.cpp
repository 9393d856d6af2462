#include "tuner/cover/cover_decisions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "runtime/base/template_files.h"
#include "runtime/choose/dispatch.h"
#include "tuner/cover/cover_state.h"
#include "tuner/cover/hold_out.h"

namespace mmtune {
namespace {

/// Adds up what sizes of a sample lose beside the fastest of all candidates.
class LossSum {
 public:
  /// Both must live as long.
  LossSum(const CoverOptions& options, const MeasuredKernels& measured) : options_(options), measured_(measured) {}

  /// Adds nothing for other sizes, and where no kernel serves the size.
  void add(std::size_t size, double time_us) {
    if (size >= options_.sample.size()) return;
    const double best_us = measured_.best_us(size);
    if (!std::isfinite(best_us) || !std::isfinite(time_us)) return;
    const double loss = time_us / best_us - 1;
    ++losses_.sizes;
    losses_.weights += options_.sample[size].weight;
    losses_.mean += options_.sample[size].weight * loss;
    losses_.worst = std::max(losses_.worst, loss);
  }

  Losses losses() const {
    Losses losses = losses_;
    if (losses.weights > 0) losses.mean /= losses.weights;
    return losses;
  }

 private:
  const CoverOptions& options_;
  const MeasuredKernels& measured_;
  Losses losses_;  ///< the losses; `mean` is their weighted sum
};

/// `sizes_of`: the number of sizes of the sample that each kernel serves.
std::vector<CoveringKernel> covering_kernels(const MeasuredKernels& measured,
                                             const std::map<std::size_t, std::size_t>& sizes_of) {
  std::vector<CoveringKernel> kernels;
  for (const auto& [kernel, sizes] : sizes_of) {
    const SampledKernel& each = measured.kernels()[kernel];
    kernels.push_back({std::string(each.candidate.family->name()), each.candidate.config.text(), each.precision,
                       each.layout, each.align, sizes});
  }
  const auto rank = [](const CoveringKernel& kernel) {
    const Alignment& align = kernel.align;
    return std::tie(kernel.precision, kernel.layout, align.a, align.b, align.c, kernel.family, kernel.config);
  };
  std::sort(kernels.begin(), kernels.end(),
            [&](const CoveringKernel& x, const CoveringKernel& y) { return rank(x) < rank(y); });
  return kernels;
}

}  // namespace

CoverDecisions decide(const CoverOptions& options, const MeasuredKernels& measured,
                      const std::set<std::size_t>& programs, const std::vector<Problem>& searched, Store& store) {
  std::map<std::size_t, std::size_t> sizes_of;
  LossSum sum(options, measured);
  std::vector<NewDecision> decided;
  const std::vector<Problem>& problems = measured.problems();
  for (std::size_t size = 0; size < problems.size(); ++size) {
    const auto& times = measured.times(size);
    const auto best = measured.fastest(size, programs);
    if (!best) continue;
    const MeasuredKernels::Time& time = times.at(*best);
    sum.add(size, time.us);
    sizes_of[*best] += size < options.sample.size() ? 1 : 0;
    const bool is_searched = std::find(searched.begin(), searched.end(), problems[size]) != searched.end();
    decided.push_back({time.key, stored_search(is_searched ? CoverState::covered : CoverState::measured),
                       static_cast<int>(times.size())});
  }
  store.put_winners(decided);
  return {covering_kernels(measured, sizes_of), sum.losses()};
}

Losses lost_held_out(const CoverOptions& options, const MeasuredKernels& measured, const DeviceSpec& device,
                     Store& store) {
  const std::vector<Problem>& problems = measured.problems();
  LossSum sum(options, measured);
  for (const HeldOut& each : hold_out(device, load_kernels(store, device, template_files()))) {
    sum.add(static_cast<std::size_t>(std::find(problems.begin(), problems.end(), each.problem) - problems.begin()),
            each.us);
  }
  return sum.losses();
}

}  // namespace mmtune
