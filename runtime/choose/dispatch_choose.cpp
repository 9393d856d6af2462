// The choice of the kernel that is expected to be the fastest, among those that can run a size.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/model/cost.h"
#include "templates/model/power.h"

namespace mmtune {

namespace {

constexpr double kWorthTrying = 1.5;  // A kernel that is expected to take so many times as long is no alternative.
constexpr double kSurer = 1.03;       // Another SPLIT than that of the nearest size must be faster by so much.
constexpr double kInPairs = 1.1;      // A kernel whose blocks may lie in pairs must be faster by so much.

}  // namespace

/// All kernels or, where there are many, those that did best around here.
std::vector<std::uint32_t> DispatchTable::rivals(const Problem& problem, const MeasuredTimes::Around& around,
                                                 std::uint32_t near) const {
  const Group& all = group(problem);
  if (all.variants.size() <= kMostWeighed) return all.variants;
  const auto variant_of = [&](std::uint32_t number) { return all.variants[number]; };
  std::vector<std::uint32_t> variants = around.promising(kMostWeighed - 1, [&](std::uint32_t number) {
    return variant_of(number) != near && satisfies(problem.align, variants_[variant_of(number)].needs);
  });
  std::transform(variants.begin(), variants.end(), variants.begin(), variant_of);
  variants.push_back(near);
  return variants;
}

/// The kernels for a size in the order of their cautious times. Most are never asked for, and of these a bound will do.
class DispatchTable::Weighing {
 public:
  /// `near`'s kernel is always among them. The table, the problem and `near` must outlive this.
  Weighing(const DispatchTable& table, const Problem& problem, const Tuned& near, Policy policy, std::int64_t products)
      : table_(table),
        problem_(problem),
        near_(near),
        policy_(policy),
        products_(products),
        group_(table.group(problem)),
        around_(group_.times.around(problem)),
        power_(power_of(problem, table.device_)),
        modelled_(group_.models.size()) {
    const std::vector<std::uint32_t> numbers =
        policy == Policy::nearest ? std::vector{near.variant} : table.rivals(problem, around_, near.variant);
    kernels_.reserve(numbers.size());
    const double least_factor = power_ == Power::limited ? least_power_factor(table.device_) : 1;
    for (const std::uint32_t number : numbers) {
      const Variant& variant = table.variants_[number];
      if (!satisfies(problem.align, variant.needs)) continue;
      if (variant.measured_as != variant.number && !group_.models[variant.model].fills_clusters(problem)) continue;
      const double least_us = least_factor * group_.models[variant.model].least_us(problem, table.device_, products);
      kernels_.push_back(weighed(number, {{least_us, false}, 0}));
    }
  }

  bool empty() const { return kernels_.empty(); }

  /// The best that is left. Asks the model about those that may be: first about the one with the least bound.
  Weighed take() {
    std::iter_swap(kernels_.begin(), std::min_element(kernels_.begin(), kernels_.end(), is_better));
    Weighed* best = nullptr;
    for (Weighed& each : kernels_) {
      const auto may_be_best = [&] { return best == nullptr || is_better(each, *best); };
      if (!may_be_best()) continue;
      if (each.is_bound) each = of(each.variant, best);
      if (!each.is_bound && may_be_best()) best = &each;
    }
    const Weighed taken = *best;
    *best = kernels_.back();
    kernels_.pop_back();
    return taken;
  }

  /// The kernel, whether or not it is left; or a bound of its times where it is surely worse than `best`.
  Weighed of(std::uint32_t number, const Weighed* best = nullptr) {
    Modelled& known = modelled_[table_.variants_[number].model];
    if (known.time.us > 0) return weighed(number, known);
    constexpr double kBeyond = 1 + 1e-9;  // A kernel as fast as the best may come before it.
    const bool has_limit = best != nullptr && number != near_.variant;
    const Modelled asked =
        modelled(number, has_limit ? kBeyond * best->cautious_us / weighed(number, {{1}, 0}).cautious_us
                                   : KernelModel::kNoLimit);
    if (asked.time.is_exact) known = asked;
    return weighed(number, asked);
  }

 private:
  /// What the model says of all products, and with which SPLIT.
  struct Modelled {
    TimeBound time;  ///< 0: not asked yet
    int parts = 0;
  };

  /// The kernel with the SPLIT that the model expects to be the fastest, where the launch says it. The time may be a
  /// bound where it is no less than `limit_us`.
  Modelled modelled(std::uint32_t number, double limit_us) const {
    const Variant& variant = table_.variants_[number];
    const KernelModel& model = group_.models[variant.model];
    const auto with = [&](int parts) {
      return Modelled{model.time_below(problem_, table_.device_, products_, parts, power_, limit_us), parts};
    };
    const bool is_near = number == near_.variant;
    const Tuned& entry = is_near ? near_ : table_.entries_[variant.first];
    const int own_parts = parts_of(variant, entry);
    if (!variant.split || policy_ == Policy::nearest) return with(own_parts);
    const auto& numbers = entry.kernel->family->params()[*variant.split].values;
    const auto [parts, time] = model.best_parts(problem_, numbers, table_.device_, products_, power_, limit_us);
    if (parts == 0) return with(own_parts);
    if (!is_near) return {time, parts};
    const Modelled own = with(own_parts);
    return own.time.us < kSurer * time.us ? own : Modelled{time, parts};
  }

  Weighed weighed(std::uint32_t number, const Modelled& modelled) const {
    const Variant& variant = table_.variants_[number];
    const double model = modelled.time.us / static_cast<double>(products_);
    const double expected = model * around_.factor(variant.measured_as);
    const KernelModel& kernel = group_.models[variant.model];
    const bool may_lie_in_pairs = kernel.may_lie_in_pairs(problem_, table_.device_, products_);
    const double caution = around_.caution(variant.number) * (may_lie_in_pairs ? kInPairs : 1);
    return {number, modelled.parts, expected, policy_ == Policy::model ? model : expected * caution,
            !modelled.time.is_exact};
  }

  static bool is_better(const Weighed& x, const Weighed& y) {
    return std::tuple(x.cautious_us, x.variant) < std::tuple(y.cautious_us, y.variant);
  }

  const DispatchTable& table_;
  const Problem& problem_;
  const Tuned& near_;
  Policy policy_;
  std::int64_t products_;
  const Group& group_;
  MeasuredTimes::Around around_;
  Power power_;  ///< Measured times, and so what is learnt of them, are of calls that found as much as they need.
  std::vector<Modelled> modelled_;  ///< the expected times of the models, one for each
  std::vector<Weighed> kernels_;    ///< the kernels that are left
};

Choice DispatchTable::choose(const Problem& given, Policy policy, std::int64_t products) const {
  const Problem problem = with_depth(given);
  if (auto found = exact(problem)) {
    if (products > 1) return best_of_all(Match::exact, *std::move(found), problem, given, policy, products);
    const Entry& entry = *found->entry;
    return make(Match::exact, *std::move(found), entry.median_us, given,
                entry.measured ? "tuned for this size" : "chosen for this size by the model, not measured");
  }
  if (auto near = nearest(problem))
    return best_of_all(Match::nearest, *std::move(near), problem, given, policy, products);
  return fallback(given, group(problem).sizes.empty()
                             ? fmt::format("nothing is tuned for {} {} on {}", to_string(problem.precision),
                                           to_string(problem.layout), device_.name)
                             : fmt::format("no tuned kernel can run {}", to_string(given)));
}

/// What its launch says otherwise than the entry's, as " with CLUSTER_M=4"; empty if nothing.
std::string DispatchTable::launched_with(const Runnable& runnable) {
  std::string text;
  const std::vector<Setting>& stored = runnable.entry->kernel->config.settings();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Setting& setting = runnable.config.settings()[i];
    if (setting == stored[i]) continue;
    text += fmt::format("{}{}={}", text.empty() ? " with " : " ", setting.name, setting.value);
  }
  return text;
}

/// `near` is the kernel of the nearest tuned size that can run, or of this size: `match` says so.
Choice DispatchTable::best_of_all(Match match, Runnable near, const Problem& problem, const Problem& given,
                                  Policy policy, std::int64_t products) const {
  const std::string near_text = match == Match::exact
                                    ? "tuned for this size"
                                    : fmt::format("nearest tuned size is {}", to_string(near.entry->problem));
  const std::string in_batch = products > 1 ? fmt::format(" for about {} products", products) : "";
  const Tuned& near_entry = *static_cast<const Tuned*>(near.entry);
  Weighing weighed(*this, problem, near_entry, policy, products);
  const Weighed of_near = weighed.of(near_entry.variant);
  for (Weighed each = weighed.take(); each.variant != near_entry.variant; each = weighed.take()) {
    auto rival = runnable(each, problem);
    if (!rival) continue;
    std::string why =
        fmt::format("{}, but by {} the kernel of {}{} is expected to be {:.2f} times as fast{}", near_text,
                    policy == Policy::model ? "the model" : "stored times", to_string(rival->entry->problem),
                    launched_with(*rival), of_near.cautious_us / each.cautious_us, in_batch);
    return make(Match::predicted, *std::move(rival), each.expected_us, given, std::move(why));
  }
  if (of_near.parts != parts_of(variants_[near_entry.variant], near_entry)) {
    if (auto other = runnable(of_near, problem)) {
      std::string why = fmt::format("{}, but the model expects its kernel to be faster with SPLIT={}{}", near_text,
                                    of_near.parts, in_batch);
      return make(Match::predicted, *std::move(other), of_near.expected_us, given, std::move(why));
    }
  }
  if (match == Match::nearest && widest_of(near_entry.variant, problem) != near_entry.variant) {
    if (auto wider = runnable(of_near, problem)) near = *std::move(wider);
  }
  Choice choice = make(match, std::move(near), of_near.expected_us, given, near_text);
  choice.measured = false;  // A batch was measured as single products, if at all.
  return choice;
}

std::vector<Choice> DispatchTable::alternatives(const Problem& given, std::size_t most) const {
  const Problem problem = with_depth(given);
  if (exact(problem)) return {};
  const auto near = nearest(problem);
  if (!near) return {};
  const Tuned& near_entry = *static_cast<const Tuned*>(near->entry);
  std::vector<Choice> others;
  std::optional<double> chosen_us;
  std::set<std::pair<const Entry*, std::string>> offered;  // A wider kernel may also stand for a narrower one.
  Weighing weighed(*this, problem, near_entry, Policy::measured, 1);
  while (others.size() < most && !weighed.empty()) {
    const Weighed each = weighed.take();
    if (chosen_us && each.expected_us > kWorthTrying * *chosen_us) continue;
    auto rival = runnable(each, problem);
    if (!rival || !offered.emplace(rival->entry, rival->config.text()).second) continue;
    const bool is_near = each.variant == near_entry.variant && rival->config == near->config;
    if (!chosen_us) {  // This is what choose() takes.
      chosen_us = each.expected_us;
      continue;
    }
    others.push_back(make(is_near ? Match::nearest : Match::predicted, *std::move(rival), each.expected_us, given, ""));
  }
  return others;
}

}  // namespace mmtune
