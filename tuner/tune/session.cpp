#include "tuner/tune/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "tuner/lanes/lane.h"
#include "tuner/lanes/timed_lane.h"
#include "tuner/search/strategy.h"
#include "tuner/text/text.h"
#include "tuner/tune/deadlines.h"
#include "tuner/tune/fallbacks.h"
#include "tuner/tune/head_start.h"
#include "tuner/tune/launches.h"
#include "tuner/tune/lessons.h"
#include "tuner/tune/lost_compiles.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/problem_tuning.h"
#include "tuner/tune/run_progress.h"
#include "tuner/tune/task_list.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/interrupt.h"
#include "tuner/workers/kept_workers.h"
#include "tuner/workers/worker_lane.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

/// A GPU model, or a prediction of one: its devices share the problems.
struct Model {
  Model(Preparation made, const std::vector<const Family*>& families, const Restriction& only, Store& store,
        std::chrono::milliseconds limit, Clock::time_point end, Clock::time_point latest)
      : preparation(std::move(made)),
        spaces(families, preparation.device(), only),
        lost(store, preparation, limit),
        code(preparation),
        tasks(Deadlines(end, expected_race(preparation)), latest) {}

  static std::chrono::milliseconds expected_race(const Preparation& preparation) {
    return milliseconds_of(preparation.evidence() == Evidence::measured ? kExpectedRace_s : 0);
  }

  Preparation preparation;
  SpaceMemory spaces;
  LostCompiles lost;
  CodeMemory code;
  std::vector<DeviceChoice> devices;
  TaskQueue tasks;
  Favourites favourites;
};

/// What a thread works with: a device and its ways to compilers and the store.
struct Workplace {
  Lane& lane;
  CompileQueue& compiler;
  HeadStart& head_start;
  TrialBatch& batch;
  bool has_worked = false;  ///< whether a problem was tuned here
};

/// One run over all problems: run() lists them, run_lane() works on them, a thread for each device, and ProblemTuning
/// knows how one is tuned.
class Session {
 public:
  explicit Session(const SessionOptions& options)
      : options_(options),
        effort_(effort_named(options.effort)),
        families_(searched_families(options.families)),
        store_(Store::open(options.database, OpenMode::read_write)),
        files_(template_files()),
        pool_(compilers(options, files_)),
        compiled_before_(pool_->times()),
        begin_(Clock::now()) {
    for (const DeviceChoice& model : models_of(options.devices)) add_model(model);
    progress_.emplace(static_cast<std::int64_t>(models_.size() * options_.problems.size()), effort_.most_trials);
  }

  SessionSummary run() {
    const InterruptGuard interrupts;
    for (Model& model : models_) {
      CompileQueue compiler(*pool_);
      store_fallbacks(options_.problems, model.preparation, compiler, store_);
      take_tasks(model);
    }
    if (!options_.is_part) say(shortfall());
    run_lanes();
    if (fault_) std::rethrow_exception(fault_);
    if (!options_.is_part) store_.shrink();  // the machine code of those that lost was most of the file
    say_times();
    if (!options_.is_part) say(budget_excess(options_.budget_s, seconds_since(begin_)));
    summary_.interrupted = InterruptGuard::requested();
    for (const Model& model : models_) {
      for (const Problem& problem : model.tasks.coming()) summary_.left.push_back(problem);
    }
    if (!options_.is_part && !summary_.interrupted) say(budget_left(options_.budget_s, summary_.left));
    return summary_;
  }

 private:
  static std::shared_ptr<CompilePool> compilers(const SessionOptions& options, const TemplateFiles& files) {
    const CompilePoolOptions pool{.jobs = options.jobs,
                                  .limit = milliseconds_of(options.compile_limit_s),
                                  .start_limit = milliseconds_of(options.load_limit_s)};
    return options.kept ? options.kept->compilers(files, pool) : std::make_shared<CompilePool>(files, pool);
  }

  std::chrono::milliseconds budget() const {
    constexpr double kNoBudget_s = 1e6;
    return milliseconds_of(options_.budget_s > 0 ? options_.budget_s : kNoBudget_s);
  }

  Clock::time_point latest() const {
    const std::chrono::duration<double> budget(options_.budget_s);
    const double latest_s = options_.latest_s > 0 ? options_.latest_s : (budget + tolerance(budget)).count();
    return options_.budget_s + options_.latest_s > 0 ? begin_ + milliseconds_of(latest_s) : Clock::time_point::max();
  }

  bool any_measured() const {
    return std::any_of(options_.devices.begin(), options_.devices.end(),
                       [](const DeviceChoice& device) { return evidence_of(device) == Evidence::measured; });
  }

  static void say(const std::string& words) {
    if (!words.empty()) log::warning("{}", words);
  }

  /// Models work side by side, and share the processes that compile.
  std::string shortfall() const {
    std::size_t problems = 0, lanes = 0;
    for (const Model& model : models_) {
      const std::size_t coming = model.tasks.size();
      problems += coming;
      lanes += std::min(model.devices.size(), coming);
    }
    return budget_shortfall(options_.budget_s, problems, lanes, least_problem_s(any_measured(), pool_->jobs()));
  }

  void add_model(const DeviceChoice& first) {
    const CompileTarget target = compile_target(first.spec, pool_->compiler().supported);
    if (!target.exact) {
      log::warning("{}: NVRTC {} compiles for {} and not for its sm_{}: registers and occupancy may differ",
                   first.spec.name, pool_->compiler().version, target.name, compute_capability(first.spec));
    }
    Model& model = models_.emplace_back(
        Preparation(files_, first.spec, target, evidence_of(first), pool_->compiler().version), families_,
        options_.only, store_, milliseconds_of(options_.compile_limit_s), begin_ + budget(), latest());
    for (const DeviceChoice& device : options_.devices) {
      if (is_same_model(device, first)) model.devices.push_back(device);
    }
  }

  void take_tasks(Model& model) {
    TaskList list = list_tasks(options_, families_, model.preparation, model.devices.size(), store_);
    model.tasks.fill(std::move(list.tasks), model.devices.size());
    summary_.known += list.known;
    summary_.failed += list.too_large;
    for (int i = 0; i < list.known + list.too_large; ++i) progress_->skip();
  }

  /// Where the time went; most of it at the same time.
  void say_times() const {
    const CompileStats all = pool_->times();
    const CompileStats compiling{all.sources - compiled_before_.sources, all.seconds - compiled_before_.seconds};
    const bool has_measured = times_.judging_s + times_.racing_s > 0.05;  // Predictions take next to nothing.
    if (compiling.sources == 0 && !has_measured) return;
    auto text = fmt::format("time: {} compiled in {:.1f} s of all compilers together",
                            counted(compiling.sources, "source"), compiling.seconds);
    if (has_measured) {
      text += fmt::format("; checked and measured in {:.1f} s, raced in {:.1f} s", times_.judging_s, times_.racing_s);
    }
    log::warning("{}", text);
  }

  /// The last lane has this thread, and leaves its worker to the next session: it would end with a thread of its own.
  void run_lanes() {
    std::vector<std::pair<Model*, const DeviceChoice*>> lanes;
    for (Model& model : models_) {
      if (model.tasks.size() == 0) continue;
      for (const DeviceChoice& device : model.devices) lanes.emplace_back(&model, &device);
    }
    if (lanes.empty()) return;
    const auto [model, device] = lanes.back();
    lanes.pop_back();
    std::vector<std::jthread> threads;
    for (const auto& lane : lanes) {
      threads.emplace_back([this, lane] {
        KeptGpu own;
        run_lane(*lane.first, *lane.second, own);
      });
    }
    KeptGpu own;
    run_lane(*model, *device, options_.kept ? options_.kept->gpu(device->spec.uuid) : own);
  }

  /// A fault ends all lanes.
  void run_lane(Model& model, const DeviceChoice& device, KeptGpu& gpu) {
    try {
      const auto is_over = [&] { return is_stopped() || model.tasks.size() == 0; };
      const bool is_model = evidence_of(device) == Evidence::predicted;
      if (!is_model && !gpu.lock) gpu.lock = GpuLock::wait(device, options_.wait_s, is_over);
      if (!is_model && !gpu.lock) return;
      const SettledGpu settled(device.spec, store_);
      LaneTimes times;
      const auto lane = make_timed_lane(make_lane(model, device, gpu.worker), times);
      CompileQueue compiler(*pool_);
      HeadStart head_start(*pool_, model.code, model.lost, model.preparation);
      TrialBatch batch(store_);
      const bool is_listed = !options_.mode.decides() && !is_model;
      if (is_listed)
        order_listed(options_.mode, model.preparation, store_, model.code, head_start, model.tasks.coming());
      Workplace place{*lane, compiler, head_start, batch};
      while (const auto taken = is_stopped() ? std::nullopt : model.tasks.take()) {
        tune(model, *taken, place);
        if (!is_listed) settle_launches(device.spec, store_);
      }
      batch.store();
      const std::lock_guard guard(mutex_);
      times_ += times;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
      has_fault_ = true;
    }
  }

  bool is_stopped() const { return has_fault_ || InterruptGuard::requested(); }

  /// Without a budget, and where all is listed and on order, there is none to keep.
  Pace pace(Clock::duration part) const {
    if (options_.budget_s <= 0 || !options_.mode.decides()) return {};
    const CompileStats compiling = pool_->times();
    const double mean_s = compiling.seconds / static_cast<double>(std::max<std::int64_t>(1, compiling.sources));
    return pace_of(part, std::chrono::duration<double>(std::max(kCompile_s, mean_s)),
                   static_cast<double>(pool_->jobs()) / static_cast<double>(options_.devices.size()));
  }

  std::unique_ptr<Lane> make_lane(const Model& model, const DeviceChoice& device, OpenWorker& kept) {
    if (evidence_of(device) == Evidence::predicted) return make_model_lane(device, pool_->compiler().version);
    return make_worker_lane({.device = device,
                             .target = model.preparation.target(),
                             .canary = canary_for(options_.problems.front(), model.preparation, store_),
                             .limit = milliseconds_of(options_.launch_limit_s),
                             .start_limit = milliseconds_of(options_.open_limit_s),
                             .begin_limit = milliseconds_of(options_.begin_limit_s),
                             .kept = &kept});
  }

  void tune(Model& model, const TakenTask& taken, Workplace& place) {
    const Preparation& preparation = model.preparation;
    const Task& task = taken.task;
    RunProgress::Search progress = progress_->begin(task.problem, most_trials(preparation, task.problem));
    const TuningSetup setup{options_,
                            effort_,
                            model.spaces,
                            preparation,
                            store_,
                            place.compiler,
                            model.lost,
                            model.code,
                            place.lane,
                            place.batch,
                            [this] { return is_stopped(); },
                            progress,
                            pace(taken.part)};
    place.head_start.hand_over();
    std::jthread ordering = begin_next(model, setup, place.head_start);
    ProblemTuning tuning(setup, task.problem, task.search, taken.deadline, taken.patience);
    const Ending ending = tuning.run(favourites(model));
    ordering = {};  // stops it
    const auto winner = store_.find_winner(preparation.key(task.problem));
    progress.end(ending == Ending::decided && winner ? &*winner : nullptr);
    // Others find what they begin with compiled ahead.
    const bool is_first = !std::exchange(place.has_worked, true);
    model.tasks.ended(taken.deadline + (is_first ? tuning.waited() : Clock::duration{}));
    const std::lock_guard lock(mutex_);
    if (ending == Ending::failed) ++summary_.failed;
    if (ending == Ending::decided) ++summary_.tuned;
    if (ending == Ending::not_beaten) ++summary_.not_beaten;
    if (ending == Ending::decided || ending == Ending::not_beaten) model.favourites.add(tuning.winner());
  }

  /// Orders what the next problems begin with, beside the search of this one; for predictions nothing but compilers
  /// takes time, and what is listed is on order.
  std::jthread begin_next(const Model& model, const TuningSetup& setup, HeadStart& head_start) {
    if (model.preparation.evidence() != Evidence::measured || !options_.mode.decides()) return {};
    return order_ahead(setup, head_start, model.tasks.coming(setup.pace.ahead), favourites(model));
  }

  /// The most trials there can be: no more than the spaces hold, before their rules: what these leave is known when
  /// they are searched.
  std::int64_t most_trials(const Preparation& preparation, const Problem& problem) const {
    return std::min<std::int64_t>(configurations(options_, preparation.device(), problem), effort_.most_trials);
  }

  std::vector<Candidate> favourites(const Model& model) {
    const std::lock_guard lock(mutex_);
    return model.favourites.candidates();
  }

  SessionOptions options_;
  Effort effort_;
  std::vector<const Family*> families_;
  Store store_;
  TemplateFiles files_;
  std::shared_ptr<CompilePool> pool_;
  CompileStats compiled_before_;  ///< what the pool had compiled for other sessions
  const Clock::time_point begin_;
  std::list<Model> models_;
  std::optional<RunProgress> progress_;
  std::atomic<bool> has_fault_ = false;

  std::mutex mutex_;  ///< the lock of everything below, and of favourites
  LaneTimes times_;   ///< the times of lanes that have ended
  SessionSummary summary_;
  std::exception_ptr fault_;
};

}  // namespace

SessionSummary run_session(const SessionOptions& options) { return Session(options).run(); }

}  // namespace mmtune
