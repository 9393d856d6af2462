#include "runtime/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>

#include "templates/cost.h"
#include "templates/families.h"

namespace mmtune {

namespace {

constexpr double kClearlyWorse = 1.25;    // the model errs by less than this between two of our kernels
constexpr double kUnusedWidthTime = 0.1;  // by which a kernel that moves half of the bytes at once is slower
constexpr int kWorkspaceShare = 16;       // an untuned size gets at most this part of the memory as workspace
constexpr std::size_t kMostRivals = 3;    // kernels weighed where there are many: each takes a microsecond or two
constexpr int kNextSizes = 16;            // sizes among whose kernels these are

Problem without_alignment(Problem problem) {
  problem.align = {};
  return problem;
}

/// The model needs a loop to time.
Problem with_depth(Problem problem) {
  problem.k = std::max<std::int64_t>(1, problem.k);
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
  return {any, std::make_shared<const Kernel>(Kernel{&family, family.default_config(any), "", 0}), 0, false};
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
  std::array<std::vector<Problem>, kGroups> problems;
  std::array<std::vector<std::uint32_t>, kGroups> numbers;
  std::unordered_map<const Kernel*, std::uint32_t> variants;
  entries_.reserve(kernels.winners.size());
  shapes_.reserve(kernels.winners.size());
  for (Entry& winner : kernels.winners) {
    const auto number = static_cast<std::uint32_t>(entries_.size());
    const std::size_t group = group_index(winner.problem);
    problems[group].push_back(winner.problem);
    numbers[group].push_back(number);
    auto& shape = shapes_.emplace(without_alignment(winner.problem), number).first->second;
    entries_.push_back({std::move(winner), 0, std::exchange(shape, number)});
    add_variant(number, variants);
  }
  for (std::size_t i = 0; i < kGroups; ++i) groups_[i].sizes = NearestSizes(problems[i], numbers[i]);
}

/// `known` are the variants of kernels that came before.
void DispatchTable::add_variant(std::uint32_t number, std::unordered_map<const Kernel*, std::uint32_t>& known) {
  Tuned& entry = entries_[number];
  const auto is_same = [&](std::uint32_t variant) {
    const Tuned& other = entries_[variants_[variant].first];
    return other.problem.align == entry.problem.align && other.kernel->binary_hash == entry.kernel->binary_hash &&
           other.kernel->config == entry.kernel->config;
  };
  if (const auto found = known.find(entry.kernel.get()); found != known.end() && is_same(found->second)) {
    entry.variant = found->second;
    return;
  }
  std::vector<std::uint32_t>& variants = groups_[group_index(entry.problem)].variants;
  const auto same = std::find_if(variants.begin(), variants.end(), is_same);
  if (same != variants.end()) {
    entry.variant = *same;
  } else {
    entry.variant = static_cast<std::uint32_t>(variants_.size());
    variants_.push_back({number, plan_of(entry, entry.problem).needs});
    variants.push_back(entry.variant);
  }
  known[entry.kernel.get()] = entry.variant;
}

std::size_t DispatchTable::group_index(const Problem& problem) {
  return static_cast<std::size_t>(problem.precision) * kAllLayouts.size() + static_cast<std::size_t>(problem.layout);
}

LaunchPlan DispatchTable::plan_of(const Entry& entry, const Problem& problem) const {
  return entry.kernel->family->plan(rendered_for(entry, problem), entry.kernel->config, device_);
}

double DispatchTable::model_us(const Entry& entry) const {
  return predict(entry.problem, plan_of(entry, entry.problem), device_, entry.kernel->registers).time_us;
}

std::optional<DispatchTable::Candidate> DispatchTable::exact(const Problem& problem) const {
  const auto found = shapes_.find(without_alignment(problem));
  if (found == shapes_.end()) return std::nullopt;
  const Tuned* best = nullptr;
  const auto rank = [&](const Tuned& tuned) {
    return std::tuple(unused_width(problem.align, tuned.problem.align), tuned.median_us, &tuned);
  };
  for (std::uint32_t i = found->second;; i = entries_[i].next) {
    const Tuned& entry = entries_[i];
    if (satisfies(problem.align, needs(entry)) && (best == nullptr || rank(entry) < rank(*best))) best = &entry;
    if (entry.next == i) break;
  }
  if (best == nullptr) return std::nullopt;
  auto plan = best->kernel->family->legal_plan(rendered_for(*best, problem), best->kernel->config, device_);
  if (!plan) return std::nullopt;
  return Candidate{best, *std::move(plan), 0};
}

std::optional<DispatchTable::Candidate> DispatchTable::candidate(const Tuned& entry, const Problem& problem) const {
  return candidate(entry, needs(entry), problem);
}

std::optional<DispatchTable::Candidate> DispatchTable::candidate(const Entry& entry, const Alignment& needs,
                                                                 const Problem& problem) const {
  if (!satisfies(problem.align, needs)) return std::nullopt;
  auto plan = entry.kernel->family->legal_plan(rendered_for(entry, problem), entry.kernel->config, device_);
  if (!plan) return std::nullopt;
  Candidate candidate{&entry, *std::move(plan), 0};
  if (candidate.plan.workspace.bytes() > device_.memory_bytes / kWorkspaceShare) return std::nullopt;
  candidate.model_us = predict(problem, candidate.plan, device_, entry.kernel->registers).time_us *
                       (1 + kUnusedWidthTime * unused_width(problem.align, entry.problem.align));
  return candidate;
}

std::optional<DispatchTable::Candidate> DispatchTable::nearest(NearestSizes::Walk& walk, const Problem& problem) const {
  while (const auto number = walk.next()) {
    if (auto found = candidate(entries_[*number], problem)) return found;
  }
  return std::nullopt;
}

/// Entries of other kernels than the nearest one's, which the walk has passed.
std::vector<std::uint32_t> DispatchTable::rivals(NearestSizes::Walk& walk, const Problem& problem) const {
  const Group& all = group(problem);
  std::vector<std::uint32_t> entries;
  if (all.variants.size() <= kMostRivals + 1) {
    for (const std::uint32_t variant : all.variants) entries.push_back(variants_[variant].first);
    return entries;
  }
  for (int i = 0; i < kNextSizes && entries.size() < kMostRivals; ++i) {
    const auto number = walk.next();
    if (!number) break;
    const auto is_same = [&](std::uint32_t entry) { return entries_[entry].variant == entries_[*number].variant; };
    if (std::none_of(entries.begin(), entries.end(), is_same)) entries.push_back(*number);
  }
  return entries;
}

std::optional<DispatchTable::Candidate> DispatchTable::fastest(const std::vector<std::uint32_t>& entries,
                                                               const Problem& problem, double than_us) const {
  std::optional<Candidate> best;
  for (const std::uint32_t i : entries) {
    auto other = candidate(entries_[i], problem);
    if (other && other->model_us < (best ? best->model_us : than_us)) best = std::move(other);
  }
  return best;
}

Choice DispatchTable::make(Match match, Candidate candidate, double tuned_model_us, const Problem& problem,
                           std::string why) const {
  const Entry& entry = *candidate.entry;
  Choice choice;
  choice.match = match;
  choice.family = entry.kernel->family;
  choice.config = entry.kernel->config;
  choice.align = entry.problem.align;
  choice.plan = problem.k > 0 ? std::move(candidate.plan) : plan_of(entry, problem);  // the model was asked for a depth
  choice.binary_hash = entry.kernel->binary_hash;
  // Other sizes: what was measured, scaled as the model says.
  const bool comparable = std::isfinite(tuned_model_us) && tuned_model_us > 0;
  choice.expected_us = match == Match::exact ? entry.median_us
                       : comparable          ? entry.median_us * candidate.model_us / tuned_model_us
                                             : candidate.model_us;
  choice.measured = match == Match::exact && entry.measured;
  choice.why = std::move(why);
  return choice;
}

Choice DispatchTable::choose(const Problem& given) const {
  const Problem problem = with_depth(given);
  if (auto found = exact(problem)) {
    const bool measured = found->entry->measured;
    return make(Match::exact, *std::move(found), 0, given,
                measured ? "tuned for this size" : "chosen for this size by the model, not measured");
  }
  NearestSizes::Walk walk = group(problem).sizes.from(problem);
  auto near = nearest(walk, problem);
  if (!near) {
    return fallback(given, group(problem).sizes.empty()
                               ? fmt::format("nothing is tuned for {} {} on {}", to_string(problem.precision),
                                             to_string(problem.layout), device_.name)
                               : fmt::format("no tuned kernel can run {}", to_string(given)));
  }
  const std::string near_text = fmt::format("nearest tuned size is {}", to_string(near->entry->problem));
  auto best = fastest(rivals(walk, problem), problem, near->model_us / kClearlyWorse);
  if (!best) {
    const double tuned_us = model_us(*near->entry);
    return make(Match::nearest, *std::move(near), tuned_us, given, near_text);
  }
  std::string why = fmt::format("{}, but the model expects the kernel of {} to be {:.1f} times as fast", near_text,
                                to_string(best->entry->problem), near->model_us / best->model_us);
  const double tuned_us = model_us(*best->entry);
  return make(Match::predicted, *std::move(best), tuned_us, given, std::move(why));
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
    auto found = candidate(adapted, plan_of(adapted, adapted.problem).needs, problem);
    if (!found) continue;
    Choice choice = make(Match::nearest, *std::move(found), model_us(entry), given,
                         fmt::format("configuration of the nearest tuned size {}, compiled for this alignment",
                                     to_string(entry.problem)));
    choice.binary_hash.clear();
    return choice;
  }
  return std::nullopt;
}

}  // namespace mmtune
