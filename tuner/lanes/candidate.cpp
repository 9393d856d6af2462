#include "tuner/lanes/candidate.h"

#include <fmt/format.h>

namespace mmtune {

std::string key_of(const Candidate& candidate) {
  return fmt::format("{} {}", candidate.family->name(), candidate.config.text());
}

}  // namespace mmtune
