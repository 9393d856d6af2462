#include "tuner/lanes/race_rounds.h"

#include <algorithm>
#include <random>

namespace mmtune {
namespace {

// The rounds of a race end after kRaceTime, and those of long calls after kTimeToLook: before the first look at them no
// finalist is told from another, and a default or a stored winner would stay however slow it is.
constexpr std::chrono::milliseconds kRaceTime{800};
constexpr std::chrono::milliseconds kTimeToLook{1250};
constexpr std::size_t kRoundsInAnyCase = 5;

bool is_time_up(std::size_t rounds, std::chrono::nanoseconds elapsed, const RaceRules& rules) {
  return rounds >= kRoundsInAnyCase && elapsed >= (rounds < rules.least_rounds ? kTimeToLook : kRaceTime);
}

void run_round(RoundsRun& rounds, const RunFinalist& run, std::mt19937_64& generator) {
  const std::vector<std::size_t> running = rounds.race.running();
  std::vector<std::size_t> order = running;
  std::shuffle(order.begin(), order.end(), generator);
  std::vector<RaceSample> samples(rounds.conditions.size());
  for (const std::size_t i : order) samples[i] = run(i, i == order.front());
  const auto company = samples[order.front()].reading.co_tenants;
  const bool disturbed =
      std::any_of(samples.begin(), samples.end(), [](const RaceSample& sample) { return disturbs(sample.reading); });
  std::vector<double> round_us;
  round_us.reserve(running.size());
  for (const std::size_t i : running) round_us.push_back(samples[i].time_us);
  if (!rounds.race.add(round_us, disturbed)) return;
  for (const std::size_t i : running) {
    samples[i].reading.co_tenants = company;
    rounds.conditions[i].add(samples[i].reading, disturbed ? 1 : 0);
  }
}

}  // namespace

RoundsRun run_rounds(std::size_t finalists, const RunFinalist& run,
                     const std::function<std::chrono::nanoseconds()>& elapsed, const RaceRules& rules) {
  RoundsRun rounds{Race(finalists, rules), std::vector<Conditions>(finalists)};
  std::mt19937_64 generator(0);
  while (!rounds.race.over() && !is_time_up(rounds.race.rounds(), elapsed(), rules)) {
    run_round(rounds, run, generator);
  }
  return rounds;
}

}  // namespace mmtune
