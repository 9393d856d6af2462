#include "tuner/session.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "db/store.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "tuner/attempts.h"
#include "tuner/candidate.h"
#include "tuner/compile_pool.h"
#include "tuner/decision.h"
#include "tuner/fallbacks.h"
#include "tuner/interrupt.h"
#include "tuner/lane.h"
#include "tuner/problem_tuning.h"
#include "tuner/report.h"
#include "tuner/strategy.h"
#include "tuner/worker_lane.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

/// One run over all problems. The order of work stands in run() and in ProblemTuning; everything else is a step.
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
      tune(problem, search, now + (end - now) / static_cast<std::int64_t>(options_.problems.size() - i));
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
    return winner && winner->search == search && winner->trial.environment.nvrtc == preparation_.nvrtc();
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

  void tune(const Problem& problem, const std::string& search, Clock::time_point deadline) {
    const TuningSetup setup{options_, effort_, families_, preparation_, store_, pool_, lane(), InterruptGuard::requested,
                            [this](const std::string& note) {
                              ++done_;
                              report(note);
                            }};
    settle_attempts(options_.device.spec, store_);
    ProblemTuning tuning(setup, problem, search, deadline);
    const Ending ending = tuning.run(favourites_.points());
    settle_attempts(options_.device.spec, store_);
    if (ending == Ending::failed) ++summary_.failed;
    if (ending != Ending::decided) return;
    ++summary_.tuned;
    favourites_.add(tuning.winner());
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
  Favourites favourites_;
};

}  // namespace

SessionSummary run_session(const SessionOptions& options) { return Session(options).run(); }

}  // namespace mmtune
