// What a worker says of the compiler that it found.
#pragma once

#include <string>
#include <vector>

#include "templates/base/fields.h"
#include "templates/base/rules.h"

namespace mmtune {

/// NVRTC, as a worker found it.
struct CompilerFacts {
  std::string version;         ///< "13.0"
  std::vector<int> supported;  ///< compute capabilities, ascending
  std::string headers;         ///< the hash of the device headers that it will compile with

  static constexpr void fields(auto&& visit) {
    visit("version", &CompilerFacts::version, rule::label);
    visit("supported", &CompilerFacts::supported);
    visit("headers", &CompilerFacts::headers);
  }
};
static_assert(kListsAllMembers<CompilerFacts>);

}  // namespace mmtune
