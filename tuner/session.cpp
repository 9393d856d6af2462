#include "tuner/session.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "db/store.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "tuner/candidate.h"
#include "tuner/compile_pool.h"
#include "tuner/decision.h"
#include "tuner/fallbacks.h"
#include "tuner/interrupt.h"
#include "tuner/lane.h"
#include "tuner/report.h"
#include "tuner/strategy.h"
#include "tuner/worker_lane.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSuspects = 6;  // fastest candidates, one of which stopped a race
constexpr int kRaces = 3;             // attempts at a race

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

/// One run over all problems. The order of work stands in run(), tune() and judge(); everything else is a step.
class Session {
 public:
  explicit Session(const SessionOptions& options)
      : options_(options),
        effort_(effort_named(options.effort)),
        families_(searched_families(options.families)),
        store_(Store::open(options.database, OpenMode::read_write)),
        files_(template_files()),
        pool_(files_, {.jobs = options.jobs, .limit = milliseconds(options.compile_limit_s)}),
        preparation_(files_, options.device.spec, compile_target(options.device.spec, pool_.compiler().supported),
                     evidence_of(options.device), pool_.compiler().version),
        progress_(static_cast<std::int64_t>(options.problems.size()) * effort_.most_trials) {}

  SessionSummary run() {
    const InterruptGuard interrupts;
    const auto end = Clock::now() + budget();
    store_fallbacks(options_.problems, preparation_, pool_, store_);
    for (std::size_t i = 0; i < options_.problems.size() && !InterruptGuard::requested(); ++i) {
      const Problem& problem = options_.problems[i];
      done_ = static_cast<std::int64_t>(i) * effort_.most_trials;
      report(to_string(problem));
      const std::string search = search_hash(options_, families_, preparation_, problem);
      if (!options_.retune && !options_.refresh && decided(problem, search)) {
        ++summary_.known;
        continue;
      }
      // What is left of the budget is shared evenly by the problems that are left.
      const auto now = Clock::now();
      deadline_ = now + (end - now) / static_cast<std::int64_t>(options_.problems.size() - i);
      tune(problem, search);
    }
    summary_.interrupted = InterruptGuard::requested();
    return summary_;
  }

 private:
  std::chrono::milliseconds budget() const {
    constexpr double kUnlimited_s = 1e6;
    return milliseconds(options_.budget_s > 0 ? options_.budget_s : kUnlimited_s);
  }

  void report(const std::string& note) {
    progress_.update(done_, preparation_.evidence() == Evidence::predicted ? "predicted: " + note : note);
  }

  bool decided(const Problem& problem, const std::string& search) {
    const auto winner = store_.find_winner(key_of(options_.device.spec), problem, preparation_.evidence());
    return winner && winner->search == search && is_usable(winner->trial);
  }

  Lane& lane() {
    if (lane_) return *lane_;
    if (preparation_.evidence() == Evidence::predicted) {
      lane_ = make_model_lane(options_.device, pool_.compiler().version);
    } else {
      lane_ = make_worker_lane({.device = options_.device,
                                .target = preparation_.target(),
                                .canary = canary(),
                                .limit = milliseconds(options_.launch_limit_s)});
    }
    return *lane_;
  }

  /// A fallback on a small problem.
  std::optional<Canary> canary() {
    const Problem& any = options_.problems.front();
    const Fallback fallback = fallback_for(any.precision, any.layout, preparation_);
    auto binary = store_.find_compiled(fallback.source.hash, preparation_.target().name, true);
    if (!binary) return std::nullopt;
    Canary canary{fallback.problem, {{fallback.family, fallback.config, {}, fallback.source}, *std::move(binary)}};
    canary.problem.m = canary.problem.n = canary.problem.k = 64;
    return canary;
  }

  void tune(const Problem& problem, const std::string& search) {
    problem_ = problem;
    best_us_ = 0;
    attempts_.clear();
    finishers_.clear();
    before_ = store_.find_winner(place().device, problem_, place().evidence);
    try {
      lane().begin(problem_);
      const Spaces spaces(families_, problem_, options_.device.spec, options_.only);
      const auto strategy =
          options_.refresh ? make_listed(fastest_stored(place(), preparation_, store_))
                           : make_strategy(options_.strategy, {spaces, effort_, options_.seed, favourites_.points()});
      for (auto points = strategy->propose(); !points.empty(); points = strategy->propose()) {
        judge(points, *strategy);
        if (out_of_time()) break;
      }
      if (!out_of_time()) judge(untried_defenders(spaces), *strategy);
      decide(search);
    } catch (const OutOfMemoryError& error) {
      log::error("{}: does not fit on this GPU, skipped: {}", to_string(problem_), error.what());
      ++summary_.failed;
    } catch (const UnmeasurableError& error) {
      log::error("{}: skipped: {}", to_string(problem_), error.what());
      ++summary_.failed;
    }
    pool_.clear();
  }

  bool out_of_time() const { return InterruptGuard::requested() || (Clock::now() > deadline_ && !finishers_.empty()); }

  /// Where a row of the problem belongs; of its key, what is left is open.
  TrialKey place() const { return {key_of(options_.device.spec), problem_, "", "", "", preparation_.evidence()}; }

  std::vector<Point> untried_defenders(const Spaces& spaces) {
    std::vector<Point> points = defenders(place(), spaces, best_us_, store_);
    std::erase_if(points, [this](const Point& point) {
      return std::any_of(attempts_.begin(), attempts_.end(),
                         [&](const Attempt& attempt) { return key_of(attempt.point) == key_of(point); });
    });
    return points;
  }

  /// Every proposed point becomes a stored trial: looked up, or compiled while the GPU measures the one before.
  void judge(const std::vector<Point>& points, Strategy& strategy) {
    std::vector<std::pair<std::size_t, Binary>> ready;
    for (const Point& point : points) {
      attempts_.push_back(preparation_.attempt(problem_, point));
      const Attempt& attempt = attempts_.back();
      if (auto known = anew() ? std::nullopt : store_.find(attempt.key); known && is_usable(*known)) {
        learn(attempt, *known, strategy);
      } else if (auto binary = store_.find_compiled(attempt.key.source_hash, preparation_.target().name, true);
                 binary && !binary->cubin.empty() && binary->nvrtc == preparation_.nvrtc()) {
        ready.emplace_back(attempts_.size() - 1, std::move(*binary));
      } else {
        pool_.submit(attempts_.size() - 1, attempt.candidate.source, preparation_.target());
      }
    }
    for (auto& [index, binary] : ready) {
      if (out_of_time()) return;
      learn(attempts_[index], evaluate(attempts_[index], binary), strategy);
    }
    while (auto compiled = pool_.next()) {
      if (out_of_time()) return;
      const Attempt& attempt = attempts_[compiled->ticket];
      learn(attempt, take(attempt, *compiled), strategy);
    }
  }

  /// A finished compilation becomes a trial; a failed one too.
  Trial take(const Attempt& attempt, const CompilePool::Result& result) {
    if (result.outcome != Outcome::ok) {
      Trial trial = preparation_.trial(attempt, lane_->environment());
      trial.outcome = result.outcome;
      trial.note = result.compilation.log;
      store_.put(trial);
      return trial;
    }
    const Binary binary = preparation_.binary(result.compilation);
    store_.put_compiled(attempt.key.source_hash, binary);
    return evaluate(attempt, binary);
  }

  /// Judges a compiled candidate and stores the trial with its binary.
  Trial evaluate(const Attempt& attempt, const Binary& binary) {
    ++done_;
    report(fmt::format("{} {} {}", to_string(problem_), attempt.key.family, attempt.key.config));
    log::debug("{}: {} {}", to_string(problem_), attempt.key.family, attempt.key.config);
    Trial trial = preparation_.trial(attempt, lane_->environment(), binary);
    if (trial.outcome == Outcome::ok) {
      // A measured time says nothing of what the model predicts.
      const bool reusable = !anew() && preparation_.evidence() == Evidence::measured;
      if (const auto twin = reusable ? store_.find_twin(attempt.key, binary.hash) : std::nullopt) {
        trial.timing = twin->timing;
        trial.error_share = twin->error_share;
        trial.deterministic = twin->deterministic;
      } else {
        run(attempt, binary, trial);
      }
    }
    store_.put(trial, &binary);
    return trial;
  }

  /// Whether what is known is measured again.
  bool anew() const { return options_.retune || options_.refresh; }

  /// Another compiler may make another program of the same source.
  bool is_usable(const Trial& known) const { return known.environment.nvrtc == preparation_.nvrtc(); }

  void run(const Attempt& attempt, const Binary& binary, Trial& trial) {
    const Evaluation evaluation = lane_->evaluate(attempt.candidate, binary, best_us_);
    trial.outcome = evaluation.outcome;
    trial.note = evaluation.note;
    trial.timing = evaluation.timing;
    trial.error_share = evaluation.error_share;
    trial.deterministic = attempt.candidate.plan.deterministic && evaluation.deterministic;
  }

  void learn(const Attempt& attempt, const Trial& trial, Strategy& strategy) {
    const bool may_win = trial.outcome == Outcome::ok && (trial.deterministic || !options_.deterministic);
    if (may_win || trial.outcome != Outcome::ok) strategy.learn(attempt.point, trial);
    warn_of(trial);
    if (!may_win) return;
    finishers_.push_back({attempt, trial});
    if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
  }

  void warn_of(const Trial& trial) const {
    constexpr std::array kFaults{Outcome::wrong_result, Outcome::guard_violation, Outcome::unstable, Outcome::timed_out,
                                 Outcome::crashed};
    if (std::find(kFaults.begin(), kFaults.end(), trial.outcome) == kFaults.end()) return;
    log::warning("{}: {} {}: {}: {}", to_string(problem_), trial.key.family, trial.key.config, to_string(trial.outcome),
                 trial.note);
  }

  /// Re-times the fastest against each other. The index of the winner; none if nobody is left.
  std::optional<std::size_t> finals() {
    sort_by_time(finishers_);
    for (int i = 0; i < kRaces && !finishers_.empty() && !InterruptGuard::requested(); ++i) {
      try {
        return race(finishers_, *lane_, store_, preparation_.target().name);
      } catch (const RaceLostError& lost) {
        log::warning("{}: the race between the fastest stopped: {}", to_string(problem_), lost.what());
        remove_culprits();
      }
    }
    return finishers_.empty() ? std::nullopt : std::optional<std::size_t>(0);  // by the times that there are
  }

  /// Judges the fastest once more, alone, and keeps those that are right again.
  void remove_culprits() {
    best_us_ = 0;  // nobody is too slow
    std::vector<Finisher> kept;
    for (std::size_t i = 0; i < finishers_.size(); ++i) {
      Finisher& each = finishers_[i];
      const auto binary = store_.find_compiled(each.trial.key.source_hash, preparation_.target().name, true);
      if (i < kSuspects && binary) {
        run(each.attempt, *binary, each.trial);
        store_.put(each.trial);
        warn_of(each.trial);
      }
      if (each.trial.outcome == Outcome::ok) kept.push_back(std::move(each));
    }
    finishers_ = std::move(kept);
    sort_by_time(finishers_);
  }

  /// Stores the winner.
  void decide(const std::string& search) {
    if (options_.refresh && InterruptGuard::requested()) return;  // the decision that there is stays
    const auto best = finals();
    if (!best) {
      if (InterruptGuard::requested()) return;
      log::error("{}: no valid candidate among {}; see `mmtune space` and the database for the reasons",
                 to_string(problem_), attempts_.size());
      ++summary_.failed;
      return;
    }
    const Finisher& winner = finishers_[*best];
    if (options_.refresh && before_) {
      store_.put_winner(winner.trial.key, before_->search, before_->candidates);  // what was searched remains
    } else {
      // An interrupted or cut search is no final decision: the next run goes on with it.
      store_.put_winner(winner.trial.key, out_of_time() ? "" : search, static_cast<int>(attempts_.size()));
    }
    favourites_.add(winner.attempt.point);
    ++summary_.tuned;
  }

  SessionOptions options_;
  Effort effort_;
  std::vector<const Family*> families_;
  Store store_;
  TemplateFiles files_;
  CompilePool pool_;
  Preparation preparation_;
  Progress progress_;
  std::int64_t done_ = 0;
  SessionSummary summary_;
  std::unique_ptr<Lane> lane_;
  Clock::time_point deadline_;

  // Of the problem being tuned:
  Problem problem_;
  double best_us_ = 0;
  std::vector<Attempt> attempts_;
  std::vector<Finisher> finishers_;
  std::optional<Winner> before_;  ///< the stored decision

  Favourites favourites_;
};

}  // namespace

SessionSummary run_session(const SessionOptions& options) { return Session(options).run(); }

}  // namespace mmtune
