// What is proposed for a problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "db/trial.h"
#include "templates/family/family.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// One configuration of one family.
struct Candidate {
  const Family* family = nullptr;
  Config config;
};

/// Candidates by problem.
using CandidateLists = std::vector<std::vector<Candidate>>;

/// What candidates have in common that are launched alike, and so take about the same time and draw about the same
/// power: family, threads of a block and bytes of shared memory.
using LaunchShape = std::tuple<const Family*, std::int64_t, int>;

LaunchShape launch_shape(const Candidate& candidate, const LaunchPlan& plan);

/// "simt BM=128 …": identifies a candidate within a problem.
std::string key_of(const Candidate& candidate);

/// What a stored trial was of; nothing for a family or a value that this program lacks.
std::optional<Candidate> candidate_of(const TrialKey& key);

}  // namespace mmtune
