// How far a cover is with a size, as its decision says.
#pragma once

#include <string>
#include <string_view>

namespace mmtune {

enum class CoverState {
  open,      ///< No cover decided it.
  searched,  ///< A share of a cover has searched it, for a run on the merged databases to go on with.
  covered,   ///< It was searched, and a cover has chosen its kernel.
  measured,  ///< A cover has chosen its kernel from those that were measured there, without a search.
};

/// The state that a stored decision with this `search` says.
CoverState cover_state(std::string_view search);

/// What a decision stores as its search; for a state that is not open. Never changed: databases hold these texts.
std::string stored_search(CoverState state);

}  // namespace mmtune
