// mmtune audit: how well the library serves sizes that were not tuned.
#include "tuner/compare/audit.h"

#include <mmtune/error.h>

#include <memory>

#include "db/store.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/base/temporary_directory.h"
#include "templates/model/cost.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/verb.h"
#include "tuner/compare/bench.h"
#include "tuner/compare/cublas.h"
#include "tuner/cover/size_sample.h"
#include "tuner/tune/session.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {
namespace {

constexpr int kAuditRounds = 9;  // the rounds of a race: many sizes say more than many rounds

struct AuditOptions : SearchOptions {
  int count = 200;
  int tuned = 0;
};

/// Programs of a database.
class Programs {
 public:
  Programs(const std::string& path, const DeviceSpec& device)
      : store_(Store::open(path, OpenMode::read_only)), device_(device) {}

  std::optional<Program> of(const Choice& choice) {
    auto binary = choice.binary_hash.empty() ? std::nullopt : store_.find_binary(choice.binary_hash);
    if (!binary) return std::nullopt;
    Program program;
    program.candidate = {choice.family, choice.config};
    program.plan = choice.plan;
    program.binary = *std::move(binary);
    return program;
  }

  DispatchTable table() { return {device_, load_kernels(store_, device_, template_files())}; }

 private:
  Store store_;
  DeviceSpec device_;
};

/// The times by the model, for GPUs that are not there.
AuditTimes predicted_times(const Problem& problem, const std::vector<Program>& programs, const DeviceSpec& device) {
  AuditTimes times;
  for (const Program& program : programs) {
    times.us.push_back(predict(problem, program.plan, device, program.binary.registers).time_us);
  }
  return times;
}

AuditTimes measured_times(Bench& bench, const Problem& problem, const std::vector<Program>& programs) {
  AuditTimes times;
  for (const Comparison& comparison : bench.compare(problem, programs)) {
    times.us.push_back(comparison.ours.timing.median_us);
    if (comparison.best) times.cublas_us = comparison.theirs[*comparison.best]->timing.median_us;
  }
  return times;
}

struct Audit {
  std::vector<AuditRow> rows;  ///< the rows of all sizes for which something is stored
  bool failed = false;         ///< whether a size was left out: it does not fit, or a kernel is wrong there
};

Audit audit_all(const SessionOptions& session, std::size_t tuned_sizes, const AuditMeasure& measure) {
  const DeviceSpec& device = session.devices.front().spec;
  Programs library(session.database, device);
  const DispatchTable table = library.table();
  const auto program_of = [&](const Choice& choice) { return library.of(choice); };
  const TemporaryDirectory scratch;  // Tuning a size must not teach the library that is judged.
  std::optional<Programs> tuned;
  std::optional<DispatchTable> tuned_table;
  if (tuned_sizes > 0) {
    SessionOptions tuning = session;
    tuning.problems.resize(std::min(tuned_sizes, session.problems.size()));
    tuning.database = scratch.file("tuned.db");
    run_session(tuning);
    tuned_table.emplace(tuned.emplace(scratch.file("tuned.db"), device).table());
  }
  Audit audit;
  for (const Problem& problem : session.problems) {
    if (InterruptGuard::requested()) break;
    std::optional<Program> best;
    if (tuned_table) {
      const Choice choice = tuned_table->choose(problem);
      if (choice.match == Match::exact) best = tuned->of(choice);
    }
    try {
      for (AuditRow& row : audit_size(problem, session.seed, table, program_of, best, measure)) {
        audit.rows.push_back(std::move(row));
      }
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error& error) {
      audit.failed = true;
      log::error("{}: left out: {}", to_string(problem), error.what());
    }
  }
  return audit;
}

Audit audit_gpu(const SessionOptions& session, std::size_t tuned_sizes) {
  const DeviceChoice& device = session.devices.front();
  std::optional<GpuLock> lock;
  std::optional<Nvrtc> nvrtc;
  std::optional<Gpu> gpu;
  std::unique_ptr<Opponent> opponent;
  std::unique_ptr<Bench> bench;
  // Opened for the first size: tuning before has the GPU in its own processes.
  const auto measure = [&](const Problem& problem, const std::vector<Program>& programs) {
    if (!bench) {
      lock = GpuLock::wait(device, session.wait_s);
      if (!lock) throw Error("the audit was interrupted while another process measured on the GPU");
      nvrtc.emplace(Nvrtc::load());
      gpu.emplace(device.ordinal);
      opponent = make_cublas_opponent(env::cuda_library_directories());
      const CompileTarget target = compile_target(device.spec, nvrtc->supported());
      bench = std::make_unique<Bench>(device.spec, *nvrtc, target, *opponent, kAuditRounds);
    }
    return measured_times(*bench, problem, programs);
  };
  return audit_all(session, tuned_sizes, measure);
}

ExitCode run_audit(const AuditOptions& options) {
  const auto calls =
      SizeDistribution::parse(options.sizes).draw(static_cast<std::size_t>(options.count), options.session.seed);
  const SessionOptions session = plan(options, problems_of(asked_problems(calls, options.precisions, options.layouts)));
  const DeviceChoice& device = session.devices.front();
  if (session.devices.size() > 1) throw UsageError("--device: audit measures on one GPU; name one");
  const InterruptGuard interrupts;
  const auto tuned = static_cast<std::size_t>(options.tuned);
  const auto predict_all = [&](const Problem& problem, const std::vector<Program>& programs) {
    return predicted_times(problem, programs, device.spec);
  };
  const Audit audit = device.ordinal >= 0 ? audit_gpu(session, tuned) : audit_all(session, tuned, predict_all);
  print(audit_table(audit.rows), options);
  for (const std::string& line : audit_summary(audit.rows)) log::warning("{}", line);
  if (InterruptGuard::requested()) return ExitCode::interrupted;
  if (audit.rows.empty() && !audit.failed) {
    log::error("{}: has no kernel that the library would run at these sizes on {}; run mmtune cover or tune first",
               session.database, device.spec.name);
  }
  return audit.failed || audit.rows.empty() ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_audit() {
  auto options = std::make_shared<AuditOptions>();
  Verb verb{.name = "audit",
            .group = VerbGroup::results,
            .help = "Measure how well sizes are served that were not tuned",
            .examples = {"mmtune audit --device 0 --sizes 48..8192 --seed 2",
                         "mmtune audit --device 0 --sizes 48..8192 --count 200 --tuned 20 --format csv > audit.csv"},
            .run = [options] { return run_audit(*options); }};
  add_search_options(verb, *options);
  verb.options.front().help = SizeDistribution::kNotation;
  verb.add("Audit", {{"--count", "NUMBER", "sizes that are drawn by --seed, 1 to 10000",
                      number_target(options->count, 1, 10000)},
                     {"--tuned", "NUMBER", "the first so many are tuned too, in a database of their own",
                      number_target(options->tuned, 0, 10000)},
                     database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
