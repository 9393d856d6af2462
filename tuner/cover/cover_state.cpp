#include "tuner/cover/cover_state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mmtune {
namespace {

constexpr std::array<std::pair<CoverState, std::string_view>, 3> kStoredSearches{{
    {CoverState::searched, "cover share"},
    {CoverState::covered, "cover"},
    {CoverState::measured, "covered"},
}};

}  // namespace

CoverState cover_state(std::string_view search) {
  const auto stored = std::find_if(kStoredSearches.begin(), kStoredSearches.end(),
                                   [&](const auto& each) { return each.second == search; });
  return stored == kStoredSearches.end() ? CoverState::open : stored->first;
}

std::string stored_search(CoverState state) {
  const auto stored = std::find_if(kStoredSearches.begin(), kStoredSearches.end(),
                                   [&](const auto& each) { return each.first == state; });
  return std::string(stored == kStoredSearches.end() ? "" : stored->second);
}

}  // namespace mmtune
