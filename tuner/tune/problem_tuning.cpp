#include "tuner/tune/problem_tuning.h"

#include <mmtune/error.h>

#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "templates/base/names.h"
#include "templates/family/families.h"
#include "tuner/search/rounds.h"
#include "tuner/text/sizes.h"
#include "tuner/tune/deadlines.h"
#include "tuner/tune/fallbacks.h"
#include "tuner/tune/launches.h"
#include "tuner/tune/lessons.h"
#include "tuner/tune/run_progress.h"
#include "tuner/tune/search_start.h"

namespace mmtune {
namespace {

constexpr std::size_t kRefreshed = 5;              // the number of candidates that a refresh measures again
constexpr std::chrono::milliseconds kShort{1500};  // a search this short has fewer rounds under way
constexpr std::size_t kUnderWayInShort = 2;        // their number then: with one, compilers are idle half of the time

}  // namespace

ProblemTuning::ProblemTuning(const TuningSetup& setup, const Problem& problem, SearchIdentity search,
                             Clock::time_point deadline, Clock::duration patience)
    : setup_(setup),
      problem_(problem),
      search_(std::move(search)),
      deadline_(deadline),
      patience_(patience),
      key_(setup.preparation.key(problem)),
      before_(setup.store.find_winner(key_)),
      supply_(setup),
      judge_(setup, problem, [this] { return out_of_time() ? std::vector<const Program*>() : supply_.coming(); }),
      finals_(setup, judge_) {}

Ending ProblemTuning::run(const std::vector<Candidate>& favourites) {
  Ending ending = Ending::failed;
  try {
    const Clock::time_point begin = Clock::now();
    const SessionMode& mode = setup_.options.mode;
    setup_.lane.begin(problem_, mode.decides() ? kScreenSamples : kListedSamples);
    deadline_ += Clock::now() - begin;  // Operands of large problems take seconds, which are not the search's.
    ending = mode.decides() ? tune(favourites) : measure(mode.listed(problem_));
  } catch (const OutOfMemoryError& error) {
    log::error("{}: does not fit on this GPU, skipped: {}", to_string(problem_), error.what());
  } catch (const UnmeasurableError& error) {
    log::error("{}: skipped: {}", to_string(problem_), error.what());
  }
  supply_.clear();
  return ending;
}

/// Measures these candidates, whatever is stored of them.
Ending ProblemTuning::measure(const std::vector<Candidate>& listed) {
  for (const Candidate& candidate : listed) anew_.insert(key_of(candidate));
  work_through(listed, {kAwaitedListed, kAwaitedListed});
  return Ending::measured;
}

Ending ProblemTuning::tune(const std::vector<Candidate>& favourites) {
  const auto kept = setup_.spaces.of(problem_);
  const FamilySpaces& spaces = *kept;
  if (before_ && setup_.options.mode.searches()) outside_ = winner_outside(*before_, spaces, setup_.preparation);
  if (!search(spaces, favourites)) is_cut_ = true;
  if (outside_) {  // The best of this search is told, whatever was decided before.
    judge_without_program();
    finals_.try_too_slow_again();
  }
  // However late it is: a winner must have beaten them.
  work_through(untried_defenders(spaces), {.in_any_case = true});
  judge_without_program();
  return decide(spaces);
}

bool ProblemTuning::out_of_time() const { return setup_.stopped() || (Clock::now() > deadline_ && !finals_.empty()); }

bool ProblemTuning::is_enough(const Awaited& awaited) const {
  return awaited.in_any_case ? setup_.stopped() : out_of_time();
}

/// Until when compilers are waited for.
std::optional<ProblemTuning::Clock::time_point> ProblemTuning::longest_wait(const Awaited& awaited,
                                                                            bool has_awaited) const {
  if (awaited.in_any_case || finals_.empty()) return std::nullopt;
  return has_awaited ? deadline_ + patience_ : deadline_;
}

/// Searches; false if there was enough before the end.
bool ProblemTuning::search(const FamilySpaces& spaces, const std::vector<Candidate>& favourites) {
  if (!setup_.options.mode.searches()) return work_through(stored_candidates(), {});
  const auto strategy = begin_search(setup_, spaces, favourites);
  return work_through(*strategy, [&](CandidateNumber number) { return spaces.candidate(number); },
                      {kAwaitedAtHand, kAwaited});
}

/// The fastest, and what merged databases decided for and may be as fast.
std::vector<Candidate> ProblemTuning::stored_candidates() const {
  std::vector<Candidate> candidates;
  std::set<std::string> names;
  const auto add = [&](const TrialKey& key) {
    Candidate candidate{&family_named(key.family), Config::parse(key.config)};
    if (names.insert(key_of(candidate)).second) candidates.push_back(std::move(candidate));
  };
  for (const Trial& trial : fastest_stored(key_, setup_.preparation, setup_.store, kRefreshed)) add(trial.key);
  for (const TrialKey& key : setup_.store.near_ties(key_)) {
    if (setup_.preparation.makes(key)) add(key);
  }
  return candidates;
}

std::vector<Candidate> ProblemTuning::untried_defenders(const FamilySpaces& spaces) const {
  std::vector<Candidate> candidates = defenders(key_, spaces, finals_.best_us(), setup_.store);
  if (outside_) candidates.push_back(*outside_);
  std::erase_if(candidates, [this](const Candidate& candidate) { return tried_.contains(key_of(candidate)); });
  return candidates;
}

bool ProblemTuning::work_through(const std::vector<Candidate>& candidates, Awaited awaited) {
  std::vector<CandidateNumber> numbers(candidates.size());
  std::iota(numbers.begin(), numbers.end(), CandidateNumber{0});
  const auto candidate_of = [&](CandidateNumber number) { return candidates[static_cast<std::size_t>(number)]; };
  return work_through(*make_listed(std::move(numbers)), candidate_of, awaited);
}

/// How many rounds of a search are under way: few of a short one, since what it ordered far ahead would keep compilers
/// from what it measures, and one where times are predicted, which mostly needs no other.
std::size_t ProblemTuning::rounds_under_way() const {
  if (setup_.preparation.evidence() == Evidence::predicted) return 1;
  return deadline_ - Clock::now() < kShort ? kUnderWayInShort : Rounds::kUnderWay;
}

/// Every proposed candidate becomes a trial: a known one, or that of a program, which is compiled while the lane judges
/// others. False if there was enough before the end.
bool ProblemTuning::work_through(Strategy& strategy, const CandidateOf& candidate_of, Awaited awaited) {
  supply_.clear();
  Rounds rounds(strategy, rounds_under_way());
  std::size_t proposed = 0, judged = 0;
  std::set<std::size_t> on_order;  // the numbers of those that are awaited
  bool is_whole = true;            // whether none was left out
  for (;;) {
    const auto numbers = rounds.next();
    for (const CandidateNumber number : numbers) {
      const std::size_t index = proposed++;
      Program program = setup_.preparation.program(problem_, candidate_of(number));
      if (is_set_aside(program.key, setup_.lane, setup_.store)) {
        rounds.settle(index, set_aside(program));
      } else if (auto trial = anew_.contains(key_of(program.candidate)) ? std::nullopt : judge_.known(program)) {
        rounds.settle(index, note(program, *trial));
      } else {
        if (index < awaited.all && awaited.compiled > 0) on_order.insert(index);
        if (!supply_.order(index, std::move(program)) && awaited.compiled > 0) --awaited.compiled;
      }
    }
    if (!numbers.empty()) continue;
    const Clock::time_point begin = Clock::now();
    const auto supplied = supply_.next(longest_wait(awaited, !on_order.empty()));
    if (finals_.empty()) {
      // The first problem of a run finds no program ready: without this it would end with those it has to wait for.
      const Clock::duration waited = Clock::now() - begin;
      deadline_ += waited;
      waited_ += waited;
    }
    if (!supplied) return is_whole && supply_.empty();
    if (is_enough(awaited)) {
      const bool is_late = Clock::now() > deadline_ + patience_ && judged >= kAwaited;
      if (on_order.empty() || setup_.stopped() || is_late) return false;
      if (!on_order.contains(supplied->number)) {
        is_whole = false;
        continue;
      }
    }
    on_order.erase(supplied->number);
    ++judged;
    const double best_us = setup_.options.mode.decides() ? finals_.best_us() : 0;
    rounds.settle(supplied->number, note(supplied->program, judge_.judge(*supplied, best_us)));
  }
}

/// The fastest are compiled again. A time from another installation is no reason to run a program: it is measured here.
void ProblemTuning::judge_without_program() {
  for (;;) {
    std::vector<Candidate> candidates = finals_.take_without_program();
    if (candidates.empty() || setup_.stopped()) return;
    for (const Candidate& candidate : candidates) anew_.insert(key_of(candidate));
    work_through(candidates, {.in_any_case = true});
  }
}

/// A program that is set aside is not run, and counts as if it had crashed; nothing is stored.
Observation ProblemTuning::set_aside(const Program& program) {
  ++set_aside_;
  tried_.insert(key_of(program.candidate));
  return {};
}

/// What the search may learn of it.
std::optional<Observation> ProblemTuning::note(const Program& program, const Trial& trial) {
  tried_.insert(key_of(program.candidate));
  if (first_failure_.empty() && trial.outcome != Outcome::ok) first_failure_ = failure_line(trial);
  if (is_lost_compile(trial)) (setup_.lost.is_tried_again(trial.key.source_hash) ? is_cut_ : is_limited_) = true;
  if (!finals_.add(program, trial)) return std::nullopt;
  return observation_of(trial);
}

/// Stores the winner. A run that is stopped before the race decides nothing.
Ending ProblemTuning::decide(const FamilySpaces& spaces) {
  const Finalist* winner = finals_.winner();
  // One that lost to an earlier decision, and to what turned out to be faulty now.
  for (; winner != nullptr && !finals_.has_code(*winner) && !setup_.stopped(); winner = finals_.winner()) {
    judge_without_program();
  }
  if (set_aside_ > 0) {
    log::warning("{}: {} candidates are set aside; see `mmtune show --set-aside`", to_string(problem_), set_aside_);
  }
  if (winner != nullptr && outside_ && key_of(winner->program.candidate) == key_of(*outside_))
    return keep(*winner, spaces);
  if (winner != nullptr) {
    winner_ = winner->program.candidate;
    put_winner(*winner);
    return Ending::decided;
  }
  if (setup_.stopped()) return Ending::stopped;
  return fail();
}

Ending ProblemTuning::fail() const {
  const std::string named = fmt::format("--sizes {} --precision {} --layout {}", to_string(size_of(problem_)),
                                        to_string(problem_.precision), to_string(problem_.layout));
  if (first_failure_.empty()) {
    log::error("{}: no valid candidate among {}; see the rules that exclude configurations with mmtune space {} {}{}",
               to_string(problem_), tried_.size(), setup_.spaces.of(problem_)->spaces().front().family().name(), named,
               problem_.invariant ? " --invariant" : "");
  } else {
    log::error("{}: no valid candidate among {}, the first because of {}; see all with mmtune show --trials {} --db {}",
               to_string(problem_), tried_.size(), first_failure_, named, shell_word(setup_.options.database));
  }
  return Ending::failed;
}

/// The decision from outside the search won the race.
Ending ProblemTuning::keep(const Finalist& before, const FamilySpaces& spaces) {
  store_decision(before, before_->search, before_->candidates);
  const Finalist* best = finals_.fastest_in(spaces);
  if (best == nullptr) return fail();
  winner_ = best->program.candidate;
  log::warning(
      "{}: the best of this search is {} with {:.2f} us; {} with {:.2f} us was decided before, is not beaten "
      "by it and stays",
      to_string(problem_), key_of(winner_), best->trial.timing.median_us, key_of(before.program.candidate),
      before.trial.timing.median_us);
  return Ending::not_beaten;
}

void ProblemTuning::put_winner(const Finalist& winner) {
  if (!setup_.options.mode.searches() && before_) {
    store_decision(winner, before_->search, before_->candidates);  // What was searched remains.
    return;
  }
  if (before_ && setup_.options.deterministic && !before_->trial.deterministic &&
      before_->trial.timing.median_us < winner.trial.timing.median_us) {
    log::warning("{}: {} {} with {:.2f} us is not deterministic, and no longer the decision", to_string(problem_),
                 before_->trial.key.family, before_->trial.key.config, before_->trial.timing.median_us);
  }
  store_decision(winner, search_.stored(search_end()), static_cast<int>(tried_.size()));
}

/// A part of a run has not raced: should it be all that there is, a later search goes on with it.
SearchEnd ProblemTuning::search_end() const {
  if (is_cut_ || finals_.saw_first_kill() || setup_.options.is_part) return SearchEnd::cut;
  return is_limited_ ? SearchEnd::limited : SearchEnd::complete;
}

/// The machine code of those that lost goes with the same transaction, unless the run goes on with it.
void ProblemTuning::store_decision(const Finalist& winner, const std::string& search, int candidates) {
  const std::vector<std::string> kept{
      fallback_for(problem_.precision, problem_.layout, setup_.preparation).source.hash};
  setup_.store.put_winner(winner.trial.key, search, candidates, &winner.program.binary,
                          setup_.options.is_part ? nullptr : &kept);
}

}  // namespace mmtune
