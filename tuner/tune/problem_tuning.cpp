#include "tuner/tune/problem_tuning.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/log.h"
#include "templates/families.h"
#include "tuner/search/rounds.h"
#include "tuner/tune/launches.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kSuspects = 6;  // fastest candidates, one of which stopped a race
constexpr int kRaces = 3;             // races at most, as far as they stopped
constexpr std::size_t kRefreshed = 5;

}  // namespace

ProblemTuning::ProblemTuning(const TuningSetup& setup, const Problem& problem, std::string search,
                             Clock::time_point deadline)
    : setup_(setup),
      problem_(problem),
      search_(std::move(search)),
      deadline_(deadline),
      before_(setup.store.find_winner(place().device, problem, place().evidence)) {}

Ending ProblemTuning::run(const std::vector<Candidate>& favourites) {
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
  return setup_.stopped() || (Clock::now() > deadline_ && !finalists_.empty());
}

/// Where a row of the problem belongs; of its key, what is left is open.
TrialKey ProblemTuning::place() const {
  return {key_of(setup_.preparation.device()), problem_, "", "", "", setup_.preparation.evidence()};
}

std::unique_ptr<Strategy> ProblemTuning::searcher(const Spaces& spaces,
                                                  const std::vector<Candidate>& favourites) const {
  const SessionOptions& options = setup_.options;
  if (options.refresh) {
    std::vector<Candidate> candidates;
    for (Lesson& lesson : fastest_stored(place(), setup_.preparation, setup_.store, kRefreshed)) {
      candidates.push_back(std::move(lesson.candidate));
    }
    return make_listed(std::move(candidates));
  }
  return make_strategy(options.strategy, {spaces, setup_.effort, options.seed, favourites,
                                          nearest_stored(place(), setup_.preparation, setup_.store),
                                          proven(setup_.families, problem_, spaces)});
}

std::vector<Candidate> ProblemTuning::untried_defenders(const Spaces& spaces) const {
  std::vector<Candidate> candidates = defenders(place(), spaces, best_us_, setup_.store);
  std::erase_if(candidates, [this](const Candidate& candidate) { return judged_.contains(key_of(candidate)); });
  return candidates;
}

/// Another compiler may make another program of the same source.
bool ProblemTuning::is_usable(const Trial& known) const {
  return known.environment.nvrtc == setup_.preparation.nvrtc();
}

/// Whether what is known is measured again.
bool ProblemTuning::anew() const { return setup_.options.retune || setup_.options.refresh; }

/// Every proposed candidate becomes a stored trial: looked up, or compiled while the GPU measures others. False if
/// there was enough before the end.
bool ProblemTuning::work_through(Strategy& strategy, const std::function<bool()>& enough) {
  Rounds rounds(strategy);
  const std::size_t first = proposed_.size();
  for (;;) {
    const auto candidates = rounds.next();
    for (const Candidate& candidate : candidates) {
      const std::size_t index = proposed_.size();
      proposed_.push_back(setup_.preparation.program(problem_, candidate));
      if (is_dangerous(proposed_[index].key)) {
        rounds.settle(index - first, set_aside(proposed_[index]));
      } else if (auto known = look_up(index)) {
        rounds.settle(index - first, note(proposed_[index], *std::move(known)));
      }
    }
    if (!candidates.empty()) continue;
    auto compiled = next_compiled();
    if (!compiled) return true;
    if (enough()) return false;
    const std::size_t index = compiled->index;
    rounds.settle(index - first, note(proposed_[index], judge(*std::move(compiled))));
  }
}

void ProblemTuning::drop_what_is_under_way() {
  setup_.compiler.clear();
  compiled_.clear();
}

/// What is known of the program; if nothing is, its binary is on the way.
std::optional<Trial> ProblemTuning::look_up(std::size_t index) {
  const Program& program = proposed_[index];
  const CompileTarget& target = setup_.preparation.target();
  auto known = anew() ? std::nullopt : setup_.store.find(program.key);
  if (known && is_usable(*known) && !has_killed(*known)) return known;
  auto binary = setup_.store.find_compiled(program.key.source_hash, target.name, true);
  if (binary && !binary->cubin.empty() && binary->nvrtc == setup_.preparation.nvrtc()) {
    compiled_.push_back({index, Outcome::ok, "", std::move(*binary)});
  } else {
    setup_.compiler.submit(index, program.source, target);
  }
  return std::nullopt;
}

bool ProblemTuning::is_dangerous(const TrialKey& key) const {
  return kills_of(key, setup_.lane, setup_.store) >= kMostKills;
}

/// It is not run again, and counts as if it had crashed; nothing is stored.
Trial ProblemTuning::set_aside(const Program& program) {
  ++set_aside_;
  judged_.insert(key_of(program.candidate));
  Trial trial = setup_.preparation.trial(program, {});
  trial.outcome = Outcome::crashed;
  return trial;
}

/// Waits for the compiler where nothing else is left to do.
std::optional<ProblemTuning::Compiled> ProblemTuning::next_compiled() {
  if (compiled_.empty()) {
    if (auto result = setup_.compiler.next()) compiled_.push_back(compiled_from(std::move(*result)));
  }
  if (compiled_.empty()) return std::nullopt;
  Compiled compiled = std::move(compiled_.front());
  compiled_.pop_front();
  return compiled;
}

ProblemTuning::Compiled ProblemTuning::compiled_from(CompilePool::Result result) const {
  if (result.outcome != Outcome::ok) return {result.ticket, result.outcome, std::move(result.compilation.log), {}};
  return {result.ticket, Outcome::ok, "", setup_.preparation.binary(result.compilation)};
}

/// What the candidate comes to, which is stored.
Trial ProblemTuning::judge(Compiled compiled) {
  Program program = proposed_[compiled.index];
  setup_.progress(fmt::format("{} {}", to_string(problem_), key_of(program.candidate)));
  log::debug("{}: {}", to_string(problem_), key_of(program.candidate));
  const Environment environment = setup_.lane.environment();
  if (compiled.outcome != Outcome::ok) {
    Trial trial = setup_.preparation.trial(program, environment);
    trial.outcome = compiled.outcome;
    trial.note = compiled.log;
    store(trial, nullptr);
    return trial;
  }
  program.binary = std::move(compiled.binary);
  Trial trial = setup_.preparation.compiled_trial(program, environment);
  if (trial.outcome == Outcome::ok) try_program(program, trial);
  store(trial, &program.binary);
  return trial;
}

/// What ran the same machine code in the same way.
std::optional<Trial> ProblemTuning::twin_of(const Program& program) const {
  // A measured time says nothing of what the model predicts.
  if (anew() || setup_.preparation.evidence() == Evidence::predicted) return std::nullopt;
  for (Trial& twin : setup_.store.find_twins(program.key, program.binary.hash)) {
    if (!setup_.preparation.makes(twin.key)) continue;
    const Config config = Config::parse(twin.key.config);
    const LaunchPlan plan = family_named(twin.key.family).plan(problem_, config, setup_.preparation.device());
    if (launches_alike(plan, program.plan)) return std::move(twin);
  }
  return std::nullopt;
}

/// Fills in what a twin came to, else runs it.
void ProblemTuning::try_program(const Program& program, Trial& trial) {
  const auto twin = twin_of(program);
  if (!twin) return launch(program, trial);
  trial.timing = twin->timing;
  trial.error_share = twin->error_share;
  trial.deterministic = twin->deterministic;
}

void ProblemTuning::launch(const Program& program, Trial& trial) {
  const bool is_recorded = std::exchange(announced_, "") == key_of(program.candidate);
  if (!is_recorded) record_launches({program.key}, setup_.lane, setup_.store);
  const Verdict verdict = setup_.lane.evaluate(program, best_us_);
  trial.outcome = verdict.outcome;
  trial.note = verdict.note;
  trial.timing = verdict.timing;
  trial.error_share = verdict.error_share;
  trial.deterministic = program.plan.deterministic && verdict.deterministic;
}

void ProblemTuning::store(const Trial& trial, const Binary* binary) {
  const auto next = next_launch();
  setup_.store.put(trial, binary, next ? &*next : nullptr);
}

/// The launch that comes next, as far as that is known without waiting.
std::optional<LaunchRecord> ProblemTuning::next_launch() {
  if (setup_.preparation.evidence() == Evidence::predicted || out_of_time()) return std::nullopt;
  while (auto result = setup_.compiler.next_finished()) compiled_.push_back(compiled_from(std::move(*result)));
  const auto next = std::find_if(compiled_.begin(), compiled_.end(),
                                 [](const Compiled& compiled) { return compiled.outcome == Outcome::ok; });
  if (next == compiled_.end()) return std::nullopt;
  const Program& program = proposed_[next->index];
  announced_ = key_of(program.candidate);
  return launch_record(program.key, setup_.lane.environment());
}

bool ProblemTuning::may_win(const Trial& trial) const {
  return trial.outcome == Outcome::ok && (trial.deterministic || !setup_.options.deterministic);
}

/// What the search may learn of it.
std::optional<Trial> ProblemTuning::note(const Program& program, Trial trial) {
  judged_.insert(key_of(program.candidate));
  if (trial.outcome != Outcome::ok) {
    note_fault(trial);
    if (trial.outcome == Outcome::too_slow) too_slow_.push_back({program, trial});
    return trial;
  }
  if (!may_win(trial)) return std::nullopt;
  finalists_.push_back({program, trial});
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
  const TrialKey& key = finalists_[winner_].trial.key;
  if (setup_.options.refresh && before_) {
    setup_.store.put_winner(key, before_->search, before_->candidates);  // what was searched remains
  } else {
    // A search that was cut is no final decision: the next run goes on with it.
    const bool is_final = !is_cut_ && !once_more_;
    setup_.store.put_winner(key, is_final ? search_ : "", static_cast<int>(judged_.size()));
  }
  return Ending::decided;
}

/// Races the fastest until all that ran may win; between races the finalists are sorted. The index of the winner; none
/// if nobody is left.
std::optional<std::size_t> ProblemTuning::finals() {
  try_too_slow_again();
  for (int lost = 0; lost < kRaces && !finalists_.empty();) {
    if (setup_.stopped()) return std::nullopt;
    try {
      const std::size_t winner = race(finalists_, setup_.lane, setup_.store, setup_.preparation.target().name);
      if (!drop_faulty()) return winner;
    } catch (const RaceLostError& error) {
      log::warning("{}: the race between the fastest stopped: {}", to_string(problem_), error.what());
      ++lost;
      judge_suspects();
      drop_faulty();
    }
  }
  return finalists_.empty() ? std::nullopt : std::optional<std::size_t>(0);  // by the times that there are
}

/// The fastest, once more and each alone. Leaves the finalists sorted.
void ProblemTuning::judge_suspects() {
  best_us_ = 0;  // nobody is too slow
  for (std::size_t i = 0; i < std::min(kSuspects, finalists_.size()) && !setup_.stopped(); ++i) {
    judge_again(finalists_[i]);
  }
  sort_by_time(finalists_);
}

void ProblemTuning::judge_again(Finalist& suspect) {
  Trial& trial = suspect.trial;
  auto binary = setup_.store.find_compiled(trial.key.source_hash, setup_.preparation.target().name, true);
  if (!binary) return;
  Program program = suspect.program;
  program.binary = *std::move(binary);
  launch(program, trial);
  setup_.store.put(trial);
}

/// Who may not win after all is no finalist any more. Whether there was one.
bool ProblemTuning::drop_faulty() {
  const auto dropped = std::erase_if(finalists_, [this](const Finalist& each) {
    if (may_win(each.trial)) return false;
    note_fault(each.trial);
    return true;
  });
  if (dropped > 0) try_too_slow_again();
  return dropped > 0;
}

/// Some were too slow only beside somebody who is no finalist: any more, or since this search leaves it out and an
/// earlier one did not. Leaves the finalists sorted.
void ProblemTuning::try_too_slow_again() {
  sort_by_time(finalists_);
  best_us_ = finalists_.empty() ? 0 : finalists_.front().trial.timing.median_us;
  for (Finalist& each : std::exchange(too_slow_, {})) {
    if (setup_.stopped()) return;
    if (best_us_ == 0 || may_be_fastest(each.trial.timing.median_us, best_us_)) judge_again(each);
    note(each.program, each.trial);
  }
  sort_by_time(finalists_);
}

}  // namespace mmtune
