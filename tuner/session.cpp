#include "tuner/session.h"

#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "db/store.h"
#include "runtime/env.h"
#include "runtime/log.h"
#include "runtime/nvrtc.h"
#include "templates/families.h"
#include "templates/hash.h"
#include "templates/occupancy.h"
#include "templates/render.h"
#include "tuner/compile_pool.h"
#include "tuner/interrupt.h"
#include "tuner/lane.h"
#include "tuner/report.h"
#include "tuner/strategy.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFinalists = 6;
constexpr double kFinalMargin = 1.06;  // a screening time this close to the best may still win
constexpr double kTie = 1.005;         // closer than this in a race is a tie, and ties keep the incumbent

TemplateFiles template_files() {
  const auto directory = env::get("MMTUNE_TEMPLATE_DIR");
  return directory ? TemplateFiles::from_directory(*directory) : TemplateFiles::embedded();
}

std::vector<const Family*> chosen_families(const std::vector<std::string>& names) {
  std::vector<const Family*> chosen;
  for (const std::string& name : names) chosen.push_back(&family_named(name));
  if (names.empty()) {
    for (const Family* family : families()) {
      if (family->competes()) chosen.push_back(family);
    }
  }
  return chosen;
}

/// One run over all problems. The order of work stands in run(), tune() and judge(); everything else is a step.
class Session {
 public:
  explicit Session(const SessionOptions& options)
      : options_(options),
        effort_(effort_named(options.effort)),
        files_(template_files()),
        families_(chosen_families(options.families)),
        store_(Store::open(options.database, OpenMode::read_write)),
        nvrtc_(Nvrtc::load()),
        target_(compile_target(options.device.spec, nvrtc_.supported())),
        progress_(static_cast<std::int64_t>(options.problems.size()) * effort_.most_trials) {}

  SessionSummary run() {
    const InterruptGuard interrupts;
    const auto end =
        Clock::now() +
        std::chrono::milliseconds(options_.budget_s > 0 ? std::llround(1000 * options_.budget_s) : 1'000'000'000LL);
    for (std::size_t i = 0; i < options_.problems.size() && !InterruptGuard::requested(); ++i) {
      const Problem& problem = options_.problems[i];
      done_ = static_cast<std::int64_t>(i) * effort_.most_trials;
      progress_.update(done_, to_string(problem));
      const std::string search = search_hash(problem);
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
  struct Attempt {
    Point point;
    Candidate candidate;
    TrialKey key;
  };

  /// Identifies what is searched and how: a decision with the same hash need not be made again.
  std::string search_hash(const Problem& problem) const {
    ContentHash hash;
    hash.add(options_.strategy).add(effort_.name).add(std::to_string(options_.seed)).add(target_.name);
    for (const Family* family : families_) {
      hash.add(family->name());
      const Config config = family->default_config(problem);
      hash.add(render(files_, *family, problem, config, options_.device.spec, target_.compute_capability).hash);
      for (const ParamInfo& param : family->params()) {
        for (const int value : param.values) hash.add(std::to_string(value));
      }
    }
    for (const auto& [name, values] : options_.only) {
      hash.add(name);
      for (const int value : values) hash.add(std::to_string(value));
    }
    return hash.hex();
  }

  Evidence evidence() const { return options_.device.ordinal >= 0 ? Evidence::measured : Evidence::predicted; }

  bool decided(const Problem& problem, const std::string& search) {
    const auto winner = store_.find_winner(key_of(options_.device.spec), problem, evidence());
    return winner && winner->search == search;
  }

  Lane& lane() {
    if (!lane_) {
      lane_ = evidence() == Evidence::measured ? make_gpu_lane(options_.device, nvrtc_, target_)
                                               : make_model_lane(options_.device, nvrtc_);
      environment_ = lane_->environment();
      const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
      pool_.emplace(nvrtc_, files_, target_, options_.jobs > 0 ? options_.jobs : cores);
    }
    return *lane_;
  }

  void tune(const Problem& problem, const std::string& search) {
    problem_ = problem;
    best_us_ = 0;
    attempts_.clear();
    right_.clear();
    try {
      lane().begin(problem_);
      const Spaces spaces(families_, problem_, options_.device.spec, options_.only);
      const auto strategy = make_strategy(options_.strategy, {spaces, effort_, options_.seed, favourites()});
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

  bool out_of_time() const { return InterruptGuard::requested() || (Clock::now() > deadline_ && !right_.empty()); }

  /// Winners of this run and the last size's are where the next size's search starts.
  std::vector<Point> favourites() const {
    std::vector<Point> points;
    for (const auto& [family, config] : winners_) points.push_back({family, config, 0});
    return points;
  }

  /// Every proposed point becomes a stored trial: looked up, or compiled while the GPU measures the one before.
  void judge(const std::vector<Point>& points, Strategy& strategy) {
    std::vector<std::pair<std::size_t, Binary>> ready;
    for (const Point& point : points) {
      attempts_.push_back(prepare(point));
      const Attempt& attempt = attempts_.back();
      if (auto known = options_.retune ? std::nullopt : store_.find(attempt.key)) {
        learn(attempt, *known, strategy);
      } else if (auto binary = store_.find_compiled(attempt.key.source_hash, target_.name, true);
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

  Attempt prepare(const Point& point) const {
    Attempt attempt{point, {point.family, point.config, {}, {}}, {}};
    attempt.candidate.plan = point.family->plan(problem_, point.config, options_.device.spec);
    attempt.candidate.source =
        render(files_, *point.family, problem_, point.config, options_.device.spec, target_.compute_capability);
    attempt.key = {key_of(options_.device.spec),  problem_,  std::string(point.family->name()), point.config.text(),
                   attempt.candidate.source.hash, evidence()};
    return attempt;
  }

  Trial blank_trial(const Attempt& attempt) const {
    Trial trial;
    trial.key = attempt.key;
    trial.environment = environment_;
    trial.deterministic = attempt.candidate.plan.deterministic;
    return trial;
  }

  /// A finished compilation becomes a trial; a failed one too.
  Trial take(const Attempt& attempt, const Compilation& compilation) {
    if (!compilation.ok()) {
      Trial trial = blank_trial(attempt);
      trial.outcome = Outcome::compile_failed;
      trial.note = compilation.log;
      store_.put(trial);
      return trial;
    }
    Binary binary;
    binary.hash = compilation.code_hash;
    binary.target = target_.name;
    binary.exact_target = target_.exact;
    binary.cubin = compilation.cubin;
    binary.compile_ms = compilation.compile_ms;
    for (const KernelResources& kernel : compilation.kernels) {
      binary.registers = std::max(binary.registers, kernel.registers);
      binary.spill_bytes = std::max(binary.spill_bytes, kernel.spill_bytes);
      binary.stack_bytes = std::max(binary.stack_bytes, kernel.stack_bytes);
      binary.static_smem_bytes = std::max(binary.static_smem_bytes, kernel.static_smem_bytes);
    }
    store_.put_compiled(attempt.key.source_hash, binary);
    return evaluate(attempt, binary);
  }

  /// Judges a compiled candidate and stores the trial with its binary.
  Trial evaluate(const Attempt& attempt, const Binary& binary) {
    progress_.update(++done_, fmt::format("{} {} {}", to_string(problem_), attempt.key.family, attempt.key.config));
    log::debug("{}: {} {}", to_string(problem_), attempt.key.family, attempt.key.config);
    Trial trial = blank_trial(attempt);
    trial.binary_hash = binary.hash;
    const LaunchStep& step = attempt.candidate.plan.steps.front();
    trial.smem_bytes = step.smem_bytes + binary.static_smem_bytes;
    const int threads = static_cast<int>(step.block.x) * step.block.y * step.block.z;
    const Occupancy fit = occupancy(options_.device.spec, {threads, binary.registers, trial.smem_bytes});
    trial.occupancy = fit.share;
    if (fit.blocks_per_sm == 0) {
      trial.outcome = Outcome::does_not_fit;
      trial.note = fmt::format("{} threads of {} registers with {} bytes of shared memory exceed an SM", threads,
                               binary.registers, trial.smem_bytes);
    } else if (const auto twin = store_.find_twin(attempt.key, binary.hash); twin && !options_.retune) {
      trial.outcome = twin->outcome;
      trial.note = twin->note;
      trial.timing = twin->timing;
      trial.error_share = twin->error_share;
    } else {
      run(attempt, binary, trial);
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
    right_.emplace_back(attempt, trial);
    if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
  }

  /// Re-times the fastest against each other and stores the winner.
  void decide(const std::string& search) {
    if (right_.empty()) {
      if (InterruptGuard::requested()) return;
      log::error("{}: no valid candidate among {}; see `mmtune space` and the database for the reasons",
                 to_string(problem_), attempts_.size());
      ++summary_.failed;
      return;
    }
    std::stable_sort(right_.begin(), right_.end(), [](const auto& x, const auto& y) {
      return x.second.timing.median_us < y.second.timing.median_us;
    });
    const std::size_t best = InterruptGuard::requested() ? 0 : race();
    const Trial& winner = right_[best].second;
    // An interrupted or cut search is no final decision: the next run goes on with it.
    store_.put_winner(winner.key, out_of_time() ? "" : search, static_cast<int>(attempts_.size()));
    winners_.insert(winners_.begin(), {right_[best].first.point.family, right_[best].first.point.config});
    winners_.resize(std::min<std::size_t>(winners_.size(), 3));
    ++summary_.tuned;
  }

  /// The index of the winner in right_, whose timings become those of the race.
  std::size_t race() {
    std::vector<Contender> contenders;
    for (const auto& [attempt, trial] : right_) {
      if (contenders.size() == kFinalists || trial.timing.median_us > kFinalMargin * best_us_) break;
      auto binary = store_.find_compiled(attempt.key.source_hash, target_.name, true);
      if (!binary) break;
      contenders.push_back({attempt.candidate, std::move(*binary)});
    }
    if (contenders.size() < 2) return 0;
    const std::vector<Timing> timings = lane_->race(contenders);
    std::vector<Trial> rows;
    for (std::size_t i = 0; i < timings.size(); ++i) {
      right_[i].second.timing = timings[i];
      rows.push_back(right_[i].second);
    }
    store_.put(rows, {});

    std::size_t best = 0;
    for (std::size_t i = 1; i < timings.size(); ++i) {
      if (timings[i].median_us < timings[best].median_us) best = i;
    }
    const auto incumbent = store_.find_winner(key_of(options_.device.spec), problem_, evidence());
    for (std::size_t i = 0; incumbent && i < timings.size(); ++i) {
      const bool same = right_[i].second.key.config == incumbent->trial.key.config &&
                        right_[i].second.key.family == incumbent->trial.key.family;
      if (same && timings[i].median_us <= kTie * timings[best].median_us) best = i;
    }
    return best;
  }

  SessionOptions options_;
  Effort effort_;
  TemplateFiles files_;
  std::vector<const Family*> families_;
  Store store_;
  Nvrtc nvrtc_;
  CompileTarget target_;
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
  std::vector<std::pair<Attempt, Trial>> right_;

  std::vector<std::pair<const Family*, Config>> winners_;  // latest first
};

}  // namespace

SessionSummary run_session(const SessionOptions& options) { return Session(options).run(); }

}  // namespace mmtune
