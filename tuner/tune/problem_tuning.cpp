#include "tuner/tune/problem_tuning.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/log.h"
#include "templates/families.h"
#include "tuner/search/rounds.h"
#include "tuner/tune/attempts.h"
#include "tuner/tune/lessons.h"

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
    is_cut_ = !work_through(*searching, [this] { return out_of_time(); });
    // However late it is: a winner must have beaten them.
    drop_what_is_under_way();
    work_through(*make_listed(untried_defenders(spaces)), setup_.stopped);
    ending = decide();
  } catch (const OutOfMemoryError& error) {
    log::error("{}: does not fit on this GPU, skipped: {}", to_string(problem_), error.what());
  } catch (const UnmeasurableError& error) {
    log::error("{}: skipped: {}", to_string(problem_), error.what());
  }
  drop_what_is_under_way();
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
                                          nearest_stored(place(), setup_.preparation, setup_.store),
                                          proven(setup_.families, problem_, spaces)});
}

std::vector<Point> ProblemTuning::untried_defenders(const Spaces& spaces) const {
  std::vector<Point> points = defenders(place(), spaces, best_us_, setup_.store);
  std::erase_if(points, [this](const Point& point) { return judged_.contains(key_of(point)); });
  return points;
}

/// Another compiler may make another program of the same source.
bool ProblemTuning::is_usable(const Trial& known) const {
  return known.environment.nvrtc == setup_.preparation.nvrtc();
}

/// Whether what is known is measured again.
bool ProblemTuning::anew() const { return setup_.options.retune || setup_.options.refresh; }

/// Every proposed point becomes a stored trial: looked up, or compiled while the GPU measures others. False if there
/// was enough before the end.
bool ProblemTuning::work_through(Strategy& strategy, const std::function<bool()>& enough) {
  Rounds rounds(strategy);
  const std::size_t first = attempts_.size();
  for (;;) {
    const auto points = rounds.next();
    for (const Point& point : points) {
      const std::size_t index = attempts_.size();
      attempts_.push_back(setup_.preparation.attempt(problem_, point));
      if (is_dangerous(attempts_[index].key)) {
        rounds.settle(index - first, set_aside(attempts_[index]));
      } else if (auto known = look_up(index)) {
        rounds.settle(index - first, note(attempts_[index], *std::move(known)));
      }
    }
    if (!points.empty()) continue;
    const auto program = next_program();
    if (!program) return true;
    if (enough()) return false;
    rounds.settle(program->index - first, note(attempts_[program->index], take(*program)));
  }
}

void ProblemTuning::drop_what_is_under_way() {
  setup_.compiler.clear();
  programs_.clear();
}

/// What is known of the attempt; if nothing is, its program is on the way.
std::optional<Trial> ProblemTuning::look_up(std::size_t index) {
  const Attempt& attempt = attempts_[index];
  const CompileTarget& target = setup_.preparation.target();
  auto known = anew() ? std::nullopt : setup_.store.find(attempt.key);
  if (known && is_usable(*known) && !has_killed(*known)) return known;
  auto binary = setup_.store.find_compiled(attempt.key.source_hash, target.name, true);
  if (binary && !binary->cubin.empty() && binary->nvrtc == setup_.preparation.nvrtc()) {
    programs_.push_back({index, Outcome::ok, "", std::move(*binary)});
  } else {
    setup_.compiler.submit(index, attempt.candidate.source, target);
  }
  return std::nullopt;
}

bool ProblemTuning::is_dangerous(const TrialKey& key) const {
  return kills_of(key, setup_.lane, setup_.store) >= kMostKills;
}

/// It is not run again, and counts as if it had crashed; nothing is stored.
Trial ProblemTuning::set_aside(const Attempt& attempt) {
  ++set_aside_;
  judged_.insert(key_of(attempt.point));
  Trial trial = setup_.preparation.trial(attempt, {});
  trial.outcome = Outcome::crashed;
  return trial;
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

bool ProblemTuning::may_win(const Trial& trial) const {
  return trial.outcome == Outcome::ok && (trial.deterministic || !setup_.options.deterministic);
}

/// What the search may learn of it.
std::optional<Trial> ProblemTuning::note(const Attempt& attempt, Trial trial) {
  judged_.insert(key_of(attempt.point));
  if (trial.outcome != Outcome::ok) {
    note_fault(trial);
    if (trial.outcome == Outcome::too_slow) too_slow_.push_back({attempt, trial});
    return trial;
  }
  if (!may_win(trial)) return std::nullopt;
  finishers_.push_back({attempt, trial});
  if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
  return trial;
}

void ProblemTuning::note_fault(const Trial& trial) {
  constexpr std::array kFaults{Outcome::wrong_result, Outcome::guard_violation, Outcome::unstable, Outcome::timed_out,
                               Outcome::crashed};
  if (std::find(kFaults.begin(), kFaults.end(), trial.outcome) == kFaults.end()) return;
  log::warning("{}: {} {}: {}: {}", to_string(problem_), trial.key.family, trial.key.config, to_string(trial.outcome),
               trial.note);
  if (has_killed(trial) && !is_dangerous(trial.key)) once_more_ = true;
}

/// Stores the winner. A run that is stopped before the race decides nothing.
Ending ProblemTuning::decide() {
  const auto best = finals();
  if (set_aside_ > 0) {
    log::warning("{}: {} candidates are set aside; see `mmtune show --set-aside`", to_string(problem_), set_aside_);
  }
  if (!best) {
    if (setup_.stopped()) return Ending::stopped;
    log::error("{}: no valid candidate among {}; see `mmtune space` and the database for the reasons",
               to_string(problem_), judged_.size());
    return Ending::failed;
  }
  winner_ = *best;
  const TrialKey& key = finishers_[winner_].trial.key;
  if (setup_.options.refresh && before_) {
    setup_.store.put_winner(key, before_->search, before_->candidates);  // what was searched remains
  } else {
    // A search that was cut is no final decision: the next run goes on with it.
    const bool is_final = !is_cut_ && !once_more_;
    setup_.store.put_winner(key, is_final ? search_ : "", static_cast<int>(judged_.size()));
  }
  return Ending::decided;
}

/// Races the fastest until all that ran may win; between races the finishers are sorted. The index of the winner; none
/// if nobody is left.
std::optional<std::size_t> ProblemTuning::finals() {
  try_too_slow_again();
  for (int lost = 0; lost < kRaces && !finishers_.empty();) {
    if (setup_.stopped()) return std::nullopt;
    try {
      const std::size_t winner = race(finishers_, setup_.lane, setup_.store, setup_.preparation.target().name);
      if (!drop_faulty()) return winner;
    } catch (const RaceLostError& error) {
      log::warning("{}: the race between the fastest stopped: {}", to_string(problem_), error.what());
      ++lost;
      judge_suspects();
      drop_faulty();
    }
  }
  return finishers_.empty() ? std::nullopt : std::optional<std::size_t>(0);  // by the times that there are
}

/// The fastest, once more and each alone. Leaves the finishers sorted.
void ProblemTuning::judge_suspects() {
  best_us_ = 0;  // nobody is too slow
  for (std::size_t i = 0; i < std::min(kSuspects, finishers_.size()) && !setup_.stopped(); ++i) {
    judge_again(finishers_[i]);
  }
  sort_by_time(finishers_);
}

void ProblemTuning::judge_again(Finisher& suspect) {
  Trial& trial = suspect.trial;
  const auto binary = setup_.store.find_compiled(trial.key.source_hash, setup_.preparation.target().name, true);
  if (!binary) return;
  launch(suspect.attempt, *binary, trial);
  setup_.store.put(trial);
}

/// Who may not win after all is no finisher any more. Whether there was one.
bool ProblemTuning::drop_faulty() {
  const auto dropped = std::erase_if(finishers_, [this](const Finisher& each) {
    if (may_win(each.trial)) return false;
    note_fault(each.trial);
    return true;
  });
  if (dropped > 0) try_too_slow_again();
  return dropped > 0;
}

/// Some were too slow only beside somebody who is no finisher: any more, or since this search leaves it out and an
/// earlier one did not. Leaves the finishers sorted.
void ProblemTuning::try_too_slow_again() {
  sort_by_time(finishers_);
  best_us_ = finishers_.empty() ? 0 : finishers_.front().trial.timing.median_us;
  for (Finisher& each : std::exchange(too_slow_, {})) {
    if (setup_.stopped()) return;
    if (best_us_ == 0 || may_be_fastest(each.trial.timing.median_us, best_us_)) judge_again(each);
    note(each.attempt, each.trial);
  }
  sort_by_time(finishers_);
}

}  // namespace mmtune
