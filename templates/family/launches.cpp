#include "templates/family/launches.h"

#include <algorithm>

namespace mmtune {
namespace {

/// Whether the constants of both plans, and what the source gets of their main steps, are equal.
bool have_one_program(const LaunchPlan& x, const LaunchPlan& y) {
  const auto is_same = [](const Constant& one, const Constant& other) {
    return one.name == other.name && one.value == other.value && one.is_bool == other.is_bool;
  };
  return std::equal(x.constants.begin(), x.constants.end(), y.constants.begin(), y.constants.end(), is_same) &&
         main_step(x).block == main_step(y).block && main_step(x).smem_bytes == main_step(y).smem_bytes;
}

}  // namespace

std::vector<std::size_t> launch_parameters(const Family& family, const LaunchPlan& plan) {
  std::vector<std::size_t> positions;
  const auto params = family.params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name != kSplit && is_at_launch(plan, params[i].name)) positions.push_back(i);
  }
  return positions;
}

std::vector<Config> with_other_clusters(const Family& family, const Config& config, const Problem& problem,
                                        const DeviceSpec& device) {
  const LaunchPlan plan = family.plan(problem, config, device);
  std::vector<Config> all{config};
  for (const std::size_t position : launch_parameters(family, plan)) {
    const std::size_t known = all.size();
    for (const int value : family.params()[position].values) {
      Config other = config;
      other.set(position, value);
      if (other == config || family.plan(problem, other, device).work.group != plan.work.group) continue;
      for (std::size_t i = 0; i < known; ++i) {
        all.push_back(all[i]);
        all.back().set(position, value);
      }
    }
  }
  std::erase_if(all, [&](const Config& each) {
    const auto other = each == config ? std::nullopt : family.legal_plan(problem, each, device);
    return !other || !have_one_program(*other, plan);
  });
  return all;
}

}  // namespace mmtune
