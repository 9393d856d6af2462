#include "tuner/commands/one_problem.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <optional>

#include "templates/family/families.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/selection.h"

namespace mmtune {
namespace {

std::optional<Candidate> stored_winner(const Options& options, const Problem& problem, const DeviceKey& device) {
  auto store = stored_results(options);
  if (!store) return std::nullopt;
  for (const Evidence evidence : {Evidence::measured, Evidence::predicted}) {
    const auto winner = store->find_winner({device, problem, evidence});
    if (auto candidate = winner ? candidate_of(winner->trial.key) : std::nullopt) return candidate;
  }
  return std::nullopt;
}

}  // namespace

Problem one_problem(const std::string& size, const Options& options) {
  const auto sizes = parse_sizes(size);
  if (sizes.size() != 1 || options.precisions.size() != 1 || options.layouts.size() != 1) {
    throw UsageError(fmt::format("--size '{}' with these --precision and --layout are {} problems; name one", size,
                                 sizes.size() * options.precisions.size() * options.layouts.size()));
  }
  Problem problem = packed_problem(options.precisions[0], options.layouts[0], sizes[0].m, sizes[0].n, sizes[0].k);
  problem.invariant = options.invariant;
  return problem;
}

Candidate one_candidate(const std::string& family, const std::string& config, const Problem& problem,
                        const DeviceChoice& device, const Options& options) {
  if (!family.empty()) {
    const Family& named = family_named(family);
    return {&named, named.complete(named.parse(config), problem, device.spec)};
  }
  if (const auto candidate = stored_winner(options, problem, key_of(device.spec))) return *candidate;
  throw UsageError(fmt::format("{}: {} has no winner for {}; run mmtune tune {}, or name --family", to_string(problem),
                               database_path(options), device.spec.name, tune_options(device, options, problem)));
}

}  // namespace mmtune
