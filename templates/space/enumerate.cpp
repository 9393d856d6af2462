// Looking through a whole space: branch by branch, not configuration by configuration.
#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "templates/base/cores.h"
#include "templates/model/cost.h"
#include "templates/space/space.h"

namespace mmtune {

/// Configurations that rules, plan and prediction do not tell apart: they agree in all that was read of them.
struct SearchSpace::Branch {
  std::int64_t first = 0;  ///< the number of the configuration whose other parameters have their first values
  Reads reads;
  Rules rules;
  double predicted_us = 0;  ///< the time of what is worth trying
};

/// What the common limits and the model say of plans. Each plan is made once, however many values of parameters that
/// only rules look at go with it.
class SearchSpace::Outlooks {
 public:
  struct Outlook {
    std::string_view broken;  ///< the first common limit that is broken; empty: none
    double predicted_us = 0;
  };

  explicit Outlooks(const SearchSpace& space) : space_(space) {
    constexpr std::int64_t kMany = 1 << 16;
    known_.reserve(static_cast<std::size_t>(std::min(space.size(), kMany)));
  }

  /// Notes in `reads` all that any plan so far has read, in the order of discovery.
  const Outlook& of(std::span<const int> values, const std::vector<std::size_t>& digits, Reads& reads) {
    auto known = known_.find(key(digits));
    if (known == known_.end()) known = add(values, digits);
    for (const std::size_t position : read_) reads.note(position);
    return known->second;
  }

 private:
  using Map = std::unordered_map<std::int64_t, Outlook>;

  std::int64_t key(const std::vector<std::size_t>& digits) const {
    std::int64_t key = 0;
    for (const std::size_t i : read_) key += static_cast<std::int64_t>(digits[i]) * space_.strides_[i];
    return key;
  }

  Map::iterator add(std::span<const int> values, const std::vector<std::size_t>& digits) {
    Reads reads;
    const LaunchPlan plan = space_.family_.plan(space_.problem_, values, space_.device_, reads);
    // Keys made before a new one is known stand for its first value too: their plans did not read it.
    for (const std::size_t position : reads.order()) {
      if (std::find(read_.begin(), read_.end(), position) == read_.end()) read_.push_back(position);
    }
    Rules limits;
    check_common_limits(space_.problem_, plan, space_.device_, limits);
    Outlook outlook{limits.broken(), 0};
    if (limits.ok()) {
      outlook.predicted_us = predict(space_.problem_, plan, space_.device_, plan.work.registers).time_us;
    }
    return known_.emplace(key(digits), outlook).first;
  }

  const SearchSpace& space_;
  std::vector<std::size_t> read_;  ///< what the plans so far have read
  Map known_;
};

namespace {

constexpr std::size_t kFixed = 2;  // the parameters whose values make a part: enough of similar size for all cores

}  // namespace

std::size_t SearchSpace::parts() const {
  std::size_t parts = 1;
  for (std::size_t i = 0; i < std::min(kFixed, params_.size()); ++i) parts *= params_[i].values.size();
  return parts;
}

void SearchSpace::for_each_branch(std::size_t part, const std::function<void(const Branch&)>& visit) const {
  if (size() == 0) return;
  std::vector<std::size_t> digits(params_.size(), 0);
  std::vector<int> values;
  for (const Axis& param : params_) values.push_back(param.values.front());
  const std::size_t fixed = std::min(kFixed, params_.size());
  for (std::size_t i = 0; i < fixed; ++i) {
    digits[i] = part % params_[i].values.size();
    values[i] = params_[i].values[digits[i]];
    part /= params_[i].values.size();
  }
  Outlooks outlooks(*this);
  while (true) {
    Branch branch;
    for (std::size_t i = 0; i < fixed; ++i) branch.reads.note(i);
    branch.first = number(digits);
    branch.rules = family_.own_rules(problem_, values, device_, branch.reads);
    if (branch.rules.searched()) {
      const auto& outlook = outlooks.of(values, digits, branch.reads);
      branch.rules.must(outlook.broken.empty(), outlook.broken);
      branch.predicted_us = outlook.predicted_us;
    }
    visit(branch);
    // Count like an odometer, whose fastest wheel is what was read last. What was not read stands at its first value,
    // and the part's own parameters, which come first, stay where they are.
    auto order = branch.reads.order();
    for (; order.size() > fixed; order = order.first(order.size() - 1)) {
      const std::size_t wheel = order.back();
      digits[wheel] = (digits[wheel] + 1) % params_[wheel].values.size();
      values[wheel] = params_[wheel].values[digits[wheel]];
      if (digits[wheel] != 0) break;
    }
    if (order.size() <= fixed) return;
  }
}

std::vector<std::int64_t> SearchSpace::numbers(const Branch& branch) const {
  std::vector<std::int64_t> numbers{branch.first};
  for (std::size_t i = 0; i < params_.size(); ++i) {
    if (branch.reads.contains(i)) continue;
    const std::size_t count = numbers.size();
    for (std::size_t digit = 1; digit < params_[i].values.size(); ++digit) {
      for (std::size_t j = 0; j < count; ++j) {
        numbers.push_back(numbers[j] + static_cast<std::int64_t>(digit) * strides_[i]);
      }
    }
  }
  return numbers;
}

namespace {

/// Keeps the best of what is added, without keeping the rest for long.
class Best {
 public:
  explicit Best(std::size_t limit) : limit_(limit) {}

  bool may_add(double predicted_us) const { return predicted_us <= enough_us_; }

  void add(const RankedConfig& config) {
    kept_.push_back(config);
    if (kept_.size() / 2 > limit_) cut();
  }

  std::vector<RankedConfig> sorted() && {
    std::sort(kept_.begin(), kept_.end(), better);
    kept_.resize(std::min(kept_.size(), limit_));
    return std::move(kept_);
  }

 private:
  static bool better(const RankedConfig& x, const RankedConfig& y) {
    return std::tie(x.predicted_us, x.number) < std::tie(y.predicted_us, y.number);
  }

  void cut() {
    const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(limit_);
    std::nth_element(kept_.begin(), last, kept_.end(), better);
    enough_us_ = last->predicted_us;
    kept_.erase(last, kept_.end());
  }

  std::size_t limit_;
  double enough_us_ = std::numeric_limits<double>::infinity();
  std::vector<RankedConfig> kept_;
};

}  // namespace

std::vector<RankedConfig> SearchSpace::ranked(std::size_t limit) const {
  std::atomic<std::size_t> next = 0;
  const auto rank_parts = [&] {
    Best best(limit);
    for (std::size_t part = next++; part < parts(); part = next++) {
      for_each_branch(part, [&](const Branch& branch) {
        if (!branch.rules.searched() || !best.may_add(branch.predicted_us)) return;
        for (const std::int64_t number : numbers(branch)) best.add({number, branch.predicted_us});
      });
    }
    return std::move(best).sorted();
  };
  const std::size_t threads = std::min<std::size_t>(static_cast<std::size_t>(usable_cores()), parts());
  std::vector<std::future<std::vector<RankedConfig>>> futures;
  for (std::size_t i = 0; i < threads; ++i) futures.push_back(std::async(std::launch::async, rank_parts));
  Best best(limit);
  for (auto& future : futures) {
    for (const RankedConfig& config : future.get()) best.add(config);
  }
  return std::move(best).sorted();
}

std::vector<Config> SearchSpace::all() const {
  std::vector<Config> configs;
  std::vector<std::int64_t> found;
  for (std::size_t part = 0; part < parts(); ++part) {
    for_each_branch(part, [&](const Branch& branch) {
      if (!branch.rules.searched()) return;
      const auto more = numbers(branch);
      found.insert(found.end(), more.begin(), more.end());
    });
  }
  std::sort(found.begin(), found.end());
  configs.reserve(found.size());
  for (const std::int64_t number : found) configs.push_back(config(number));
  return configs;
}

SpaceCount SearchSpace::count() const {
  SpaceCount count;
  const auto add = [&](const Branch& branch) {
    std::int64_t alike = 1;
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (!branch.reads.contains(i)) alike *= static_cast<std::int64_t>(params_[i].values.size());
    }
    const Rules& rules = branch.rules;
    count.total += alike;
    if (rules.searched()) {
      count.searched += alike;
    } else {
      (rules.reason() == rules.broken() ? count.removed : count.not_worth)[rules.reason()] += alike;
    }
  };
  for (std::size_t part = 0; part < parts(); ++part) for_each_branch(part, add);
  return count;
}

}  // namespace mmtune
