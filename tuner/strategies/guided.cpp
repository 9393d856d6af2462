// The model first, then measurements: a diverse choice of the model's favourites is timed, then the search climbs from
// the best points measured so far, one and two steps at a time, for as long as that pays.
#include <algorithm>
#include <set>
#include <utility>

#include "tuner/strategy.h"

namespace mmtune {
namespace {

constexpr std::size_t kRanked = 20000;  // how far down the model's list the first choice may reach
constexpr int kDistance = 3;            // parameters in which first choices differ from each other
constexpr std::size_t kClimbers = 4;    // points climbed from in one round
constexpr std::size_t kRound = 24;      // new points in one round
constexpr int kPatience = 2;            // rounds without a gain before giving up

int distance(const Point& x, const Point& y) {
  if (x.family != y.family) return kDistance;
  int different = 0;
  for (std::size_t i = 0; i < x.config.settings().size(); ++i) {
    different += x.config.settings()[i].value != y.config.settings()[i].value ? 1 : 0;
  }
  return different;
}

class Guided final : public Strategy {
 public:
  explicit Guided(const StrategySetup& setup) : spaces_(setup.spaces), effort_(setup.effort) {
    for (const Point& favourite : setup.favourites) {
      if (spaces_.contains(favourite)) add(favourite);
    }
    const auto enough = pending_.size() + static_cast<std::size_t>(effort_.first_trials);
    const Ranking ranking = spaces_.ranked(kRanked);
    for (std::size_t rank = 0; rank < ranking.size() && pending_.size() < enough; ++rank) {
      const Point point = ranking[rank];
      const auto close = [&point](const Point& chosen) { return distance(chosen, point) < kDistance; };
      if (std::none_of(pending_.begin(), pending_.end(), close)) add(point);
    }
  }

  std::vector<Point> propose() override {
    if (pending_.empty()) climb();
    return std::exchange(pending_, {});
  }

  void learn(const Point& point, const Trial& trial) override {
    if (trial.outcome == Outcome::ok) measured_.emplace_back(trial.timing.median_us, point);
  }

 private:
  void add(const Point& point) {
    if (static_cast<int>(seen_.size()) < effort_.most_trials && seen_.insert(key_of(point)).second) {
      pending_.push_back(point);
    }
  }

  /// Fills pending_ with unseen points around the best ones.
  void climb() {
    const auto faster = [](const auto& x, const auto& y) { return x.first < y.first; };
    std::stable_sort(measured_.begin(), measured_.end(), faster);
    if (measured_.empty()) return;
    idle_rounds_ = measured_.front().first < best_us_ * 0.998 ? 0 : idle_rounds_ + 1;
    best_us_ = std::min(best_us_, measured_.front().first);
    if (idle_rounds_ > kPatience) return;

    std::vector<Point> near;
    std::vector<Point> far;
    for (std::size_t i = 0; i < std::min(kClimbers, measured_.size()); ++i) {
      for (Point& one_step : spaces_.neighbours(measured_[i].second)) {
        std::vector<Point> two_steps = spaces_.neighbours(one_step);
        std::sort(two_steps.begin(), two_steps.end(), by_prediction);
        two_steps.resize(std::min<std::size_t>(two_steps.size(), 2));
        near.push_back(std::move(one_step));
        std::move(two_steps.begin(), two_steps.end(), std::back_inserter(far));
      }
    }
    add_best(near, kRound);
    if (pending_.size() < kRound) add_best(far, kRound - pending_.size());
  }

  void add_best(std::vector<Point>& points, std::size_t count) {
    std::stable_sort(points.begin(), points.end(), by_prediction);
    const std::size_t before = pending_.size();
    for (const Point& point : points) {
      if (pending_.size() - before >= count) break;
      add(point);
    }
  }

  static bool by_prediction(const Point& x, const Point& y) { return x.predicted_us < y.predicted_us; }

  const Spaces& spaces_;
  Effort effort_;
  std::set<std::string> seen_;
  std::vector<Point> pending_;
  std::vector<std::pair<double, Point>> measured_;
  double best_us_ = 1e300;
  int idle_rounds_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_guided(const StrategySetup& setup) { return std::make_unique<Guided>(setup); }

}  // namespace mmtune
