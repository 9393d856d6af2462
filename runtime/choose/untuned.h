// What to compile where nothing is tuned that could run a problem. Pure: no driver, no clock.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/choose/dispatch.h"

namespace mmtune {

/// Of the configurations that are proven on some GPU for the nearest problems, in this precision or one alike, what the
/// model expects to be the fastest, unless it clearly prefers its own pick of all families; nothing if no family can
/// run the problem. Has to be compiled. Takes as long as ranking all configurations: up to a second. For a batch of so
/// many products: what is expected to compute all the fastest, which takes twice as long for few rows.
std::optional<Choice> untuned_choice(const Problem& problem, const DeviceSpec& device, std::int64_t products = 1);

}  // namespace mmtune
