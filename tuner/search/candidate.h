// What a search proposes.
#pragma once

#include <string>

#include "templates/family.h"

namespace mmtune {

/// One configuration of one family, with the analytic model's opinion of it.
struct Candidate {
  const Family* family = nullptr;
  Config config;
  double predicted_us = 0;  ///< 0: not asked for
};

/// "simt BM=128 …": identifies a candidate within a problem.
std::string key_of(const Candidate& candidate);

}  // namespace mmtune
