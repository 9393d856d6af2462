#include "tuner/search/rounds.h"

namespace mmtune {
std::vector<CandidateNumber> Rounds::next() {
  for (;;) {
    if (may_propose_ && under_way_.size() < most_under_way_) {
      std::vector<CandidateNumber> candidates = strategy_.propose();
      if (!candidates.empty()) {
        begin(candidates);
        return candidates;
      }
      may_propose_ = false;
    }
    // One round only, whatever else is settled: the strategy is to know the same at every proposal.
    if (!learn_oldest()) return {};
  }
}

void Rounds::settle(std::size_t index, std::optional<Observation> observation) {
  index -= first_;
  auto round = under_way_.begin();
  for (; index >= round->entries.size(); ++round) index -= round->entries.size();
  round->entries[index].observation = observation;
  --round->open;
}

void Rounds::begin(const std::vector<CandidateNumber>& candidates) {
  Round& round = under_way_.emplace_back();
  round.open = candidates.size();
  for (const CandidateNumber each : candidates) round.entries.push_back({each, std::nullopt});
}

bool Rounds::learn_oldest() {
  if (under_way_.empty() || under_way_.front().open > 0) return false;
  for (const Entry& entry : under_way_.front().entries) {
    if (entry.observation) strategy_.learn(entry.candidate, *entry.observation);
  }
  first_ += under_way_.front().entries.size();
  under_way_.pop_front();
  may_propose_ = true;
  return true;
}

}  // namespace mmtune
