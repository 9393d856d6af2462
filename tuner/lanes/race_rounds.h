// The rounds of a race: which finalist runs when, and under which conditions. Like the race itself without a GPU or a
// clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "tuner/measure/conditions.h"
#include "tuner/race/race.h"

namespace mmtune {

/// One run of a finalist.
struct RaceSample {
  double time_us = 0;
  Reading reading;  ///< what the sensors said while it ran
};

/// Lets this finalist run once. Processes are to be counted where asked for, which takes time: once a round.
using RunFinalist = std::function<RaceSample(std::size_t finalist, bool count_processes)>;

struct RoundsRun {
  Race race;
  std::vector<Conditions> conditions;  ///< the conditions of each finalist's samples that counted
};

/// Rounds until the race is over, or until it has `elapsed` too long after a few rounds that counted. In each round
/// every finalist that still runs has one sample, in an order drawn anew, so that none has its place by habit. What
/// disturbs one of them disturbs the round: it is run again, as often as the race allows, and flagged from then on.
RoundsRun run_rounds(std::size_t finalists, const RunFinalist& run,
                     const std::function<std::chrono::nanoseconds()>& elapsed, const RaceRules& rules = {});

}  // namespace mmtune
