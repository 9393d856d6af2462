// The rounds of a race: who runs when, and under which conditions. Like the race itself without a GPU or a clock.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tuner/measure/conditions.h"
#include "tuner/race/race.h"

namespace mmtune {

/// One run of a contender.
struct RaceSample {
  double time_us = 0;
  Reading reading;  ///< of the sensors while it ran
};

/// Lets this contender run once. Processes are to be counted where asked for, which takes time: once a round.
using RunContender = std::function<RaceSample(std::size_t contender, bool count_processes)>;

struct RoundsRun {
  Race race;
  std::vector<Conditions> conditions;  ///< of each contender's samples that counted
};

/// Rounds until the race is over, or until time is up after a few rounds that counted. In each round every contender
/// that still runs has one sample, in an order drawn anew, so that none has its place by habit. What disturbs one of
/// them disturbs the round: it is run again, as often as the race allows, and flagged from then on.
RoundsRun run_rounds(std::size_t contenders, const RunContender& run, const std::function<bool()>& time_is_up);

}  // namespace mmtune
