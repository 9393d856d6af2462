// What else a program can be launched as, where the launch says a part of its configuration.
#pragma once

#include <cstddef>
#include <vector>

#include "templates/family/family.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// The places of a family's parameters besides SPLIT whose values come with the launch of this plan's program.
std::vector<std::size_t> launch_parameters(const Family& family, const LaunchPlan& plan);

/// The configurations that the same program can be launched as with other clusters, its tiles walked as in this one.
/// The problem is one that it runs.
std::vector<Config> with_other_clusters(const Family& family, const Config& config, const Problem& problem,
                                        const DeviceSpec& device);

}  // namespace mmtune
