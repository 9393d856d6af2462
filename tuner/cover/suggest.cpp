#include "tuner/cover/suggest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/choose/nearest.h"
#include "tuner/cover/hold_out.h"

namespace mmtune {

namespace {

constexpr double kLossOfFallback = 2;  // the loss of a size that the fallback serves
constexpr double kLeastLoss = 0.02;    // the loss of a size that is as far away as the others are from each other
constexpr double kUnknownLoss = 0.25;  // the loss where nothing was held out
constexpr double kMostScale = 3;       // the largest factor of a loss, for sizes that are farther away from all others
constexpr double kSoftening = 0.01;

double squared_distance(const Octaves& x, const Octaves& y) {
  double sum = 0;
  for (std::size_t axis = 0; axis < x.size(); ++axis) sum += (x[axis] - y[axis]) * (x[axis] - y[axis]);
  return sum;
}

bool are_alike(const Problem& x, const Problem& y) {
  return x.precision == y.precision && x.layout == y.layout && x.invariant == y.invariant &&
         satisfies(x.align, y.align);
}

/// What sizes lose, between those for which that is known.
class LossField {
 public:
  explicit LossField(const std::vector<HeldOut>& held_out) {
    for (const HeldOut& each : held_out) {
      const double loss = std::clamp(each.us / each.decided_us - 1, 0.0, kLossOfFallback);
      known_.push_back({each.problem, octaves_of(each.problem), loss, 0});
    }
    for (Known& each : known_) {
      each.nearest = std::numeric_limits<double>::infinity();
      for (const Known& other : known_) {
        if (&other == &each || !are_alike(each.problem, other.problem)) continue;
        each.nearest = std::min(each.nearest, squared_distance(each.at, other.at));
      }
    }
  }

  double at(const Problem& problem) const {
    const Octaves at = octaves_of(problem);
    double weights = 0, losses = 0, apart = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (const Known& each : known_) {
      if (!are_alike(problem, each.problem)) continue;
      const double distance = squared_distance(at, each.at);
      const double weight = 1 / ((kSoftening + distance) * (kSoftening + distance));
      nearest = std::min(nearest, distance);
      weights += weight;
      losses += weight * each.loss;
      if (std::isfinite(each.nearest)) apart += weight * each.nearest;
    }
    if (!(weights > 0)) return kUnknownLoss;
    const double scale = std::sqrt((kSoftening + nearest) / (kSoftening + apart / weights));
    return std::max(kLeastLoss, losses / weights) * std::min(kMostScale, scale);
  }

 private:
  struct Known {
    Problem problem;
    Octaves at;
    double loss;
    double nearest;  ///< the squared distance of the next of them
  };
  std::vector<Known> known_;
};

/// A size with what is expected of it.
struct Asked {
  Suggestion suggestion;
  Octaves at;
  double stake;  ///< the weight times the loss, as far as no suggestion takes it away
  bool is_suggested = false;
};

std::vector<Asked> expectations(const DeviceSpec& device, const StoredKernels& kernels,
                                const std::vector<AskedProblem>& sizes) {
  const LossField losses(hold_out(device, kernels));
  const DispatchTable table(device, kernels);
  std::vector<Asked> asked;
  for (const auto& [problem, weight] : sizes) {
    const Choice choice = table.choose(problem);
    if (choice.match == Match::exact) continue;
    const double loss = choice.match == Match::fallback ? kLossOfFallback : losses.at(problem);
    asked.push_back({{problem, choice.match, choice.expected_us, loss, 0}, octaves_of(problem), weight * loss});
  }
  return asked;
}

/// The share of the loss of `other` that tuning `tuned` takes away: half of it at half an octave.
double taught(const Asked& tuned, const Asked& other) {
  if (!are_alike(other.suggestion.problem, tuned.suggestion.problem)) return 0;
  return 1 / (1 + std::pow(squared_distance(tuned.at, other.at), 2) * 16);
}

}  // namespace

std::vector<Suggestion> suggest(const DeviceSpec& device, const StoredKernels& kernels,
                                const std::vector<AskedProblem>& sizes, std::size_t most) {
  std::vector<Asked> asked = expectations(device, kernels, sizes);
  const double all =
      std::accumulate(asked.begin(), asked.end(), 0.0, [](double sum, const Asked& each) { return sum + each.stake; });
  std::vector<Suggestion> suggestions;
  while (suggestions.size() < std::min(most, asked.size())) {
    double best_gain = 0;
    std::size_t best = asked.size();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].is_suggested) continue;
      double gain = 0;
      for (const Asked& other : asked) gain += other.stake * taught(asked[i], other);
      if (gain > best_gain) {
        best_gain = gain;
        best = i;
      }
    }
    if (best == asked.size()) break;
    Suggestion suggestion = asked[best].suggestion;
    suggestion.gain = best_gain / all;
    suggestions.push_back(suggestion);
    asked[best].is_suggested = true;
    const Asked tuned = asked[best];
    for (Asked& other : asked) other.stake *= 1 - taught(tuned, other);
  }
  return suggestions;
}

}  // namespace mmtune
