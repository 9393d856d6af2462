// The model first, then measurements: a surrogate starts from the model's opinion, where there is one, learns from
// every measurement where that is wrong, and names the candidates from which most is to be gained. Half of every round
// may climb: what came close to the best has its neighbours tried, as far as they are expected to come close too. The
// last trials do nothing else, so that the best has no untried neighbour that may be better.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"

namespace mmtune {
namespace {

constexpr std::size_t kRanked = 100000;     // how far down the model's list candidates may come from
constexpr std::size_t kCandidates = 10000;  // the candidates of a larger space that are looked at first
constexpr double kFar = 2.5;                // what is expected to take so many times as long joins as a neighbour only
constexpr std::size_t kDrawn = 20000;       // the number that is drawn where no model says which
constexpr std::size_t kRounds = 16;  // a round is a sixteenth of all trials at most: what is learnt can still be used
constexpr std::size_t kLeastRound = 2;
constexpr std::size_t kFirstRound = 3;   // the first round is so many times as large; half of it may be proven
constexpr std::size_t kMostAtHand = 16;  // the most candidates at hand that a search begins with
constexpr double kAtHandReach = 0.15;    // the logarithm of time behind the fastest within which they must be expected
constexpr double kWinnerReach = 0.35;    // the same of what won elsewhere
constexpr std::size_t kNearest = 2;      // the number of these, won nearest to here, that come first
constexpr std::size_t kNearestLong = 3;  // the same in long calls
constexpr double kLongUs = 100;          // Calls of such a time meet the power limit, of which a search knows nothing.
constexpr std::size_t kClimbers = 4;     // the number of fastest candidates whose neighbours join in after a round
constexpr double kClose = 0.01;          // how close to the best, as logarithm of time, neighbours are tried
constexpr double kReach = 0.02;          // the logarithm of time within which such a neighbour must be expected
constexpr double kLastReach = 0.08;      // the same at the end of the search
constexpr std::size_t kLastPart = 6;     // the end is the last sixth of all trials
constexpr double kEarliestEnd = 0.35;    // the share of all trials after which the end may come early,
constexpr double kWorthwhile = 0.002;    // where no candidate promises so much: as a share of the best one's speed
constexpr double kSpaceShare = 0.05;     // the largest share of a small space that is tried
constexpr double kTrialUs = 65e3;        // the time of the GPU that a trial may take on average
constexpr double kCalls = 6;             // how often a trial calls the candidate
constexpr std::size_t kFewest = 20;      // the fewest trials in any case
constexpr double kLuck = 0.005;          // how much seeds differ about a candidate, as a logarithm of time
constexpr double kCuriosity = 2;         // standard deviations that a first trial may turn out faster
constexpr double kLeastDeviation = 1e-6;
constexpr CandidateNumber kElsewhere = -1;
constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kShortestUs = 1e-3;  // a floor, so that the time of an empty problem has a logarithm too

class Guided final : public Strategy {
 public:
  explicit Guided(const StrategySetup& setup) : space_(setup.space), random_(setup.seed) {
    const auto ranking = space_.ranked(kRanked);
    most_ = setup.is_thrifty ? most_trials(ranking, setup.most_trials) : static_cast<std::size_t>(setup.most_trials);
    last_part_ = most_ / kLastPart;
    earliest_end_ = setup.is_thrifty
                        ? std::max(kFewest, static_cast<std::size_t>(kEarliestEnd * static_cast<double>(most_)))
                        : most_;
    add_lessons(setup.lessons);
    round_ = std::min(std::max(most_ / kRounds, kLeastRound), setup.at_once);
    if (is_modelled(ranking)) {
      add_candidates(ranking);
    } else {
      draw_candidates();
    }
    const double shortest_us = ranking.empty() ? 0 : ranking.front().expected_us;
    // What won for another layout may be all that the rules leave of it here.
    const auto add_if_fast = [&](CandidateNumber candidate, std::vector<std::size_t>& some) {
      if (space_.describe(candidate).expected_us <= kProvenReach * shortest_us) some.push_back(add(candidate));
    };
    for (const CandidateNumber winner : setup.favourites) add_if_fast(winner, winners_);
    const std::size_t most_nearest = shortest_us >= kLongUs ? kNearestLong : kNearest;
    for (const CandidateNumber winner : setup.proven) {
      add_if_fast(winner, nearest_.size() < most_nearest ? nearest_ : winners_);
    }
    for (const CandidateNumber each : setup.at_hand) add_if_fast(each, at_hand_);
  }

  std::vector<CandidateNumber> propose() override {
    surrogate_.update();
    std::sort(measured_.begin(), measured_.end());
    const bool may_end = trials_ >= earliest_end_;
    if (may_end && trials_ + last_part_ < most_ && !promises(most_promising())) most_ = trials_ + last_part_;
    std::vector<CandidateNumber> proposals;
    const auto propose_one = [&](std::size_t chosen) {
      if (tried_[chosen] || trials_ == most_) return;
      tried_[chosen] = true;
      surrogate_.plan(chosen);
      proposals.push_back(candidates_[chosen]);
      ++trials_;
    };
    for (const std::size_t each : climb()) propose_one(each);
    if (trials_ + last_part_ >= most_) {
      for (const std::size_t each : left_around_best()) propose_one(each);
    }
    std::size_t wanted = round_;
    std::vector<std::size_t> winners;
    if (!std::exchange(started_, true)) {
      const double fastest = fastest_expected();
      const std::vector<std::size_t> at_hand = fastest_of(at_hand_, fastest + kAtHandReach, kMostAtHand);
      if (!at_hand.empty()) {  // A search of long calls may end with these.
        for (const std::size_t each : nearest_) propose_one(each);
      }
      for (const std::size_t each : at_hand) propose_one(each);
      wanted = at_hand.size() + kFirstRound * round_;
      winners = fastest_of(winners_, fastest + kWinnerReach, kFirstRound * round_ / 2);
      winners.insert(winners.begin(), nearest_.begin(), nearest_.end());  // What other sizes taught is no veto.
    }
    // By turns what won elsewhere, the nearest first, then what is expected to be fastest, and what promises most: a
    // round has fewer where the search may end.
    for (auto winner = winners.begin(); proposals.size() < wanted && trials_ < most_;) {
      if (winner != winners.end()) propose_one(*winner++);
      const std::size_t chosen = most_promising();
      if (chosen == candidates_.size() || (may_end && !promises(chosen))) break;
      propose_one(chosen);
    }
    return proposals;
  }

  void learn(CandidateNumber candidate, const Observation& observation) override {
    const auto known = indices_.find(candidate);
    if (known == indices_.end()) return;
    if (observation.kind == Observation::Kind::failed) {
      surrogate_.observe_failure(known->second);
      return;
    }
    const double log_time = log_of(observation.time_us);
    surrogate_.observe(known->second, log_time);
    if (observation.kind == Observation::Kind::timed) measured_.emplace_back(log_time, known->second);
  }

 private:
  static bool is_modelled(const std::vector<RankedCandidate>& ranking) {
    return !ranking.empty() && ranking.front().expected_us > 0;
  }

  static std::size_t most_trials(const std::vector<RankedCandidate>& ranking, int allowed) {
    const auto most = static_cast<double>(allowed);
    double limit = most;
    if (is_modelled(ranking)) limit = std::min(limit, most * kTrialUs / (kCalls * ranking.front().expected_us));
    if (ranking.size() < kRanked) {
      limit = std::min(limit, std::ceil(kSpaceShare * static_cast<double>(ranking.size())) - 1);
    }
    return std::min(static_cast<std::size_t>(most), std::max(kFewest, static_cast<std::size_t>(std::max(0.0, limit))));
  }

  /// Adds what was observed, but is no candidate of this space.
  void add_lessons(const std::vector<Lesson>& lessons) {
    for (const auto& [candidate, time_us] : lessons) {
      const std::size_t index = surrogate_.add(candidate.features, log_of(candidate.expected_us));
      surrogate_.plan(index);
      surrogate_.observe(index, log_of(time_us));
      candidates_.push_back(kElsewhere);
      tried_.push_back(true);
    }
  }

  /// Adds the candidate if it is new; its index.
  std::size_t add(CandidateNumber candidate) {
    const auto [known, is_new] = indices_.try_emplace(candidate, candidates_.size());
    if (!is_new) return known->second;
    std::normal_distribution<double> luck(0, kLuck);
    Description description = space_.describe(candidate);
    if (description.expected_us > 0) {
      surrogate_.add(std::move(description.features), log_of(description.expected_us) + luck(random_));
    } else {
      surrogate_.add_without_model(std::move(description.features), luck(random_));
    }
    candidates_.push_back(candidate);
    tried_.push_back(false);
    return known->second;
  }

  // A large space has many configurations that the model cannot tell apart: of these one is drawn, and the others can
  // join in as its neighbours.
  void add_candidates(const std::vector<RankedCandidate>& ranking) {
    const bool all = ranking.size() <= kCandidates;
    for (std::size_t rank = 0; rank < ranking.size() && candidates_.size() < kCandidates;) {
      std::size_t alike = 1;
      const double time = ranking[rank].expected_us;
      if (time > kFar * ranking.front().expected_us && candidates_.size() >= most_ * kRounds) break;
      while (!all && rank + alike < ranking.size() && ranking[rank + alike].expected_us == time) ++alike;
      add(ranking[rank + random_() % alike].number);
      rank += alike;
    }
  }

  void draw_candidates() {
    auto all = space_.ranked(std::numeric_limits<std::size_t>::max());
    std::shuffle(all.begin(), all.end(), random_);
    for (std::size_t i = 0; i < std::min(all.size(), kDrawn); ++i) add(all[i].number);
  }

  static double log_of(double time_us) { return std::log(std::max(kShortestUs, time_us)); }

  /// Neighbours of the best join the candidates, once. Returns those to try at once, half a round of them at most.
  std::vector<std::size_t> climb() {
    std::vector<std::size_t> promising;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      const auto [log_time, index] = measured_[i];
      const double best = measured_.front().first;
      const bool close = log_time < best + kClose;
      if (!close && i >= kClimbers) break;
      if (!climbed_.insert(index).second) continue;
      for (const CandidateNumber neighbour : space_.neighbours(candidates_[index])) {
        const std::size_t candidate = add(neighbour);
        if (close && surrogate_.expected(candidate) < best + kReach) promising.push_back(candidate);
      }
    }
    sort_by_expectation(promising.begin(), promising.end());
    promising.resize(std::min(promising.size(), round_ / 2));
    return promising;
  }

  /// The untried neighbours of the best, then those of the next best, while they are close: a round of them at most.
  std::vector<std::size_t> left_around_best() {
    std::vector<std::size_t> left;
    for (const auto& [log_time, index] : measured_) {
      const double best = measured_.front().first;
      if (log_time > best + kClose || left.size() >= round_) break;
      const auto first = static_cast<std::ptrdiff_t>(left.size());
      for (const CandidateNumber neighbour : space_.neighbours(candidates_[index])) {
        const std::size_t candidate = add(neighbour);
        if (!tried_[candidate] && surrogate_.expected(candidate) < best + kLastReach) left.push_back(candidate);
      }
      sort_by_expectation(left.begin() + first, left.end());
    }
    left.resize(std::min(left.size(), round_));
    return left;
  }

  /// The logarithm of time that the fastest of the space is expected to take.
  double fastest_expected() const {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i] != kElsewhere) best = std::min(best, surrogate_.expected(i));
    }
    return best;
  }

  /// At most so many of these candidates that are expected to take no more than that logarithm of time, the fastest
  /// first.
  std::vector<std::size_t> fastest_of(std::vector<std::size_t> some, double longest, std::size_t most) const {
    std::erase_if(some, [&](std::size_t each) { return surrogate_.expected(each) > longest; });
    sort_by_expectation(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    some.resize(std::min(some.size(), most));
    return some;
  }

  template <class Iterator>
  void sort_by_expectation(Iterator first, Iterator last) const {
    std::sort(first, last,
              [this](std::size_t a, std::size_t b) { return surrogate_.expected(a) < surrogate_.expected(b); });
  }

  std::size_t most_promising() const {
    std::size_t chosen = candidates_.size();
    double most = kNone;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (tried_[i]) continue;
      const double promise = promise_of(i);
      if (promise <= most) continue;
      most = promise;
      chosen = i;
    }
    return chosen;
  }

  /// Whether trying that candidate is expected to be worth it (an early end: V. Nguyen et al., Regret for Expected
  /// Improvement over the Best-Observed Value and Stopping Condition, ACML 2017).
  bool promises(std::size_t candidate) const {
    if (candidate == candidates_.size()) return false;
    return measured_.empty() || surrogate_.improvement(candidate, measured_.front().first) > kWorthwhile;
  }

  /// How much is expected of trying a candidate. At first that is how much it says about where the model errs, among
  /// those that may be fast (a confidence bound: N. Srinivas et al., Gaussian Process Optimization in the Bandit
  /// Setting, ICML 2010). Then it is by how much it is expected to improve on the best, and where that is nothing for
  /// all of them, how few standard deviations it lies behind the best.
  double promise_of(std::size_t candidate) const {
    const double deviation = surrogate_.deviation(candidate);
    if (measured_.empty()) return kCuriosity * deviation - surrogate_.expected(candidate);
    const double best = measured_.front().first;
    const double improvement = surrogate_.improvement(candidate, best);
    return improvement > 0 ? improvement
                           : (best - surrogate_.expected(candidate)) / std::max(kLeastDeviation, deviation);
  }

  const CandidateSpace& space_;
  std::mt19937_64 random_;
  std::size_t most_ = 0;          // the most trials
  std::size_t last_part_ = 0;     // the number of them that are the end
  std::size_t earliest_end_ = 0;  // the number of them before which the end does not come early
  std::size_t round_ = 0;
  std::size_t trials_ = 0;
  bool started_ = false;
  Surrogate surrogate_;
  std::vector<CandidateNumber> candidates_;  // the candidates by their indices in the surrogate
  std::vector<bool> tried_;
  std::unordered_map<CandidateNumber, std::size_t> indices_;  // the indices of the candidates of this space
  std::vector<std::size_t> at_hand_;                          // candidates that cost little, before anything else
  std::vector<std::size_t> nearest_, winners_;                // what won elsewhere, for the first round
  std::unordered_set<std::size_t> climbed_;                   // the candidates whose neighbours have joined
  std::vector<std::pair<double, std::size_t>> measured_;
};

}  // namespace

std::unique_ptr<Strategy> make_guided(const StrategySetup& setup) { return std::make_unique<Guided>(setup); }

}  // namespace mmtune
