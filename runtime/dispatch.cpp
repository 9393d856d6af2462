#include "runtime/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "templates/cost.h"
#include "templates/families.h"

namespace mmtune {

namespace {

constexpr double kClearlyWorse = 1.25;  // the model errs by less than this between two of our kernels
constexpr double kDepthWeight = 0.5;    // of k in the distance: it changes how long a tile takes, less which is best
constexpr double kUnusedWidthDistance = 0.5;  // of a kernel that moves half of the bytes at once it could
constexpr double kUnusedWidthTime = 0.1;      // by which such a kernel is slower, which the model does not see
constexpr int kWorkspaceShare = 16;           // an untuned size gets at most this part of the memory as workspace

Problem without_alignment(Problem problem) {
  problem.align = {};
  return problem;
}

/// The model needs a loop to time.
Problem with_depth(Problem problem) {
  problem.k = std::max<std::int64_t>(1, problem.k);
  return problem;
}

int halvings(int have, int used) {
  return std::max(0, std::countr_zero(static_cast<unsigned>(have)) - std::countr_zero(static_cast<unsigned>(used)));
}

/// How often the vectors of a kernel for `used` could be doubled with operands aligned to `have`.
int unused_width(const Alignment& have, const Alignment& used) {
  return halvings(have.a, used.a) + halvings(have.b, used.b) + halvings(have.c, used.c);
}

// Sizes of equal ratios are equally far apart.
double distance(const Problem& problem, const Problem& tuned) {
  const auto octaves = [](std::int64_t x, std::int64_t y) {
    return std::log2(static_cast<double>(x) / static_cast<double>(y));
  };
  const double m = octaves(problem.m, tuned.m);
  const double n = octaves(problem.n, tuned.n);
  const double k = octaves(problem.k, tuned.k);
  return std::sqrt(m * m + n * n + kDepthWeight * k * k) +
         kUnusedWidthDistance * unused_width(problem.align, tuned.align);
}

/// The problem as the entry's binary sees it, which was rendered for the alignment of the tuned one.
Problem rendered_for(const Entry& entry, Problem problem) {
  problem.align = entry.problem.align;
  return problem;
}

// One program for all sizes and alignments of a precision and layout.
Entry unstored_fallback(const Problem& problem) {
  Entry entry;
  entry.problem = packed_problem(problem.precision, problem.layout, 1, 1, 1);
  entry.family = &fallback_family();
  entry.config = entry.family->default_config(entry.problem);
  return entry;
}

}  // namespace

std::size_t ProblemHash::operator()(const Problem& problem) const {
  // One multiplication a value, by the odd constant nearest to 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4).
  std::uint64_t hash = 0;
  for (const std::int64_t value :
       {problem.m, problem.n, problem.k, std::int64_t{problem.align.a} << 10 | problem.align.b << 5 | problem.align.c,
        static_cast<std::int64_t>(problem.precision) << 2 | static_cast<std::int64_t>(problem.layout)}) {
    hash = (std::rotl(hash, 23) ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
  }
  return hash ^ (hash >> 32);
}

DispatchTable::DispatchTable(DeviceSpec device, StoredKernels kernels) : device_(std::move(device)) {
  for (Entry& fallback : kernels.fallbacks) groups_[group_index(fallback.problem)].fallback = std::move(fallback);
  for (Entry& winner : kernels.winners) add(std::move(winner));
  for (Group& each : groups_) {
    std::set<std::tuple<std::string, std::string, int, int, int>> known;
    for (const std::size_t i : each.tuned) {
      const Tuned& entry = entries_[i];
      const Alignment& align = entry.problem.align;
      const bool is_new = known.emplace(entry.binary_hash, entry.config.text(), align.a, align.b, align.c).second;
      if (is_new) each.kernels.push_back(i);
    }
  }
}

std::size_t DispatchTable::group_index(const Problem& problem) {
  return static_cast<std::size_t>(problem.precision) * kAllLayouts.size() + static_cast<std::size_t>(problem.layout);
}

void DispatchTable::add(Entry entry) {
  const LaunchPlan plan = plan_of(entry, entry.problem);
  const double model_us = predict(entry.problem, plan, device_, entry.registers).time_us;
  const std::size_t number = entries_.size();
  shapes_[without_alignment(entry.problem)].push_back(number);
  groups_[group_index(entry.problem)].tuned.push_back(number);
  entries_.push_back({std::move(entry), plan.needs, model_us});
}

LaunchPlan DispatchTable::plan_of(const Entry& entry, const Problem& problem) const {
  return entry.family->plan(rendered_for(entry, problem), entry.config, device_);
}

const DispatchTable::Tuned* DispatchTable::exact(const Problem& problem) const {
  const auto found = shapes_.find(without_alignment(problem));
  if (found == shapes_.end()) return nullptr;
  const Tuned* best = nullptr;
  for (const std::size_t i : found->second) {
    const Tuned& entry = entries_[i];
    if (!satisfies(problem.align, entry.needs)) continue;
    const auto rank = [&](const Tuned& tuned) {
      return std::tuple(unused_width(problem.align, tuned.problem.align), tuned.median_us);
    };
    if (best == nullptr || rank(entry) < rank(*best)) best = &entry;
  }
  return best;
}

std::vector<const DispatchTable::Tuned*> DispatchTable::by_distance(const Problem& problem) const {
  std::vector<std::pair<double, const Tuned*>> ranked;
  for (const std::size_t i : group(problem).tuned)
    ranked.emplace_back(distance(problem, entries_[i].problem), &entries_[i]);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<const Tuned*> entries;
  entries.reserve(ranked.size());
  for (const auto& [far, entry] : ranked) entries.push_back(entry);
  return entries;
}

std::optional<DispatchTable::Candidate> DispatchTable::candidate(const Tuned& entry, const Problem& problem) const {
  if (!satisfies(problem.align, entry.needs)) return std::nullopt;
  auto plan = entry.family->legal_plan(rendered_for(entry, problem), entry.config, device_);
  if (!plan) return std::nullopt;
  Candidate candidate{&entry, *std::move(plan), 0};
  if (candidate.plan.workspace.bytes() > device_.memory_bytes / kWorkspaceShare) return std::nullopt;
  candidate.model_us = predict(problem, candidate.plan, device_, entry.registers).time_us *
                       (1 + kUnusedWidthTime * unused_width(problem.align, entry.problem.align));
  return candidate;
}

std::optional<DispatchTable::Candidate> DispatchTable::nearest(const Problem& problem) const {
  for (const Tuned* entry : by_distance(problem)) {
    if (auto found = candidate(*entry, problem)) return found;
  }
  return std::nullopt;
}

std::optional<DispatchTable::Candidate> DispatchTable::fastest(const Problem& problem, double than_us) const {
  std::optional<Candidate> best;
  for (const std::size_t i : group(problem).kernels) {
    auto other = candidate(entries_[i], problem);
    if (other && other->model_us < (best ? best->model_us : than_us)) best = std::move(other);
  }
  return best;
}

Choice DispatchTable::make(Match match, Candidate candidate, const Problem& problem, std::string why) const {
  const Tuned& entry = *candidate.entry;
  Choice choice;
  choice.match = match;
  choice.family = entry.family;
  choice.config = entry.config;
  choice.align = entry.problem.align;
  choice.plan = problem.k > 0 ? std::move(candidate.plan) : plan_of(entry, problem);  // the model was asked for a depth
  choice.binary_hash = entry.binary_hash;
  // Other sizes: what was measured, scaled as the model says.
  const bool comparable = std::isfinite(entry.model_us) && entry.model_us > 0;
  choice.expected_us = match == Match::exact ? entry.median_us
                       : comparable          ? entry.median_us * candidate.model_us / entry.model_us
                                             : candidate.model_us;
  choice.measured = match == Match::exact && entry.measured;
  choice.why = std::move(why);
  return choice;
}

Choice DispatchTable::choose(const Problem& given) const {
  const Problem problem = with_depth(given);
  if (const Tuned* entry = exact(problem)) {
    return make(Match::exact, {entry, plan_of(*entry, problem), 0}, given,
                entry->measured ? "tuned for this size" : "chosen for this size by the model, not measured");
  }
  auto near = nearest(problem);
  if (!near) {
    return fallback(given, group(problem).tuned.empty()
                               ? fmt::format("nothing is tuned for {} {} on {}", to_string(problem.precision),
                                             to_string(problem.layout), device_.name)
                               : fmt::format("no tuned kernel can run {}", to_string(given)));
  }
  const std::string near_text = fmt::format("nearest tuned size is {}", to_string(near->entry->problem));
  auto best = fastest(problem, near->model_us / kClearlyWorse);
  if (!best) return make(Match::nearest, *std::move(near), given, near_text);
  std::string why = fmt::format("{}, but the model expects the kernel of {} to be {:.1f} times as fast", near_text,
                                to_string(best->entry->problem), near->model_us / best->model_us);
  return make(Match::predicted, *std::move(best), given, std::move(why));
}

Choice DispatchTable::fallback(const Problem& problem, std::string why) const {
  const auto& stored = group(problem).fallback;
  const Entry entry = stored ? *stored : unstored_fallback(problem);
  Choice choice;
  choice.family = entry.family;
  choice.config = entry.config;
  choice.align = entry.problem.align;
  choice.plan = plan_of(entry, problem);
  choice.binary_hash = entry.binary_hash;
  choice.expected_us = predict(with_depth(problem), choice.plan, device_, entry.registers).time_us;
  choice.why = std::move(why);
  return choice;
}

std::optional<Choice> DispatchTable::recompiled(const Problem& given) const {
  const Problem problem = with_depth(given);
  for (const Tuned* entry : by_distance(problem)) {
    Tuned adapted = *entry;
    adapted.problem.align = problem.align;
    adapted.needs = plan_of(adapted, adapted.problem).needs;
    auto found = candidate(adapted, problem);
    if (!found) continue;
    Choice choice = make(Match::nearest, *std::move(found), given,
                         fmt::format("configuration of the nearest tuned size {}, compiled for this alignment",
                                     to_string(entry->problem)));
    choice.binary_hash.clear();
    return choice;
  }
  return std::nullopt;
}

}  // namespace mmtune
