#include "tuner/tune/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "db/device_key.h"
#include "templates/family/families.h"
#include "templates/model/power.h"
#include "tuner/tune/launches.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kFinalists = 6;        // the most finalists besides the default and the stored winner
constexpr std::size_t kFewestFinalists = 4;  // the same of calls so long that a race has no time for more
constexpr double kFinalMargin = 1.06;        // A screening time this close to the best may still win.

// The same of heavy calls, which are screened before the clock has fallen to what their power allows: large tiles gain
// up to a tenth there (docs/lab/2026-11-26-long-calls.md).
constexpr std::size_t kHeavyFinalists = 32;
constexpr double kHeavyMargin = 1.15;
constexpr std::size_t kAlikeFirst = 4;  // This many launched alike race before others: they draw about the same power.
constexpr double kRound_us = 100e3;     // the time of one call of each, so that races end by their rules

constexpr double kOtherConditions = 2;  // the factor by which the stored winner's time may be of lower clocks
constexpr double kNeighbourhood = 1;    // the octaves between extents of neighbouring sizes

// A default is not timed where it is expected to take this long and to be so many times slower than the best: its few
// calls would take longer than all other trials of a large product.
constexpr double kLongDefault_us = 1e3;
constexpr double kHopelessDefault = 10;

/// The most finalists of a problem besides the default and the stored winner.
std::size_t most_finalists(const Problem& problem, double best_us) {
  const std::size_t most = is_heavy(problem, best_us) ? kHeavyFinalists : kFinalists;
  return std::clamp(static_cast<std::size_t>(kRound_us / best_us), kFewestFinalists, most);
}

double time_us(const Finalist& finalist) { return finalist.trial.timing.median_us; }

/// The places of finalists, which are sorted by time, in the order in which they may race. Of heavy calls those that
/// have kAlikeFirst of the same launch shape before them come last.
std::vector<std::size_t> race_order(const std::vector<Finalist>& finalists) {
  const bool heavy = is_heavy(finalists.front().trial.key.problem, time_us(finalists.front()));
  std::map<LaunchShape, std::size_t> alike;
  std::vector<std::size_t> order, last;
  for (std::size_t place = 0; place < finalists.size(); ++place) {
    const Program& program = finalists[place].program;
    std::size_t& count = alike[launch_shape(program.candidate, program.plan)];
    (heavy && ++count > kAlikeFirst ? last : order).push_back(place);
  }
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

bool is_default(const TrialKey& key) {
  const Family& fallback = fallback_family();
  return key.family == fallback.name() && key.config == fallback.default_config(key.problem).text();
}

bool is_same(const TrialKey& x, const TrialKey& y) { return x.family == y.family && x.config == y.config; }

/// The finalists that race.
struct RaceSetup {
  std::vector<std::size_t> places;  ///< the places among the finalists
  std::vector<Program> programs;
  std::vector<Claim> claims;
};

/// The finalists that may win and whose machine code is known: the fastest, and the default and the stored winner if
/// they are perhaps as fast; none that was in a race that crashed the machine. Fills in what their claims need no
/// neighbours for.
RaceSetup race_setup(const std::vector<Finalist>& finalists, Lane& lane, Store& store, const std::string& target) {
  const TrialKey& first = finalists.front().trial.key;
  const auto incumbent = store.find_winner(first.problem_key());
  RaceSetup setup;
  std::size_t possible = 0;  // the number of those that are perhaps as fast
  for (const std::size_t i : race_order(finalists)) {
    const TrialKey& key = finalists[i].trial.key;
    Claim claim;
    claim.is_default = is_default(key);
    claim.is_incumbent = incumbent && is_same(key, incumbent->trial.key);
    if (!may_be_fastest(first.problem, time_us(finalists[i]), time_us(finalists[0])) &&
        !(claim.is_incumbent && time_us(finalists[i]) <= kOtherConditions * time_us(finalists[0]))) {
      continue;
    }
    if (possible++ >= most_finalists(first.problem, time_us(finalists[0])) && !claim.is_default && !claim.is_incumbent)
      continue;
    Program program = finalists[i].program;
    if (!add_code(program, store, target) || crashed_in_race(key, lane, store)) continue;
    setup.places.push_back(i);
    setup.programs.push_back(std::move(program));
    setup.claims.push_back(std::move(claim));
  }
  return setup;
}

/// The bytes of registers and shared memory of a block.
std::int64_t footprint_bytes(const Program& program, const Trial& trial) {
  const std::int64_t threads = block_threads(main_step(program.plan));
  return 4 * threads * program.binary.registers + trial.smem_bytes;
}

/// Fills in what a tie is decided by.
void complete_claims(RaceSetup& setup, const std::vector<Finalist>& finalists, Store& store) {
  const TrialKey& first = finalists.front().trial.key;
  const std::vector<Winner> neighbours = neighbours_of(first.problem, comparable_winners(first.problem_key(), store));
  for (std::size_t i = 0; i < setup.places.size(); ++i) {
    const Trial& trial = finalists[setup.places[i]].trial;
    Claim& claim = setup.claims[i];
    const auto same = std::find_if(neighbours.begin(), neighbours.end(),
                                   [&](const Winner& neighbour) { return is_same(neighbour.trial.key, trial.key); });
    if (same != neighbours.end()) claim.neighbour = static_cast<std::size_t>(same - neighbours.begin());
    claim.footprint_bytes = footprint_bytes(setup.programs[i], trial);
    claim.name = fmt::format("{} {}", trial.key.family, trial.key.config);
  }
}

}  // namespace

bool add_code(Program& program, Store& store, const std::string& target) {
  if (!program.binary.cubin.empty()) return true;
  auto binary = store.find_compiled(program.key.source_hash, target);
  if (!binary) return false;
  program.binary = *std::move(binary);
  return true;
}

void sort_by_time(std::vector<Finalist>& finalists) {
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const Finalist& x, const Finalist& y) { return time_us(x) < time_us(y); });
}

void require_possible(const TrialKey& key, const Verdict& verdict) {
  const double least_us = SpeedLimit(key.device).least_us(key.problem);
  if (!has_time(verdict.outcome) || verdict.timing.median_us >= least_us) return;
  throw UnmeasurableError(
      fmt::format("{} {} was measured with {:.4g} us, where this GPU needs {:.4g} us at least: its timer or clock "
                  "cannot be trusted; "
                  "restart the driver, or the virtual machine, and measure again",
                  key.family, key.config, verdict.timing.median_us, least_us));
}

bool may_be_fastest(const Problem& problem, double time_us, double best_us) {
  return time_us <= (is_heavy(problem, best_us) ? kHeavyMargin : kFinalMargin) * best_us;
}

std::vector<Winner> neighbours_of(const Problem& problem, std::vector<Winner> winners) {
  const auto distance = [&](const Winner& winner) { return octaves_apart(problem, winner.trial.key.problem); };
  std::erase_if(winners, [&](const Winner& winner) {
    return winner.trial.key.problem == problem || distance(winner) > kNeighbourhood;
  });
  std::stable_sort(winners.begin(), winners.end(),
                   [&](const Winner& x, const Winner& y) { return distance(x) < distance(y); });
  return winners;
}

std::vector<Candidate> defenders(const ProblemKey& problem, const FamilySpaces& spaces, double best_us, Store& store) {
  const Family& fallback = fallback_family();
  std::vector<Candidate> candidates;
  const Candidate standard{&fallback, fallback.default_config(problem.problem)};
  if (spaces.number(standard)) {
    const double expected_us = spaces.predict_us(standard);
    if (expected_us < kLongDefault_us || expected_us < kHopelessDefault * best_us) candidates.push_back(standard);
  }
  if (const auto incumbent = store.find_winner(problem)) {
    const TrialKey& key = incumbent->trial.key;
    if (const Family* family = find_family(key.family)) candidates.push_back({family, Config::parse(key.config)});
  }
  std::erase_if(candidates, [&](const Candidate& candidate) { return !spaces.number(candidate); });
  return candidates;
}

std::optional<Candidate> winner_outside(const Winner& stored, const FamilySpaces& spaces,
                                        const Preparation& preparation) {
  const TrialKey& key = stored.trial.key;
  if (!preparation.makes(key)) return std::nullopt;
  Candidate candidate{find_family(key.family), Config::parse(key.config)};
  if (spaces.number(candidate)) return std::nullopt;
  return candidate;
}

std::size_t race(std::vector<Finalist>& finalists, Lane& lane, Store& store, const std::string& target) {
  RaceSetup setup = race_setup(finalists, lane, store, target);
  if (setup.places.empty()) return 0;
  complete_claims(setup, finalists, store);
  std::vector<TrialKey> keys;
  for (const std::size_t place : setup.places) keys.push_back(finalists[place].trial.key);
  record_launches(keys, lane, store);
  RaceResult result = lane.race(setup.programs);
  const std::size_t winner = choose_winner(result.placings, setup.claims);
  // A default or a stored winner stays also where it may be slower, which the lane has not verified again.
  if (!is_as_fast(result.placings[winner])) {
    record_launches({keys[winner]}, lane, store);  // If the machine goes down now, it alone is to blame.
    Verdict alone = lane.race({setup.programs[winner]}).verdicts.front();
    alone.timing = result.verdicts[winner].timing;
    result.verdicts[winner] = std::move(alone);
  }

  std::vector<Trial> rows;
  for (std::size_t i = 0; i < setup.places.size(); ++i) {
    const Verdict& verdict = result.verdicts[i];
    require_possible(keys[i], verdict);
    Trial& trial = finalists[setup.places[i]].trial;
    trial.outcome = verdict.outcome;
    trial.note = verdict.note;
    trial.timing = verdict.timing;
    trial.deterministic = trial.deterministic && verdict.deterministic;
    rows.push_back(trial);
  }
  store.put(rows, {});
  return setup.places[winner];
}

}  // namespace mmtune
