#include "tuner/lanes/race_rounds.h"

#include <algorithm>
#include <random>

namespace mmtune {
namespace {

constexpr std::size_t kRoundsInAnyCase = 5;  // rounds that are run even where time is up

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

RoundsRun run_rounds(std::size_t finalists, const RunFinalist& run, const std::function<bool()>& time_is_up,
                     const RaceRules& rules) {
  RoundsRun rounds{Race(finalists, rules), std::vector<Conditions>(finalists)};
  std::mt19937_64 generator(0);
  while (!rounds.race.over() && (rounds.race.rounds() < kRoundsInAnyCase || !time_is_up())) {
    run_round(rounds, run, generator);
  }
  return rounds;
}

}  // namespace mmtune
