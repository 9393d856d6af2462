#include "tuner/decision.h"

#include <algorithm>
#include <utility>

#include "templates/hash.h"

namespace mmtune {

namespace {

constexpr std::size_t kFinalists = 6;
constexpr double kFinalMargin = 1.06;  // a screening time this close to the best may still win
constexpr double kTie = 1.005;         // closer than this in a race is a tie, and ties keep the incumbent

double time_us(const Finisher& finisher) { return finisher.trial.timing.median_us; }

/// As many of the first as may win and have their program stored.
std::vector<Contender> contenders(const std::vector<Finisher>& finishers, Store& store, const std::string& target) {
  std::vector<Contender> found;
  for (const Finisher& each : finishers) {
    if (found.size() == kFinalists || time_us(each) > kFinalMargin * time_us(finishers.front())) break;
    auto binary = store.find_compiled(each.trial.key.source_hash, target, true);
    if (!binary) break;
    found.push_back({each.attempt.candidate, std::move(*binary)});
  }
  return found;
}

}  // namespace

std::string search_hash(const SessionOptions& options, const std::vector<const Family*>& families,
                        const Preparation& preparation, const Problem& problem) {
  ContentHash hash;
  hash.add(options.strategy).add(options.effort).add(std::to_string(options.seed)).add(preparation.target().name);
  for (const Family* family : families) {
    hash.add(family->name()).add(preparation.source(*family, problem, family->default_config(problem)).hash);
    for (const ParamInfo& param : family->params()) {
      for (const int value : param.values) hash.add(std::to_string(value));
    }
  }
  for (const auto& [name, values] : options.only) {
    hash.add(name);
    for (const int value : values) hash.add(std::to_string(value));
  }
  return hash.hex();
}

void sort_by_time(std::vector<Finisher>& finishers) {
  std::stable_sort(finishers.begin(), finishers.end(),
                   [](const Finisher& x, const Finisher& y) { return time_us(x) < time_us(y); });
}

std::size_t race(std::vector<Finisher>& finishers, Lane& lane, Store& store, const std::string& target) {
  const std::vector<Contender> racing = contenders(finishers, store, target);
  if (racing.size() < 2) return 0;
  const std::vector<Timing> timings = lane.race(racing);
  std::vector<Trial> rows;
  for (std::size_t i = 0; i < timings.size(); ++i) {
    finishers[i].trial.timing = timings[i];
    rows.push_back(finishers[i].trial);
  }
  store.put(rows, {});

  const auto last = finishers.begin() + static_cast<std::ptrdiff_t>(timings.size());
  const auto fastest = std::min_element(finishers.begin(), last,
                                        [](const Finisher& x, const Finisher& y) { return time_us(x) < time_us(y); });
  const TrialKey& key = finishers.front().trial.key;
  const auto incumbent = store.find_winner(key.device, key.problem, key.evidence);
  const auto defended = std::find_if(finishers.begin(), last, [&](const Finisher& each) {
    return incumbent && each.trial.key.family == incumbent->trial.key.family &&
           each.trial.key.config == incumbent->trial.key.config && time_us(each) <= kTie * time_us(*fastest);
  });
  return static_cast<std::size_t>((defended == last ? fastest : defended) - finishers.begin());
}

}  // namespace mmtune
