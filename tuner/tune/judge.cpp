#include "tuner/tune/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "tuner/tune/launches.h"

namespace mmtune {
namespace {

/// "49.8 µs", "wrong_result".
std::string result_of(const Trial& trial) {
  return trial.outcome == Outcome::ok ? fmt::format("{:.2f} µs", trial.timing.median_us)
                                      : std::string(to_string(trial.outcome));
}

/// Whether the candidate may still win: only then is its machine code worth its space, for a run that goes on later.
bool keeps_code(const Trial& trial, double best_us) {
  return has_time(trial.outcome) &&
         (best_us == 0 || may_be_fastest(trial.key.problem, trial.timing.median_us, best_us));
}

}  // namespace

std::optional<Trial> Judge::known(const Program& program) const {
  if (!setup_.options.mode.reuses_trials()) return std::nullopt;
  auto known = setup_.store.find(program.key);
  // Another compiler may make another program of the same source.
  if (!known || known->environment.nvrtc != setup_.preparation.nvrtc() || has_killed(*known)) return std::nullopt;
  if (is_lost_compile(*known) && !setup_.lost.given_up(known->key.source_hash)) return std::nullopt;
  return known;
}

Trial Judge::judge(const Supplied& supplied, double best_us) {
  const Program& program = supplied.program;
  setup_.progress.judge(best_us);
  log::debug("{}: {}", to_string(problem_), key_of(program.candidate));
  const Environment environment = setup_.lane.environment();
  if (supplied.outcome != Outcome::ok) {
    Trial trial = setup_.preparation.trial(program, environment);
    trial.outcome = supplied.outcome;
    trial.note = supplied.log;
    store(trial, nullptr);
    return trial;
  }
  Trial trial = setup_.preparation.compiled_trial(program, environment);
  if (trial.outcome == Outcome::ok) try_program(program, best_us, trial);
  Binary binary = program.binary;
  if (!keeps_code(trial, best_us)) binary.cubin.clear();
  store(trial, &binary);
  return trial;
}

void Judge::judge_again(Finalist& finalist, double best_us) {
  Program program = finalist.program;
  if (!add_code(program, setup_.store, setup_.preparation.target().name)) return;
  launch(program, best_us, finalist.trial);
  setup_.store.put(finalist.trial);
}

/// What ran the same machine code in the same way.
std::optional<Trial> Judge::twin_of(const Program& program) const {
  // A measured time says nothing of what the model predicts.
  if (!setup_.options.mode.reuses_trials() || setup_.preparation.evidence() == Evidence::predicted) return std::nullopt;
  std::vector<Trial> twins = setup_.store.find_twins(program.key, program.binary.hash);
  std::copy_if(setup_.batch.trials().begin(), setup_.batch.trials().end(), std::back_inserter(twins),
               [&](const Trial& trial) {
                 return trial.outcome == Outcome::ok && trial.key.problem == problem_ &&
                        trial.binary_hash == program.binary.hash;
               });
  for (Trial& twin : twins) {
    if (!setup_.preparation.makes(twin.key)) continue;
    const Config config = Config::parse(twin.key.config);
    const LaunchPlan plan = family_named(twin.key.family).plan(problem_, config, setup_.preparation.device());
    if (launches_alike(plan, program.plan)) return std::move(twin);
  }
  return std::nullopt;
}

/// Fills in what a twin came to, else runs it.
void Judge::try_program(const Program& program, double best_us, Trial& trial) {
  const auto twin = twin_of(program);
  if (!twin) return launch(program, best_us, trial);
  trial.timing = twin->timing;
  trial.error_share = twin->error_share;
  trial.deterministic = twin->deterministic;
}

void Judge::launch(const Program& program, double best_us, Trial& trial) {
  if (recorded_.erase(key_of(program.candidate)) == 0) record(program);
  const Verdict verdict = setup_.lane.evaluate(program, best_us);
  require_possible(program.key, verdict);
  trial.outcome = verdict.outcome;
  trial.note = verdict.note;
  trial.timing = verdict.timing;
  trial.error_share = verdict.error_share;
  trial.deterministic = program.plan.deterministic && verdict.deterministic;
}

/// Whether the candidates were listed to be measured: on a GPU, where launches are recorded.
bool Judge::is_listed() const {
  return !setup_.options.mode.decides() && setup_.preparation.evidence() == Evidence::measured;
}

/// Records the launch that is about to begin, and with it those of listed candidates that are ready.
void Judge::record(const Program& program) {
  recorded_.clear();  // What is recorded as running is over with this.
  if (!is_listed()) return record_launches({program.key}, setup_.lane, setup_.store);
  const Environment environment = setup_.lane.environment();
  const auto is_alone = [&](const Program& each) { return crashed_in_race(each.key, setup_.lane, setup_.store); };
  std::vector<LaunchRecord> records{launch_record(program.key, environment)};
  recorded_ = {key_of(program.candidate)};
  if (!is_alone(program)) {
    for (const Program* each : coming_()) {
      if (is_alone(*each) || !recorded_.insert(key_of(each->candidate)).second) continue;
      records.push_back(launch_record(each->key, environment));
    }
  }
  recorded_.erase(key_of(program.candidate));
  setup_.batch.store(records);
}

void Judge::store(const Trial& trial, const Binary* binary) {
  log::info("{} {} {}: {}", to_string(problem_), trial.key.family, trial.key.config, result_of(trial));
  if (is_listed()) {
    setup_.batch.add(trial, binary);
    if (is_kill(trial.outcome)) setup_.batch.store();  // What it has ended is counted before it may be tried again.
    return;
  }
  std::optional<LaunchRecord> next;
  const bool has_launches = setup_.preparation.evidence() == Evidence::measured;
  if (const auto coming = has_launches ? coming_() : std::vector<const Program*>(); !coming.empty()) {
    recorded_ = {key_of(coming.front()->candidate)};
    next = launch_record(coming.front()->key, setup_.lane.environment());
  }
  setup_.store.put(trial, binary, next ? &*next : nullptr);
}

}  // namespace mmtune
