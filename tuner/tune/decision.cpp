#include "tuner/tune/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "templates/families.h"
#include "templates/hash.h"
#include "tuner/tune/attempts.h"
#include "tuner/tune/lessons.h"

namespace mmtune {

namespace {

constexpr std::size_t kFinalists = 6;
constexpr double kFinalMargin = 1.06;  // a screening time this close to the best may still win
constexpr double kLong_us = 1e6;       // a default that takes longer is not timed
constexpr double kHopeless = 10;       // if it is expected to be this many times slower than the best
constexpr double kNeighbourhood = 1;   // octaves between extents of neighbouring sizes

/// What an application runs where nothing is tuned: runtime/dispatch.cpp.
const Family& default_family() { return family_named("naive"); }

double time_us(const Finisher& finisher) { return finisher.trial.timing.median_us; }

bool is_default(const TrialKey& key) {
  const Family& fallback = default_family();
  return key.family == fallback.name() && key.config == fallback.default_config(key.problem).text();
}

bool is_same(const TrialKey& x, const TrialKey& y) { return x.family == y.family && x.config == y.config; }

/// A finisher that is timed again.
struct Entrant {
  std::size_t index = 0;  ///< of the finisher
  Contender contender;
  Claim claim;
};

/// Who may win and has its program stored: the fastest, and whoever defends a title if it is nearly as fast. Nobody
/// who was in a race that crashed the machine.
std::vector<Entrant> entrants(const std::vector<Finisher>& finishers, Lane& lane, Store& store,
                              const std::string& target) {
  const TrialKey& first = finishers.front().trial.key;
  const auto incumbent = store.find_winner(first.device, first.problem, first.evidence);
  std::vector<Entrant> found;
  for (std::size_t i = 0; i < finishers.size() && may_be_fastest(time_us(finishers[i]), time_us(finishers[0])); ++i) {
    const TrialKey& key = finishers[i].trial.key;
    Entrant entrant{i, {finishers[i].attempt.candidate, {}}, {}};
    entrant.claim.is_default = is_default(key);
    entrant.claim.is_incumbent = incumbent && is_same(key, incumbent->trial.key);
    if (i >= kFinalists && !entrant.claim.is_default && !entrant.claim.is_incumbent) continue;
    auto binary = store.find_compiled(key.source_hash, target, true);
    if (!binary || crashed_in_race(key, lane, store)) continue;
    entrant.contender.binary = std::move(*binary);
    found.push_back(std::move(entrant));
  }
  return found;
}

/// Registers and shared memory of a block, in bytes.
std::int64_t footprint_bytes(const Entrant& entrant, const Trial& trial) {
  const std::int64_t threads = block_threads(main_step(entrant.contender.candidate.plan));
  return 4 * threads * entrant.contender.binary.registers + trial.smem_bytes;
}

/// Fills in what a tie is decided by.
void add_claims(std::vector<Entrant>& entrants, const std::vector<Finisher>& finishers, Store& store) {
  const TrialKey& first = finishers.front().trial.key;
  const std::vector<Winner> neighbours = neighbours_of(first.problem, comparable_winners(first, store));
  for (Entrant& each : entrants) {
    const Trial& trial = finishers[each.index].trial;
    const auto same = std::find_if(neighbours.begin(), neighbours.end(),
                                   [&](const Winner& neighbour) { return is_same(neighbour.trial.key, trial.key); });
    if (same != neighbours.end()) each.claim.neighbour = static_cast<std::size_t>(same - neighbours.begin());
    each.claim.footprint_bytes = footprint_bytes(each, trial);
    each.claim.name = fmt::format("{} {}", trial.key.family, trial.key.config);
  }
}

}  // namespace

std::string search_hash(const SessionOptions& options, const std::vector<const Family*>& families,
                        const Preparation& preparation, const Problem& problem) {
  ContentHash hash;
  hash.add(options.strategy).add(options.effort).add(std::to_string(options.seed)).add(preparation.target().name);
  if (options.deterministic) hash.add("deterministic");
  for (const Family* family : families) {
    hash.add(family->name()).add(preparation.source(*family, problem, family->default_config(problem)).hash);
    for (const ParamInfo& param : family->params()) {
      for (const int value : param.values) hash.add(std::to_string(value));
    }
  }
  for (const auto& [name, values] : options.only) {
    hash.add(name);
    for (const int value : values) hash.add(std::to_string(value));
  }
  return hash.hex();
}

void sort_by_time(std::vector<Finisher>& finishers) {
  std::stable_sort(finishers.begin(), finishers.end(),
                   [](const Finisher& x, const Finisher& y) { return time_us(x) < time_us(y); });
}

bool may_be_fastest(double time_us, double best_us) { return time_us <= kFinalMargin * best_us; }

std::vector<Winner> neighbours_of(const Problem& problem, std::vector<Winner> winners) {
  const auto distance = [&](const Winner& winner) { return octaves_apart(problem, winner.trial.key.problem); };
  std::erase_if(winners, [&](const Winner& winner) {
    return winner.trial.key.problem == problem || distance(winner) > kNeighbourhood;
  });
  std::stable_sort(winners.begin(), winners.end(),
                   [&](const Winner& x, const Winner& y) { return distance(x) < distance(y); });
  return winners;
}

std::vector<Point> defenders(const TrialKey& place, const Spaces& spaces, double best_us, Store& store) {
  const Family& fallback = default_family();
  std::vector<Point> points;
  const Point standard{&fallback, fallback.default_config(place.problem), 0};
  if (spaces.contains(standard)) {
    const double expected_us = spaces.predict_us(fallback, standard.config);
    if (expected_us < kLong_us || expected_us < kHopeless * best_us) points.push_back(standard);
  }
  if (const auto incumbent = store.find_winner(place.device, place.problem, place.evidence)) {
    const TrialKey& key = incumbent->trial.key;
    if (const Family* family = find_family(key.family)) points.push_back({family, Config::parse(key.config), 0});
  }
  std::erase_if(points, [&](const Point& point) { return !spaces.contains(point); });
  return points;
}

std::size_t race(std::vector<Finisher>& finishers, Lane& lane, Store& store, const std::string& target) {
  std::vector<Entrant> racing = entrants(finishers, lane, store, target);
  if (racing.empty()) return 0;
  add_claims(racing, finishers, store);
  std::vector<Contender> contenders;
  std::vector<TrialKey> keys;
  contenders.reserve(racing.size());
  keys.reserve(racing.size());
  for (Entrant& each : racing) {
    contenders.push_back(std::move(each.contender));
    keys.push_back(finishers[each.index].trial.key);
  }
  record_launches(keys, lane, store);
  const std::vector<Finish> finishes = lane.race(contenders);

  std::vector<Trial> rows;
  std::vector<Placing> placings;
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < racing.size(); ++i) {
    Trial& trial = finishers[racing[i].index].trial;
    trial.outcome = finishes[i].outcome;
    trial.note = finishes[i].note;
    trial.timing = finishes[i].timing;
    trial.deterministic = trial.deterministic && finishes[i].deterministic;
    rows.push_back(trial);
    placings.push_back(finishes[i].placing);
    claims.push_back(racing[i].claim);
  }
  store.put(rows, {});
  return racing[choose_winner(placings, claims)].index;
}

}  // namespace mmtune
