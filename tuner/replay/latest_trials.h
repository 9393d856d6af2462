// The stored trials of one problem that count.
#pragma once

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "db/trial.h"

namespace mmtune {

/// The measured trials of one problem if there are any, else all; of several with the same key the latest,
/// by key. `key_of` gives an optional key; a trial without one is left out.
template <typename KeyOf>
auto latest_trials(std::vector<Trial> trials, const KeyOf& key_of) {
  const auto is_predicted = [](const Trial& trial) { return trial.key.evidence == Evidence::predicted; };
  if (!std::all_of(trials.begin(), trials.end(), is_predicted)) std::erase_if(trials, is_predicted);
  using Key = typename std::invoke_result_t<KeyOf, const Trial&>::value_type;
  std::map<Key, Trial> latest;
  for (Trial& trial : trials) {
    auto key = key_of(trial);
    if (!key) continue;
    const auto [known, is_new] = latest.try_emplace(std::move(*key), trial);
    if (!is_new && trial.created > known->second.created) known->second = std::move(trial);
  }
  return latest;
}

}  // namespace mmtune
