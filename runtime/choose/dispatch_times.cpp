#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "runtime/choose/dispatch.h"

namespace mmtune {

namespace {

constexpr std::size_t kMostSizes = 2048;  // the most sizes of a precision and layout whose times are used
constexpr double kMostLoss = 2;           // a kernel that takes so much longer than the fastest teaches nothing

using Extents = std::array<std::int64_t, 3>;

/// What a kernel, rendered for an alignment, took.
struct Timed {
  Extents extents;
  const Entry* entry;
  std::uint32_t variant;
};
using Times = std::vector<Timed>;

double best_us(const Times& times) {
  const auto is_faster = [](const Timed& x, const Timed& y) { return x.entry->median_us < y.entry->median_us; };
  return std::min_element(times.begin(), times.end(), is_faster)->entry->median_us;
}

/// The place where the next size begins in times that are sorted.
Times::const_iterator end_of_size(Times::const_iterator first, Times::const_iterator last) {
  return std::find_if_not(first, last, [&](const Timed& other) { return other.extents == first->extents; });
}

/// The fastest time of each variant that has several, with different values of SPLIT for example; of equal ones the
/// first.
Times fastest_of_each(Times::const_iterator first, Times::const_iterator last) {
  Times times;
  for (auto each = first; each != last; ++each) {
    const auto is_same = [&](const Timed& other) { return other.variant == each->variant; };
    const auto known = std::find_if(times.begin(), times.end(), is_same);
    if (known == times.end()) {
      times.push_back(*each);
    } else if (each->entry->median_us < known->entry->median_us) {
      *known = *each;
    }
  }
  return times;
}

/// The times of a number of sizes that are spread evenly over all; the times are sorted by size.
std::vector<Times> of_some_sizes(const Times& times) {
  std::size_t sizes = 0;
  for (auto at = times.begin(); at != times.end(); at = end_of_size(at, times.end())) ++sizes;
  const std::size_t step = (sizes + kMostSizes - 1) / kMostSizes;
  std::vector<Times> some;
  std::size_t number = 0;
  for (auto at = times.begin(); at != times.end();) {
    const auto end = end_of_size(at, times.end());
    if (number++ % step == 0) some.push_back(fastest_of_each(at, end));
    at = end;
  }
  return some;
}

}  // namespace

// Learns from the tuned sizes and from others; of a great many sizes from some.
void DispatchTable::add_times(const std::vector<Entry>& times, const Variants& variants) {
  std::array<Times, kGroups> timed;
  const auto add = [&](const Entry& entry, std::uint32_t variant) {
    const Problem& problem = entry.problem;
    timed[group_index(problem)].push_back({{problem.m, problem.n, problem.k}, &entry, variant});
  };
  for (const Tuned& entry : entries_) add(entry, entry.variant);
  for (const Entry& entry : times) {
    if (const auto found = variants.find(entry.kernel.get()); found != variants.end()) add(entry, found->second);
  }
  for (std::size_t group = 0; group < kGroups; ++group) {
    std::stable_sort(timed[group].begin(), timed[group].end(),
                     [](const Timed& x, const Timed& y) { return x.extents < y.extents; });
    std::vector<KernelTime> kept;
    for (const Times& of_size : of_some_sizes(timed[group])) {
      const double best = best_us(of_size);
      for (const auto& [extents, entry, variant] : of_size) {
        const double model = model_us(variants_[variant], *entry, entry->problem);
        if (entry->median_us > kMostLoss * best || !std::isfinite(model) || !(model > 0)) continue;
        kept.push_back({variants_[variant].number, entry->problem, entry->median_us, model});
      }
    }
    groups_[group].times = MeasuredTimes(kept);
  }
}

}  // namespace mmtune
