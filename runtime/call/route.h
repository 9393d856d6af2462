// The ways in which a demand can be computed, in the order in which they are tried. Pure: no driver, no database.
#pragma once

#include <vector>

#include "runtime/call/demand.h"

namespace mmtune {

/// One way to compute a demand. What it leaves to further launches makes it slower, and more likely to be possible.
struct Route {
  Demand part;               ///< what one launch of the kernel computes: all that is demanded, or a part of it
  Fusion finish = {};        ///< what a second kernel does to the result; empty: there is none
  bool is_fallback = false;  ///< the kernel is the fallback, whatever is tuned

  friend bool operator==(const Route&, const Route&) = default;
};

/// What a demand is looked at for.
enum class Purpose {
  plan,     ///< It is asked what a call would run: nothing is loaded.
  run,      ///< The call runs now.
  prepare,  ///< The call will run later, as fast as possible.
};

/// The routes of a demand, the best first:
///
/// - one launch of the chosen kernel, rendered with all that is demanded;
/// - of a batch, the same for each product alone, and so for all that follow;
/// - with an epilogue, the chosen kernel for the plain product, and a second kernel that finishes;
/// - the fallback in the place of the chosen kernel.
///
/// Preparing is for programs of one launch, and so its routes have no second kernel; the fallback is rendered with the
/// epilogue instead. A plan loads nothing that could fail, so that its last route is the first for each product.
/// Scalars in device memory are loaded by the program alone, so that there the chosen kernel is all that a call can
/// run. So it is with an epilogue of an invariant product, since a result that is rounded before it is finished has
/// other bits.
std::vector<Route> routes_of(const Demand& demand, Purpose purpose);

}  // namespace mmtune
