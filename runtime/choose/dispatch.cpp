#include "runtime/choose/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>

#include "templates/family/families.h"
#include "templates/model/cost.h"

namespace mmtune {

namespace {

constexpr int kWorkspaceShare = 16;  // An untuned size gets at most this part of the memory as workspace.

Problem without_alignment(Problem problem) {
  problem.align = {};
  return problem;
}

/// The problem as the entry's binary sees it, which was rendered for the alignment of the tuned one.
Problem rendered_for(const Entry& entry, Problem problem) {
  problem.align = entry.problem.align;
  return problem;
}

// One program for all sizes and alignments of a precision and layout.
Entry unstored_fallback(const Problem& problem) {
  const Problem any = packed_problem(problem.precision, problem.layout, 1, 1, 1);
  const Family& family = fallback_family();
  return {any, std::make_shared<const StoredKernel>(StoredKernel{&family, family.default_config(any), "", 0}), 0,
          false};
}

}  // namespace

std::size_t ProblemHash::operator()(const Problem& problem) const {
  // One multiplication a value, by the odd constant nearest to 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4).
  std::uint64_t hash = 0;
  for (const std::int64_t value :
       {problem.m, problem.n, problem.k, std::int64_t{problem.align.a} << 10 | problem.align.b << 5 | problem.align.c,
        static_cast<std::int64_t>(problem.precision) << 3 | static_cast<std::int64_t>(problem.layout) << 1 |
            static_cast<std::int64_t>(problem.invariant)}) {
    hash = (std::rotl(hash, 23) ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
  }
  return hash ^ (hash >> 32);
}

DispatchTable::DispatchTable(DeviceSpec device, StoredKernels kernels) : device_(std::move(device)) {
  for (Entry& fallback : kernels.fallbacks) {
    Problem invariant = fallback.problem;
    invariant.invariant = true;
    groups_[group_index(invariant)].fallback = fallback;
    groups_[group_index(fallback.problem)].fallback = std::move(fallback);
  }
  std::array<std::vector<Problem>, kGroups> problems;
  std::array<std::vector<std::uint32_t>, kGroups> numbers;
  std::unordered_map<const StoredKernel*, std::uint32_t> variants;
  entries_.reserve(kernels.winners.size());
  buckets_.assign(std::max<std::size_t>(1, kernels.winners.size()), kNone);
  for (Entry& winner : kernels.winners) {
    const auto number = static_cast<std::uint32_t>(entries_.size());
    const std::size_t group = group_index(winner.problem);
    problems[group].push_back(winner.problem);
    numbers[group].push_back(number);
    std::uint32_t& first = buckets_[bucket_of(without_alignment(winner.problem))];
    entries_.push_back({std::move(winner), 0, std::exchange(first, number)});
    add_variant(number, variants);
  }
  for (std::size_t i = 0; i < kGroups; ++i) groups_[i].sizes = NearestSizes(problems[i], numbers[i]);
  for (Group& group : groups_) add_other_clusters(group);
  add_times(kernels.times, variants);
}

std::size_t DispatchTable::group_index(const Problem& problem) {
  const std::size_t kind =
      static_cast<std::size_t>(problem.precision) * kAllLayouts.size() + static_cast<std::size_t>(problem.layout);
  return 2 * kind + static_cast<std::size_t>(problem.invariant);
}

LaunchPlan DispatchTable::plan_of(const Entry& entry, const Problem& problem) const {
  return entry.kernel->family->plan(rendered_for(entry, problem), entry.kernel->config, device_);
}

/// The model's time of the entry's kernel, with the entry's number of parts.
double DispatchTable::model_us(const Variant& variant, const Entry& entry, const Problem& problem) const {
  return group(problem).models[variant.model].time_us(problem, device_, 1, parts_of(variant, entry));
}

/// The value of SPLIT where it comes with the launch, else 0.
int DispatchTable::parts_of(const Variant& variant, const Entry& entry) {
  return variant.split ? entry.kernel->config.settings()[*variant.split].value : 0;
}

std::optional<DispatchTable::Runnable> DispatchTable::exact(const Problem& problem) const {
  const Problem shape = without_alignment(problem);
  const Tuned* best = nullptr;
  const auto rank = [&](const Tuned& tuned) {
    return std::tuple(unused_width(problem.align, tuned.problem.align), tuned.median_us, &tuned);
  };
  for (std::uint32_t i = buckets_[bucket_of(shape)]; i != kNone; i = entries_[i].next) {
    const Tuned& entry = entries_[i];
    if (without_alignment(entry.problem) != shape || !satisfies(problem.align, needs(entry))) continue;
    if (best == nullptr || rank(entry) < rank(*best)) best = &entry;
  }
  if (best == nullptr) return std::nullopt;
  auto plan = best->kernel->family->legal_plan(rendered_for(*best, problem), best->kernel->config, device_);
  if (!plan) return std::nullopt;
  return Runnable{best, best->kernel->config, *std::move(plan)};
}

std::optional<DispatchTable::Runnable> DispatchTable::runnable(const Tuned& entry, const Problem& problem) const {
  return runnable(entry, entry.kernel->config, needs(entry), problem);
}

/// What was rendered for wider loads and stores is never slower, whatever the times of other sizes say.
std::uint32_t DispatchTable::widest_of(std::uint32_t number, const Problem& problem) const {
  const auto unused = [&](std::uint32_t variant) {
    return unused_width(problem.align, entries_[variants_[variant].first].problem.align);
  };
  std::uint32_t widest = number;
  for (const std::uint32_t wider : variants_[number].wider) {
    if (satisfies(problem.align, variants_[wider].needs) && unused(wider) < unused(widest)) widest = wider;
  }
  return widest;
}

std::optional<DispatchTable::Runnable> DispatchTable::runnable(const Weighed& weighed, const Problem& problem) const {
  const auto as = [&](std::uint32_t number) {
    const Variant& variant = variants_[number];
    const Tuned& entry = entries_[variant.first];
    Config config = variant.config;
    if (variant.split) config.set(*variant.split, weighed.parts);
    return runnable(entry, config, variant.needs, problem);
  };
  const std::uint32_t widest = widest_of(weighed.variant, problem);
  auto found = as(widest);
  return found || widest == weighed.variant ? found : as(weighed.variant);
}

std::optional<DispatchTable::Runnable> DispatchTable::runnable(const Entry& entry, const Config& config,
                                                               const Alignment& needs, const Problem& problem) const {
  if (!satisfies(problem.align, needs)) return std::nullopt;
  auto plan = entry.kernel->family->legal_plan(rendered_for(entry, problem), config, device_);
  if (!plan) return std::nullopt;
  if (plan->workspace.bytes() > device_.memory_bytes / kWorkspaceShare) return std::nullopt;
  return Runnable{&entry, config, *std::move(plan)};
}

std::optional<DispatchTable::Runnable> DispatchTable::nearest(const Problem& problem) const {
  const NearestSizes& sizes = group(problem).sizes;
  const auto first = sizes.nearest(problem);
  if (!first) return std::nullopt;
  if (auto found = runnable(entries_[*first], problem)) return found;
  NearestSizes::Walk walk = sizes.from(problem);
  while (const auto number = walk.next()) {
    if (auto found = runnable(entries_[*number], problem)) return found;
  }
  return std::nullopt;
}

Choice DispatchTable::make(Match match, Runnable runnable, double expected_us, const Problem& problem,
                           std::string why) const {
  const Entry& entry = *runnable.entry;
  Choice choice;
  choice.match = match;
  choice.family = entry.kernel->family;
  choice.align = entry.problem.align;
  choice.plan = problem.k > 0 ? std::move(runnable.plan)  // The model was asked for a depth.
                              : choice.family->plan(rendered_for(entry, problem), runnable.config, device_);
  choice.config = std::move(runnable.config);
  choice.binary_hash = entry.kernel->binary_hash;
  choice.expected_us = expected_us;
  choice.measured = match == Match::exact && entry.measured;
  choice.cublas_ratio = match == Match::exact ? entry.cublas_ratio : 0;
  choice.why = std::move(why);
  return choice;
}

Choice DispatchTable::fallback(const Problem& problem, std::string why) const {
  const auto& stored = group(problem).fallback;
  const Entry entry = stored ? *stored : unstored_fallback(problem);
  Choice choice;
  choice.family = entry.kernel->family;
  choice.config = entry.kernel->config;
  choice.align = entry.problem.align;
  choice.plan = plan_of(entry, problem);
  choice.binary_hash = entry.kernel->binary_hash;
  choice.expected_us = predict(with_depth(problem), choice.plan, device_, entry.kernel->registers).time_us;
  choice.why = std::move(why);
  return choice;
}

std::optional<Choice> DispatchTable::recompiled(const Problem& given) const {
  const Problem problem = with_depth(given);
  NearestSizes::Walk walk = group(problem).sizes.from(problem);
  while (const auto number = walk.next()) {
    const Entry& entry = entries_[*number];
    Entry adapted = entry;
    adapted.problem.align = problem.align;
    auto found = runnable(adapted, adapted.kernel->config, plan_of(adapted, adapted.problem).needs, problem);
    if (!found) continue;
    // What was measured, scaled as the model says.
    const Variant& variant = variants_[entries_[*number].variant];
    const double scale = model_us(variant, entry, problem) / model_us(variant, entry, entry.problem);
    const double expected_us = std::isfinite(scale) ? entry.median_us * scale : entry.median_us;
    Choice choice = make(Match::nearest, *std::move(found), expected_us, given,
                         fmt::format("configuration of the nearest tuned size {}, compiled for this alignment",
                                     to_string(entry.problem)));
    choice.binary_hash.clear();
    return choice;
  }
  return std::nullopt;
}

}  // namespace mmtune
