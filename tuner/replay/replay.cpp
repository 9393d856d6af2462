#include "tuner/replay/replay.h"

#include <deque>

namespace mmtune {

Replay replay(Strategy& strategy, const Recall& recall, double budget_s, std::size_t rounds_under_way) {
  Replay replay;
  ReplayStep now;
  Rounds rounds(strategy, rounds_under_way);
  std::deque<CandidateNumber> waiting;
  for (std::size_t index = 0;; ++index) {
    for (auto candidates = rounds.next(); !candidates.empty(); candidates = rounds.next()) {
      waiting.insert(waiting.end(), candidates.begin(), candidates.end());
    }
    const bool enough = now.seconds > budget_s && replay.best;
    if (waiting.empty() || enough) return replay;
    const CandidateNumber candidate = waiting.front();
    waiting.pop_front();
    const auto known = recall(candidate);
    if (!known) {
      ++replay.unknown;
      rounds.settle(index, std::nullopt);
      continue;
    }
    const auto [kind, time_us] = known->observation;
    now.seconds += known->seconds;
    if (kind == Observation::Kind::timed && (!replay.best || time_us < now.best_us)) {
      now.best_us = time_us;
      replay.best = candidate;
    }
    replay.steps.push_back(now);
    rounds.settle(index, known->observation);
  }
}

}  // namespace mmtune
