#include "tuner/session.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "db/store.h"
#include "runtime/log.h"
#include "runtime/nvrtc.h"
#include "runtime/template_files.h"
#include "tuner/candidate.h"
#include "tuner/compile_pool.h"
#include "tuner/decision.h"
#include "tuner/fallbacks.h"
#include "tuner/interrupt.h"
#include "tuner/lane.h"
#include "tuner/report.h"
#include "tuner/strategy.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

/// One run over all problems. The order of work stands in run(), tune() and judge(); everything else is a step.
class Session {
 public:
  explicit Session(const SessionOptions& options)
      : options_(options),
        effort_(effort_named(options.effort)),
        families_(searched_families(options.families)),
        store_(Store::open(options.database, OpenMode::read_write)),
        nvrtc_(Nvrtc::load()),
        preparation_(template_files(), options.device.spec, compile_target(options.device.spec, nvrtc_.supported()),
                     evidence_of(options.device)),
        progress_(static_cast<std::int64_t>(options.problems.size()) * effort_.most_trials) {}

  SessionSummary run() {
    const InterruptGuard interrupts;
    const auto end = Clock::now() + budget();
    store_fallbacks(options_.problems, preparation_, nvrtc_, store_);
    for (std::size_t i = 0; i < options_.problems.size() && !InterruptGuard::requested(); ++i) {
      const Problem& problem = options_.problems[i];
      done_ = static_cast<std::int64_t>(i) * effort_.most_trials;
      report(to_string(problem));
      const std::string search = search_hash(options_, families_, preparation_, problem);
      if (!options_.retune && decided(problem, search)) {
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
    constexpr std::int64_t kUnlimited_ms = 1'000'000'000;
    return std::chrono::milliseconds(options_.budget_s > 0 ? std::llround(1000 * options_.budget_s) : kUnlimited_ms);
  }

  void report(const std::string& note) {
    progress_.update(done_, preparation_.evidence() == Evidence::predicted ? "predicted: " + note : note);
  }

  bool decided(const Problem& problem, const std::string& search) {
    const auto winner = store_.find_winner(key_of(options_.device.spec), problem, preparation_.evidence());
    return winner && winner->search == search;
  }

  Lane& lane() {
    if (!lane_) {
      lane_ = preparation_.evidence() == Evidence::measured
                  ? make_gpu_lane(options_.device, nvrtc_, preparation_.target())
                  : make_model_lane(options_.device, nvrtc_);
      environment_ = lane_->environment();
      const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
      pool_.emplace(nvrtc_, preparation_.files(), preparation_.target(), options_.jobs > 0 ? options_.jobs : cores);
    }
    return *lane_;
  }

  void tune(const Problem& problem, const std::string& search) {
    problem_ = problem;
    best_us_ = 0;
    attempts_.clear();
    finishers_.clear();
    try {
      lane().begin(problem_);
      const Spaces spaces(families_, problem_, options_.device.spec, options_.only);
      const auto strategy = make_strategy(options_.strategy, {spaces, effort_, options_.seed, favourites_.points()});
      for (auto points = strategy->propose(); !points.empty(); points = strategy->propose()) {
        judge(points, *strategy);
        if (out_of_time()) break;
      }
      decide(search);
    } catch (const OutOfMemoryError& error) {
      log::error("{}: does not fit on this GPU, skipped: {}", to_string(problem_), error.what());
      ++summary_.failed;
    }
    pool_->clear();
  }

  bool out_of_time() const { return InterruptGuard::requested() || (Clock::now() > deadline_ && !finishers_.empty()); }

  /// Every proposed point becomes a stored trial: looked up, or compiled while the GPU measures the one before.
  void judge(const std::vector<Point>& points, Strategy& strategy) {
    std::vector<std::pair<std::size_t, Binary>> ready;
    for (const Point& point : points) {
      attempts_.push_back(preparation_.attempt(problem_, point));
      const Attempt& attempt = attempts_.back();
      if (auto known = options_.retune ? std::nullopt : store_.find(attempt.key)) {
        learn(attempt, *known, strategy);
      } else if (auto binary = store_.find_compiled(attempt.key.source_hash, preparation_.target().name, true);
                 binary && !binary->cubin.empty()) {
        ready.emplace_back(attempts_.size() - 1, std::move(*binary));
      } else {
        pool_->submit(attempts_.size() - 1, attempt.candidate.source);
      }
    }
    for (auto& [index, binary] : ready) {
      if (out_of_time()) return;
      learn(attempts_[index], evaluate(attempts_[index], binary), strategy);
    }
    while (auto compiled = pool_->next()) {
      if (out_of_time()) return;
      const Attempt& attempt = attempts_[compiled->ticket];
      learn(attempt, take(attempt, compiled->compilation), strategy);
    }
  }

  /// A finished compilation becomes a trial; a failed one too.
  Trial take(const Attempt& attempt, const Compilation& compilation) {
    if (!compilation.ok()) {
      Trial trial = preparation_.trial(attempt, environment_);
      trial.outcome = Outcome::compile_failed;
      trial.note = compilation.log;
      store_.put(trial);
      return trial;
    }
    const Binary binary = preparation_.binary(compilation);
    store_.put_compiled(attempt.key.source_hash, binary);
    return evaluate(attempt, binary);
  }

  /// Judges a compiled candidate and stores the trial with its binary.
  Trial evaluate(const Attempt& attempt, const Binary& binary) {
    ++done_;
    report(fmt::format("{} {} {}", to_string(problem_), attempt.key.family, attempt.key.config));
    log::debug("{}: {} {}", to_string(problem_), attempt.key.family, attempt.key.config);
    Trial trial = preparation_.trial(attempt, environment_, binary);
    if (trial.outcome == Outcome::ok) {
      // A measured time says nothing of what the model predicts.
      const bool reusable = !options_.retune && preparation_.evidence() == Evidence::measured;
      if (const auto twin = reusable ? store_.find_twin(attempt.key, binary.hash) : std::nullopt) {
        trial.timing = twin->timing;
        trial.error_share = twin->error_share;
      } else {
        run(attempt, binary, trial);
      }
    }
    store_.put(trial, &binary);
    return trial;
  }

  void run(const Attempt& attempt, const Binary& binary, Trial& trial) {
    try {
      const Evaluation evaluation = lane_->evaluate(attempt.candidate, binary, best_us_);
      trial.outcome = evaluation.outcome;
      trial.note = evaluation.note;
      trial.timing = evaluation.timing;
      trial.error_share = evaluation.error_share;
    } catch (const DeviceLostError& error) {
      trial.outcome = Outcome::crashed;
      trial.note = error.what();
      store_.put(trial, &binary);
      throw DeviceLostError(
          fmt::format("{} {} {} broke the GPU's context: {}. It is recorded and will not be tried "
                      "again; run the same command to go on from here.",
                      to_string(problem_), attempt.key.family, attempt.key.config, error.what()));
    }
  }

  void learn(const Attempt& attempt, const Trial& trial, Strategy& strategy) {
    strategy.learn(attempt.point, trial);
    if (trial.outcome == Outcome::wrong_result || trial.outcome == Outcome::guard_violation ||
        trial.outcome == Outcome::unstable) {
      log::warning("{}: {} {}: {}: {}", to_string(problem_), trial.key.family, trial.key.config,
                   to_string(trial.outcome), trial.note);
    }
    if (trial.outcome != Outcome::ok) return;
    finishers_.push_back({attempt, trial});
    if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
  }

  /// Re-times the fastest against each other and stores the winner.
  void decide(const std::string& search) {
    if (finishers_.empty()) {
      if (InterruptGuard::requested()) return;
      log::error("{}: no valid candidate among {}; see `mmtune space` and the database for the reasons",
                 to_string(problem_), attempts_.size());
      ++summary_.failed;
      return;
    }
    sort_by_time(finishers_);
    const std::size_t best =
        InterruptGuard::requested() ? 0 : race(finishers_, *lane_, store_, preparation_.target().name);
    const Finisher& winner = finishers_[best];
    // An interrupted or cut search is no final decision: the next run goes on with it.
    store_.put_winner(winner.trial.key, out_of_time() ? "" : search, static_cast<int>(attempts_.size()));
    favourites_.add(winner.attempt.point);
    ++summary_.tuned;
  }

  SessionOptions options_;
  Effort effort_;
  std::vector<const Family*> families_;
  Store store_;
  Nvrtc nvrtc_;
  Preparation preparation_;
  Progress progress_;
  std::int64_t done_ = 0;
  SessionSummary summary_;
  std::unique_ptr<Lane> lane_;
  std::optional<CompilePool> pool_;
  Environment environment_;
  Clock::time_point deadline_;

  // Of the problem being tuned:
  Problem problem_;
  double best_us_ = 0;
  std::vector<Attempt> attempts_;
  std::vector<Finisher> finishers_;

  Favourites favourites_;
};

}  // namespace

SessionSummary run_session(const SessionOptions& options) { return Session(options).run(); }

}  // namespace mmtune
