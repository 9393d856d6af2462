#include "tuner/report/shown_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace mmtune {
namespace {

double time_us(const ShownTrial& shown) {
  return shown.trial->outcome == Outcome::ok ? shown.trial->timing.median_us : std::numeric_limits<double>::infinity();
}

std::vector<ShownTrial> placed(const std::vector<Trial>& trials) {
  struct Search {
    std::int64_t count = 0;
    double best_us = std::numeric_limits<double>::infinity();
  };
  std::map<std::string, Search> searches;
  std::vector<ShownTrial> all;
  for (const Trial& trial : trials) {
    const TrialKey& key = trial.key;
    Search& search =
        searches[fmt::format("{}|{}|{}|{}|{}|{}", key.device.name, key.device.compute_capability, key.device.sm_count,
                             key.device.smem_per_block_optin, to_string(key.problem), to_string(key.evidence))];
    ShownTrial next{&trial, ++search.count, false};
    next.improves = time_us(next) < search.best_us;
    search.best_us = std::min(search.best_us, time_us(next));
    all.push_back(next);
  }
  return all;
}

std::vector<ShownTrial> chosen(std::vector<ShownTrial> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::map<std::string, std::vector<double>> times;
  const auto search_of = [](const ShownTrial& shown) {
    return shown.trial->key.device.name + '|' + to_string(shown.trial->key.problem);
  };
  for (const ShownTrial& each : all) times[search_of(each)].push_back(time_us(each));
  const double share = static_cast<double>(most) / static_cast<double>(all.size());
  std::map<std::string, double> limits_us;
  for (auto& [search, of_search] : times) {
    const auto fastest =
        of_search.begin() + static_cast<std::ptrdiff_t>(share / 2 * static_cast<double>(of_search.size()));
    std::nth_element(of_search.begin(), fastest, of_search.end());
    limits_us[search] = *fastest;
  }
  const auto step = static_cast<std::size_t>(2 / share) + 1;
  std::size_t others = 0;
  std::erase_if(all, [&](const ShownTrial& each) {
    const bool fast = time_us(each) < limits_us[search_of(each)];
    return !fast && !each.improves && others++ % step != 0;
  });
  return all;
}

}  // namespace

std::vector<ShownTrial> shown_trials(const std::vector<Trial>& trials, std::size_t most) {
  return chosen(placed(trials), most);
}

}  // namespace mmtune
