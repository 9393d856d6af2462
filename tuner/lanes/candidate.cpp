#include "tuner/lanes/candidate.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include "templates/family/families.h"

namespace mmtune {

LaunchShape launch_shape(const Candidate& candidate, const LaunchPlan& plan) {
  const LaunchStep& step = main_step(plan);
  return {candidate.family, block_threads(step), step.smem_bytes};
}

std::string key_of(const Candidate& candidate) {
  return fmt::format("{} {}", candidate.family->name(), candidate.config.text());
}

std::optional<Candidate> candidate_of(const TrialKey& key) {
  const Family* family = find_family(key.family);
  if (family == nullptr) return std::nullopt;
  try {
    return Candidate{family, family->with_defaults(Config::parse(key.config), key.problem)};
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace mmtune
