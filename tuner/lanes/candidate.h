// What is proposed for a problem.
#pragma once

#include <string>

#include "templates/family.h"

namespace mmtune {

/// One configuration of one family.
struct Candidate {
  const Family* family = nullptr;
  Config config;
};

/// "simt BM=128 …": identifies a candidate within a problem.
std::string key_of(const Candidate& candidate);

}  // namespace mmtune
