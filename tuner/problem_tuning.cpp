#include "tuner/problem_tuning.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/log.h"
#include "templates/families.h"
#include "tuner/attempts.h"
#include "tuner/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kSuspects = 6;  // fastest candidates, one of which stopped a race
constexpr int kRaces = 3;             // attempts at a race
constexpr std::size_t kRefreshed = 5;

}  // namespace

ProblemTuning::ProblemTuning(const TuningSetup& setup, const Problem& problem, std::string search,
                             Clock::time_point deadline)
    : setup_(setup),
      problem_(problem),
      search_(std::move(search)),
      deadline_(deadline),
      before_(setup.store.find_winner(place().device, problem, place().evidence)) {}

Ending ProblemTuning::run(const std::vector<Point>& favourites) {
  Ending ending = Ending::failed;
  try {
    setup_.lane.begin(problem_);
    const Spaces spaces(setup_.families, problem_, setup_.preparation.device(), setup_.options.only);
    const auto searching = searcher(spaces, favourites);
    for (auto points = searching->propose(); !points.empty(); points = searching->propose()) {
      judge(points, *searching);
      if (out_of_time()) break;
    }
    if (!out_of_time()) judge(untried_defenders(spaces), *searching);
    ending = decide();
  } catch (const OutOfMemoryError& error) {
    log::error("{}: does not fit on this GPU, skipped: {}", to_string(problem_), error.what());
  } catch (const UnmeasurableError& error) {
    log::error("{}: skipped: {}", to_string(problem_), error.what());
  }
  setup_.compiler.clear();
  return ending;
}

bool ProblemTuning::out_of_time() const {
  return setup_.stopped() || (Clock::now() > deadline_ && !finishers_.empty());
}

/// Where a row of the problem belongs; of its key, what is left is open.
TrialKey ProblemTuning::place() const {
  return {key_of(setup_.preparation.device()), problem_, "", "", "", setup_.preparation.evidence()};
}

std::unique_ptr<Strategy> ProblemTuning::searcher(const Spaces& spaces, const std::vector<Point>& favourites) const {
  const SessionOptions& options = setup_.options;
  if (options.refresh) {
    std::vector<Point> points;
    for (Lesson& lesson : fastest_stored(place(), setup_.preparation, setup_.store, kRefreshed)) {
      points.push_back(std::move(lesson.point));
    }
    return make_listed(std::move(points));
  }
  return make_strategy(options.strategy, {spaces, setup_.effort, options.seed, favourites,
                                          nearest_stored(place(), setup_.preparation, setup_.store)});
}

std::vector<Point> ProblemTuning::untried_defenders(const Spaces& spaces) const {
  std::vector<Point> points = defenders(place(), spaces, best_us_, setup_.store);
  std::erase_if(points, [this](const Point& point) {
    return std::any_of(attempts_.begin(), attempts_.end(),
                       [&](const Attempt& attempt) { return key_of(attempt.point) == key_of(point); });
  });
  return points;
}

/// Another compiler may make another program of the same source.
bool ProblemTuning::is_usable(const Trial& known) const {
  return known.environment.nvrtc == setup_.preparation.nvrtc();
}

/// Whether what is known is measured again.
bool ProblemTuning::anew() const { return setup_.options.retune || setup_.options.refresh; }

/// Every proposed point becomes a stored trial: looked up, or compiled while the GPU measures the one before.
void ProblemTuning::judge(const std::vector<Point>& points, Strategy& strategy) {
  for (const Point& point : points) {
    attempts_.push_back(setup_.preparation.attempt(problem_, point));
    look_up(attempts_.size() - 1, strategy);
  }
  while (const auto program = next_program()) {
    if (out_of_time()) return;
    learn(attempts_[program->index], take(*program), strategy);
  }
}

void ProblemTuning::look_up(std::size_t index, Strategy& strategy) {
  const Attempt& attempt = attempts_[index];
  const CompileTarget& target = setup_.preparation.target();
  if (kills_of(attempt.key, setup_.lane, setup_.store) >= kMostKills) return set_aside(attempt, strategy);
  if (auto known = anew() ? std::nullopt : setup_.store.find(attempt.key);
      known && is_usable(*known) && !has_killed(*known)) {
    learn(attempt, *known, strategy);
  } else if (auto binary = setup_.store.find_compiled(attempt.key.source_hash, target.name, true);
             binary && !binary->cubin.empty() && binary->nvrtc == setup_.preparation.nvrtc()) {
    programs_.push_back({index, Outcome::ok, "", std::move(*binary)});
  } else {
    setup_.compiler.submit(index, attempt.candidate.source, target);
  }
}

/// It is not run again, and counts as if it had crashed; nothing is stored.
void ProblemTuning::set_aside(const Attempt& attempt, Strategy& strategy) {
  ++set_aside_;
  Trial trial = setup_.preparation.trial(attempt, {});
  trial.outcome = Outcome::crashed;
  strategy.learn(attempt.point, trial);
}

/// Waits for the compiler where nothing else is left to do.
std::optional<ProblemTuning::Program> ProblemTuning::next_program() {
  if (programs_.empty()) {
    if (auto result = setup_.compiler.next()) programs_.push_back(program_of(std::move(*result)));
  }
  if (programs_.empty()) return std::nullopt;
  Program program = std::move(programs_.front());
  programs_.pop_front();
  return program;
}

ProblemTuning::Program ProblemTuning::program_of(CompilePool::Result result) const {
  if (result.outcome != Outcome::ok) return {result.ticket, result.outcome, std::move(result.compilation.log), {}};
  return {result.ticket, Outcome::ok, "", setup_.preparation.binary(result.compilation)};
}

/// What the candidate comes to, which is stored.
Trial ProblemTuning::take(const Program& program) {
  const Attempt& attempt = attempts_[program.index];
  setup_.progress(fmt::format("{} {} {}", to_string(problem_), attempt.key.family, attempt.key.config));
  log::debug("{}: {} {}", to_string(problem_), attempt.key.family, attempt.key.config);
  const Environment environment = setup_.lane.environment();
  if (program.outcome != Outcome::ok) {
    Trial trial = setup_.preparation.trial(attempt, environment);
    trial.outcome = program.outcome;
    trial.note = program.log;
    store(trial, nullptr);
    return trial;
  }
  Trial trial = setup_.preparation.trial(attempt, environment, program.binary);
  if (trial.outcome == Outcome::ok) try_candidate(attempt, program.binary, trial);
  store(trial, &program.binary);
  return trial;
}

/// What ran the same machine code in the same way.
std::optional<Trial> ProblemTuning::twin_of(const Attempt& attempt, const Binary& binary) const {
  // A measured time says nothing of what the model predicts.
  if (anew() || setup_.preparation.evidence() == Evidence::predicted) return std::nullopt;
  for (Trial& twin : setup_.store.find_twins(attempt.key, binary.hash)) {
    if (!setup_.preparation.makes(twin.key)) continue;
    const Config config = Config::parse(twin.key.config);
    const LaunchPlan plan = family_named(twin.key.family).plan(problem_, config, setup_.preparation.device());
    if (launches_alike(plan, attempt.candidate.plan)) return std::move(twin);
  }
  return std::nullopt;
}

/// Fills in what a twin came to, else runs it.
void ProblemTuning::try_candidate(const Attempt& attempt, const Binary& binary, Trial& trial) {
  const auto twin = twin_of(attempt, binary);
  if (!twin) return launch(attempt, binary, trial);
  trial.timing = twin->timing;
  trial.error_share = twin->error_share;
  trial.deterministic = twin->deterministic;
}

void ProblemTuning::launch(const Attempt& attempt, const Binary& binary, Trial& trial) {
  const bool is_recorded = std::exchange(announced_, "") == key_of(attempt.point);
  if (!is_recorded) record_launches({attempt.key}, setup_.lane, setup_.store);
  const Evaluation evaluation = setup_.lane.evaluate(attempt.candidate, binary, best_us_);
  trial.outcome = evaluation.outcome;
  trial.note = evaluation.note;
  trial.timing = evaluation.timing;
  trial.error_share = evaluation.error_share;
  trial.deterministic = attempt.candidate.plan.deterministic && evaluation.deterministic;
}

void ProblemTuning::store(const Trial& trial, const Binary* binary) {
  const auto next = next_launch();
  setup_.store.put(trial, binary, next ? &*next : nullptr);
}

/// The launch that comes next, as far as that is known without waiting.
std::optional<AttemptRecord> ProblemTuning::next_launch() {
  if (setup_.preparation.evidence() == Evidence::predicted || out_of_time()) return std::nullopt;
  while (auto result = setup_.compiler.next_finished()) programs_.push_back(program_of(std::move(*result)));
  const auto next = std::find_if(programs_.begin(), programs_.end(),
                                 [](const Program& program) { return program.outcome == Outcome::ok; });
  if (next == programs_.end()) return std::nullopt;
  const Attempt& attempt = attempts_[next->index];
  announced_ = key_of(attempt.point);
  return attempt_record(attempt.key, setup_.lane.environment());
}

void ProblemTuning::learn(const Attempt& attempt, const Trial& trial, Strategy& strategy) {
  const bool may_win = trial.outcome == Outcome::ok && (trial.deterministic || !setup_.options.deterministic);
  if (may_win || trial.outcome != Outcome::ok) strategy.learn(attempt.point, trial);
  note_fault(trial);
  if (!may_win) return;
  finishers_.push_back({attempt, trial});
  if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
}

void ProblemTuning::note_fault(const Trial& trial) {
  constexpr std::array kFaults{Outcome::wrong_result, Outcome::guard_violation, Outcome::unstable, Outcome::timed_out,
                               Outcome::crashed};
  if (std::find(kFaults.begin(), kFaults.end(), trial.outcome) == kFaults.end()) return;
  log::warning("{}: {} {}: {}: {}", to_string(problem_), trial.key.family, trial.key.config, to_string(trial.outcome),
               trial.note);
  if (has_killed(trial) && kills_of(trial.key, setup_.lane, setup_.store) < kMostKills) once_more_ = true;
}

/// Stores the winner.
Ending ProblemTuning::decide() {
  if (setup_.options.refresh && setup_.stopped()) return Ending::stopped;  // the decision that there is stays
  const auto best = finals();
  if (set_aside_ > 0) {
    log::warning("{}: {} candidates are set aside; see `mmtune show --set-aside`", to_string(problem_), set_aside_);
  }
  if (!best) {
    if (setup_.stopped()) return Ending::stopped;
    log::error("{}: no valid candidate among {}; see `mmtune space` and the database for the reasons",
               to_string(problem_), attempts_.size());
    return Ending::failed;
  }
  winner_ = *best;
  const TrialKey& key = finishers_[winner_].trial.key;
  if (setup_.options.refresh && before_) {
    setup_.store.put_winner(key, before_->search, before_->candidates);  // what was searched remains
  } else {
    // An interrupted or cut search is no final decision: the next run goes on with it.
    const bool is_final = !out_of_time() && !once_more_;
    setup_.store.put_winner(key, is_final ? search_ : "", static_cast<int>(attempts_.size()));
  }
  return Ending::decided;
}

/// Re-times the fastest against each other. The index of the winner; none if nobody is left.
std::optional<std::size_t> ProblemTuning::finals() {
  sort_by_time(finishers_);
  for (int i = 0; i < kRaces && !finishers_.empty() && !setup_.stopped(); ++i) {
    try {
      return race(finishers_, setup_.lane, setup_.store, setup_.preparation.target().name);
    } catch (const RaceLostError& lost) {
      log::warning("{}: the race between the fastest stopped: {}", to_string(problem_), lost.what());
      remove_culprits();
    }
  }
  return finishers_.empty() ? std::nullopt : std::optional<std::size_t>(0);  // by the times that there are
}

/// Judges the fastest once more, alone, and keeps those that are right again.
void ProblemTuning::remove_culprits() {
  best_us_ = 0;  // nobody is too slow
  std::vector<Finisher> kept;
  for (std::size_t i = 0; i < finishers_.size(); ++i) {
    Finisher& each = finishers_[i];
    const auto binary = setup_.store.find_compiled(each.trial.key.source_hash, setup_.preparation.target().name, true);
    if (i < kSuspects && binary) {
      launch(each.attempt, *binary, each.trial);
      setup_.store.put(each.trial);
      note_fault(each.trial);
    }
    if (each.trial.outcome == Outcome::ok) kept.push_back(std::move(each));
  }
  finishers_ = std::move(kept);
  sort_by_time(finishers_);
}

}  // namespace mmtune
