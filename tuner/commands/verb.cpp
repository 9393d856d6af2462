#include "tuner/commands/verb.h"

#include <algorithm>
#include <utility>

namespace mmtune {

std::vector<Verb> verbs() {
  std::vector<Verb> all;
  for (const auto make : verb_makers()) all.push_back(make());
  std::stable_sort(all.begin(), all.end(), [](const Verb& x, const Verb& y) {
    return std::pair(x.group, x.name != kMainVerb) < std::pair(y.group, y.name != kMainVerb);
  });
  return all;
}

}  // namespace mmtune
