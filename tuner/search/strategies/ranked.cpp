// A strategy that proposes in the order of the model, until a few candidates in a row are no better than the best. It
// is for times that are the model's own: only what a compiler says, registers and spills, is left to be learnt, which
// makes hardly any candidate faster than expected. So it ends where none is expected to be faster than the best.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostRanked = 10000;  // how far down the list candidates may come from
constexpr std::size_t kPatience = 20;       // the search ends when a twentieth of all trials in a row is no better
constexpr std::size_t kLeast = 2;           // the fewest such trials

class Ranked final : public Strategy {
 public:
  explicit Ranked(const StrategySetup& setup)
      : ranking_(setup.space.ranked(kMostRanked)),
        left_(static_cast<std::size_t>(setup.most_trials)),
        patience_(std::max(kLeast, left_ / kPatience)),
        is_predicted_(setup.is_predicted) {
    // Among the model's times they have their place in its order, and what wins does not depend on other sizes.
    if (!is_predicted_) favourites_ = setup.favourites;
  }

  std::vector<CandidateNumber> propose() override {
    std::vector<CandidateNumber> candidates;
    if (best_us_ > 0 && worse_ >= patience_) return candidates;
    for (const CandidateNumber favourite : std::exchange(favourites_, {})) add(favourite, candidates);
    // One at a time: few are under way when enough is known.
    while (candidates.empty() && left_ > 0 && rank_ < ranking_.size() && may_be_best(ranking_[rank_])) {
      // One stands for all that the model cannot tell apart.
      const double expected_us = ranking_[rank_].expected_us;
      add(ranking_[rank_].number, candidates);
      while (rank_ < ranking_.size() && ranking_[rank_].expected_us == expected_us) ++rank_;
    }
    return candidates;
  }

  void learn(CandidateNumber, const Observation& observation) override {
    const bool is_better =
        observation.kind == Observation::Kind::timed && (best_us_ == 0 || observation.time_us < best_us_);
    if (is_better) best_us_ = observation.time_us;
    worse_ = is_better ? 0 : worse_ + 1;
  }

 private:
  bool may_be_best(const RankedCandidate& next) const {
    return !is_predicted_ || best_us_ == 0 || next.expected_us < best_us_;
  }

  void add(CandidateNumber candidate, std::vector<CandidateNumber>& candidates) {
    if (left_ == 0 || !proposed_.insert(candidate).second) return;
    --left_;
    candidates.push_back(candidate);
  }

  std::vector<RankedCandidate> ranking_;
  std::size_t left_;      ///< the number of trials that are left
  std::size_t patience_;  ///< the number of trials in a row after which the search ends
  bool is_predicted_;
  std::size_t rank_ = 0;
  std::size_t worse_ = 0;  ///< the number of trials in a row that were no better than the best
  double best_us_ = 0;     ///< the shortest time; 0: none yet
  std::vector<CandidateNumber> favourites_;
  std::unordered_set<CandidateNumber> proposed_;
};

}  // namespace

std::unique_ptr<Strategy> make_ranked(const StrategySetup& setup) { return std::make_unique<Ranked>(setup); }

}  // namespace mmtune
