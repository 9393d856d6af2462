// What is proposed for a problem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/trial.h"
#include "templates/family/family.h"

namespace mmtune {

/// One configuration of one family.
struct Candidate {
  const Family* family = nullptr;
  Config config;
};

/// Candidates by problem.
using CandidateLists = std::vector<std::vector<Candidate>>;

/// "simt BM=128 …": identifies a candidate within a problem.
std::string key_of(const Candidate& candidate);

/// What a stored trial was of; nothing for a family or a value that this program lacks.
std::optional<Candidate> candidate_of(const TrialKey& key);

}  // namespace mmtune
