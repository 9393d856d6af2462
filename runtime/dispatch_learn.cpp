#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "runtime/dispatch.h"

namespace mmtune {

namespace {

constexpr std::size_t kMostSizes = 512;  // of a precision and layout, whose times are learnt
constexpr double kMostLoss = 2;          // a kernel that takes so much longer than the fastest teaches nothing

using Extents = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// What a kernel, rendered for an alignment, took.
struct Timed {
  const Entry* entry;
  std::uint32_t variant;
};

double best_us(const std::vector<Timed>& timed) {
  const auto is_faster = [](const Timed& x, const Timed& y) { return x.entry->median_us < y.entry->median_us; };
  return std::min_element(timed.begin(), timed.end(), is_faster)->entry->median_us;
}

}  // namespace

// From the tuned sizes and from others; of a great many sizes from as many as are spread evenly over them.
void DispatchTable::learn(const std::vector<Entry>& times, const Variants& variants) {
  std::array<std::map<Extents, std::vector<Timed>>, kGroups> sizes;
  const auto add = [&](const Entry& entry, std::uint32_t variant) {
    const Problem& problem = entry.problem;
    std::vector<Timed>& timed = sizes[group_index(problem)][{problem.m, problem.n, problem.k}];
    const auto is_known = [&](const Timed& other) { return other.variant == variant; };
    if (std::none_of(timed.begin(), timed.end(), is_known)) timed.push_back({&entry, variant});
  };
  for (const Tuned& entry : entries_) add(entry, entry.variant);
  for (const Entry& entry : times) {
    if (const auto found = variants.find(entry.kernel.get()); found != variants.end()) add(entry, found->second);
  }
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::size_t step = (sizes[group].size() + kMostSizes - 1) / kMostSizes;
    std::vector<KernelTime> learnt;
    std::size_t number = 0;
    for (const auto& [extents, timed] : sizes[group]) {
      if (number++ % step != 0) continue;
      const double best = best_us(timed);
      for (const auto& [entry, variant] : timed) {
        const Problem& size = entry->problem;
        const double model =
            model_us(variants_[variant], packed_problem(size.precision, size.layout, size.m, size.n, size.k));
        if (entry->median_us > kMostLoss * best || !std::isfinite(model) || !(model > 0)) continue;
        learnt.push_back({variants_[variant].number, size, entry->median_us, model});
      }
    }
    groups_[group].times = LearntTimes(learnt);
  }
}

}  // namespace mmtune
