#include "tuner/tune/session_options.h"

#include <algorithm>
#include <iterator>

#include "templates/family/families.h"

namespace mmtune {

std::vector<const Family*> searched_families(const std::vector<std::string>& names) {
  std::vector<const Family*> searched;
  for (const std::string& name : names) {
    const Family* family = &family_named(name);
    if (std::find(searched.begin(), searched.end(), family) == searched.end()) searched.push_back(family);
  }
  if (names.empty()) {
    std::copy_if(families().begin(), families().end(), std::back_inserter(searched),
                 [](const Family* family) { return family->competes(); });
  }
  return searched;
}

std::int64_t configurations(const SessionOptions& options, const DeviceSpec& device, const Problem& problem) {
  std::int64_t total = 0;
  for (const Family* family : searched_families(options.families)) {
    total += SearchSpace(*family, problem, device, options.only).size();
  }
  return total;
}

std::string strategy_of(const SessionOptions& options, Evidence evidence) {
  if (!options.strategy.empty()) return options.strategy;
  return evidence == Evidence::predicted ? "ranked" : "guided";
}

}  // namespace mmtune
