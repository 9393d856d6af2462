// A few rounds of a strategy at a time: some compile while the oldest is measured.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "tuner/search/strategy.h"

namespace mmtune {

/// Hands out a strategy's candidates a few rounds ahead. The strategy learns a round as a whole and in the order of
/// its proposals, so that what it proposes does not depend on how long anything takes. For one thread.
class Rounds {
 public:
  /// While the oldest round waits for its slowest compilation, the others keep compilers busy.
  static constexpr std::size_t kUnderWay = 4;

  /// At most `most_under_way` rounds are under way; with 1 the strategy knows all of one before it proposes the next.
  explicit Rounds(Strategy& strategy, std::size_t most_under_way = kUnderWay)
      : strategy_(strategy), most_under_way_(most_under_way) {}

  /// The candidates to go on with, numbered in this order from 0 over all calls. None: enough are under way, or, if all
  /// that were handed out are settled, nothing is left.
  std::vector<CandidateNumber> next();

  /// What a candidate came to; nothing if that is not known. Once for each, by its place in the order of next(),
  /// whenever that is known.
  void settle(std::size_t index, std::optional<Observation> observation);

 private:
  struct Entry {
    CandidateNumber candidate;
    std::optional<Observation> observation;
  };
  struct Round {
    std::vector<Entry> entries;
    std::size_t open = 0;  ///< the number of candidates that are not settled yet
  };

  void begin(const std::vector<CandidateNumber>& candidates);
  /// False if it is not settled.
  bool learn_oldest();

  Strategy& strategy_;
  std::size_t most_under_way_;
  std::deque<Round> under_way_;
  std::size_t first_ = 0;    ///< the index of the first candidate under way
  bool may_propose_ = true;  ///< whether something was learnt since there was nothing to propose
};

}  // namespace mmtune
