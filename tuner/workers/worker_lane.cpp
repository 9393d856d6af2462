#include "tuner/workers/worker_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "db/launch_record.h"
#include "runtime/base/log.h"
#include "templates/model/floors.h"

namespace mmtune {
namespace {

using std::chrono::milliseconds;

constexpr int kLaunches = 12;      // the launches of a candidate that is judged
constexpr int kRaceLaunches = 20;  // a finalist with long launches has the least rounds, some repeated, and late checks
constexpr double kSlowest = 100;   // A launch that takes so many times what the peak rates allow has no end.
constexpr int kMostBegins = 2;     // the attempts to prepare a problem before it counts as unmeasurable

/// Whether a GPU that does not work can be the reason.
bool may_be_gpus_fault(const Verdict& verdict) {
  const Outcome outcome = verdict.outcome;
  return is_kill(outcome) || outcome == Outcome::wrong_result || outcome == Outcome::guard_violation ||
         outcome == Outcome::unstable;
}

/// The least time of one launch by the GPU's peak rates.
double roofline_ms(const Problem& problem, const DeviceSpec& device) {
  return floors(problem, peak_tflops(device, problem.precision), device).least_us() / 1000;
}

milliseconds work_limit(double launches, const Problem& problem, const DeviceSpec& device) {
  constexpr double kMost_ms = 1e9;
  return milliseconds(std::llround(std::min(kMost_ms, launches * kSlowest * roofline_ms(problem, device))));
}

class WorkerLane final : public Lane {
 public:
  explicit WorkerLane(WorkerLaneOptions options) : options_(std::move(options)) {
    if (options_.kept != nullptr && options_.kept->process) {
      worker_ = std::move(options_.kept->process);
      environment_ = options_.kept->environment;
      opened_ = true;
    } else {
      start();
    }
  }

  ~WorkerLane() override {
    const bool is_free = worker_ && opened_ && !suspicious_ && begun_ != Begun::requested && stale_ == 0;
    if (options_.kept == nullptr || !is_free) return;
    options_.kept->process = std::move(worker_);
    options_.kept->environment = environment_;
  }

  WorkerLane(const WorkerLane&) = delete;
  WorkerLane& operator=(const WorkerLane&) = delete;

  Evidence evidence() const override { return Evidence::measured; }

  Environment environment() override {
    ready();
    return environment_;
  }

  void begin(const Problem& problem, int samples) override {
    if (begun_ == Begun::requested) ++stale_;
    problem_ = problem;
    samples_ = samples;
    begun_ = Begun::no;
    begins_ = 0;
    if (worker_ && !suspicious_) request_begin();
  }

  Verdict evaluate(const Program& program, double best_us) override {
    prepare();
    Verdict verdict = evaluate_now(problem_, program, best_us);
    if (may_be_gpus_fault(verdict)) check_gpu();
    return verdict;
  }

  RaceResult race(const std::vector<Program>& finalists) override {
    prepare();
    RaceResult result = race_now(finalists);
    if (std::any_of(result.verdicts.begin(), result.verdicts.end(), may_be_gpus_fault)) check_gpu();
    return result;
  }

 private:
  enum class Begun { no, requested, yes };

  std::string name() const { return fmt::format("GPU {}", options_.device.ordinal); }

  RaceResult race_now(const std::vector<Program>& finalists) {
    const milliseconds limit = options_.begin_limit + work_limit(kRaceLaunches * static_cast<double>(finalists.size()),
                                                                 problem_, options_.device.spec);
    try {
      auto result = worker_->ask(RaceRequest{sent(finalists)}, limit);
      if (result.verdicts.size() == finalists.size()) return result;
      lose();
      throw RaceLostError("its process answered nonsense");
    } catch (const WorkerLost& lost) {
      lose();
      throw RaceLostError(lost.what());
    } catch (const DeviceLostError& lost) {
      lose();
      throw RaceLostError(lost.what());
    } catch (const DeviceError& refused) {
      throw RaceLostError(refused.what());
    } catch (const OutOfMemoryError& refused) {  // Each alone had enough.
      throw RaceLostError(refused.what());
    }
  }

  void start() {
    worker_ = std::make_unique<WorkerProcess>(options_.program, name());
    opened_ = false;
    begun_ = Begun::no;
    stale_ = 0;
    worker_->send(OpenRequest{options_.device.spec, options_.device.ordinal, options_.target}, options_.start_limit);
  }

  /// The worker's process is gone, or to be given up; what comes next starts another and looks at the GPU first.
  void lose() {
    worker_.reset();
    begun_ = Begun::no;
    suspicious_ = true;
  }

  /// There is a worker, and the GPU works.
  void ready() {
    try {
      if (!worker_) start();
      if (!opened_) environment_ = worker_->receive<OpenRequest>(options_.start_limit);
      opened_ = true;
    } catch (const WorkerLost& lost) {
      worker_.reset();
      throw DeviceLostError(fmt::format("{} cannot be used: {}; see `mmtune doctor`", name(), lost.what()));
    } catch (const DeviceError& error) {
      if (suspicious_) give_up_gpu(fmt::format("it cannot be used in a new process ({})", error.what()));
      throw;
    }
    if (std::exchange(suspicious_, false)) {
      if (const std::string fault = fault_of_canary(); !fault.empty()) {
        give_up_gpu(fmt::format("a kernel that is known to work fails in a new process ({})", fault));
      }
    }
  }

  /// Tells, before a candidate is blamed, one that spoilt its own process from a faulty GPU, by a new process.
  void check_gpu() {
    if (worker_) {
      if (const std::string fault = fault_of_canary(); fault.empty()) return;
      lose();
    }
    ready();
  }

  /// Runs the kernel that is known to work; the problem has to be begun again. Empty if it worked, or there is none.
  std::string fault_of_canary() {
    if (!options_.canary) return "";
    const Program& program = *options_.canary;
    const Problem& problem = program.key.problem;
    log::debug("{}: running a kernel that is known to work", name());
    begun_ = Begun::no;
    try {
      worker_->ask(BeginRequest{problem, kScreenSamples}, options_.begin_limit + options_.limit);
      const Verdict verdict = evaluate_now(problem, program, 0);
      return verdict.outcome == Outcome::ok ? "" : fmt::format("{}: {}", to_string(verdict.outcome), verdict.note);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  [[noreturn]] void give_up_gpu(const std::string& why) {
    worker_.reset();
    throw DeviceLostError(
        fmt::format("{} is faulty: {}; look for Xid in the kernel's log, reset the GPU, then run the "
                    "same command to go on",
                    name(), why));
  }

  void request_begin() {
    begun_ = Begun::requested;
    begin_limit_ = options_.begin_limit + options_.limit + work_limit(4, problem_, options_.device.spec);
    worker_->send(BeginRequest{problem_, samples_}, begin_limit_);
  }

  /// There is a worker that has begun the problem.
  void prepare() {
    while (begun_ != Begun::yes) {
      try {
        ready();
        for (; stale_ > 0; --stale_) skip_answer();
        if (begun_ == Begun::no) request_begin();
        begun_ = Begun::no;  // It stays so unless the answer is a good one.
        worker_->receive<BeginRequest>(begin_limit_);
        begun_ = Begun::yes;
      } catch (const WorkerLost& lost) {
        lose_at_begin(lost.what());
      } catch (const DeviceLostError& lost) {
        if (!worker_) throw;  // The GPU is faulty.
        lose_at_begin(lost.what());
      }
    }
  }

  /// Takes the answer to the beginning of a problem that was given up, and drops it.
  void skip_answer() {
    try {
      worker_->receive<BeginRequest>(begin_limit_);
    } catch (const OutOfMemoryError& error) {
      log::debug("{}: {}", name(), error.what());
    }
  }

  void lose_at_begin(const std::string& why) {
    lose();
    log::warning("{}: {}: operands cannot be prepared: {}", name(), to_string(problem_), why);
    if (++begins_ >= kMostBegins) throw UnmeasurableError(fmt::format("its operands cannot be prepared: {}", why));
  }

  Verdict evaluate_now(const Problem& problem, const Program& program, double best_us) {
    const auto lost = [this](Outcome outcome, const char* why) {
      lose();
      return Verdict{outcome, why, {}, 0};
    };
    try {
      return worker_->ask(EvaluateRequest{sent(program), best_us},
                          time_limit(problem, options_.device.spec, options_.limit));
    } catch (const WorkerLost& error) {
      return lost(error.outcome(), error.what());
    } catch (const DeviceLostError& error) {
      return lost(Outcome::crashed, error.what());
    } catch (const Error& error) {
      return {Outcome::launch_failed, error.what(), {}, 0};
    }
  }

  WorkerLaneOptions options_;
  std::unique_ptr<WorkerProcess> worker_;
  bool opened_ = false;      ///< whether the answer to the request to open has come
  bool suspicious_ = false;  ///< whether the worker before was lost
  Environment environment_;
  Problem problem_;
  int samples_ = kScreenSamples;
  Begun begun_ = Begun::no;
  int begins_ = 0;  ///< the workers that were lost while preparing this problem
  int stale_ = 0;   ///< the answers to come for problems that were given up
  milliseconds begin_limit_{};
};

}  // namespace

milliseconds time_limit(const Problem& problem, const DeviceSpec& device, milliseconds limit) {
  return limit + work_limit(kLaunches, problem, device);
}

std::unique_ptr<Lane> make_worker_lane(WorkerLaneOptions options) {
  return std::make_unique<WorkerLane>(std::move(options));
}

}  // namespace mmtune
