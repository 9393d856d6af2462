// mmtune bench: the tuned kernels against another implementation, in one interleaved run.
#include "tuner/compare/bench.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <memory>

#include "db/store.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "templates/base/names.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/verb.h"
#include "tuner/compare/bench_table.h"
#include "tuner/compare/cublas.h"
#include "tuner/text/sizes.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/installed_gpus.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {
namespace {

struct BenchOptions : Options {
  std::vector<std::string> sizes;  ///< the arguments, one set each
  std::string opponent = "cublas";
  int rounds = 0;
  double wait_s = 0;  ///< the argument of GpuLock
};

struct BenchTask {
  std::string set;
  Problem problem;
};

std::vector<BenchTask> tasks_of(const BenchOptions& options) {
  std::vector<BenchTask> tasks;
  for (const std::string& text : options.sizes) {
    for (Problem& problem : named_problems(text, options)) {
      problem.invariant = options.invariant;
      tasks.push_back({set_name(text), problem});
    }
  }
  return tasks;
}

/// The kernels that a database holds for one GPU.
class TunedKernels {
 public:
  TunedKernels(const BenchOptions& options, const DeviceChoice& device, const CompileTarget& target)
      : device_(device),
        preparation_(template_files(), device.spec, target, Evidence::measured, ""),
        store_(Store::open(database_path(options), OpenMode::read_only)) {}

  /// Throws Error that says how to get it if there is none, or none that this program can launch.
  Program find(const Problem& problem) {
    const auto winner = store_.find_winner(preparation_.key(problem));
    if (!winner) throw untuned(problem, "no measured kernel");
    const TrialKey& key = winner->trial.key;
    const auto candidate = candidate_of(key);
    if (!candidate) throw untuned(problem, fmt::format("unknown kernel {} {}", key.family, key.config));
    Program program = preparation_.program(problem, *candidate);
    if (program.source.hash != key.source_hash) {
      throw untuned(problem, fmt::format("the kernel of family {} has changed since it was tuned", key.family));
    }
    auto binary = store_.find_binary(winner->trial.binary_hash);
    if (!binary) throw untuned(problem, "the program is missing");
    program.binary = std::move(*binary);
    return program;
  }

 private:
  Error untuned(const Problem& problem, std::string_view reason) const {
    return Error(fmt::format("{} in {}; run mmtune tune --device {} --precision {} --layout {} --sizes {}{} --db {}",
                             reason, store_.path(), device_.ordinal, to_string(problem.precision),
                             to_string(problem.layout), to_string(size_of(problem)),
                             problem.invariant ? " --invariant" : "", shell_word(store_.path())));
  }

  DeviceChoice device_;
  Preparation preparation_;
  Store store_;
};

void say_result(const BenchRow& row, std::string_view opponent) {
  const Comparison& comparison = row.comparison;
  std::string result = fmt::format("{} has no such product, only mmtune was timed", opponent);
  if (const auto& ratio = comparison.ratio) {
    result = fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio->median, ratio->low, ratio->high);
  }
  if (comparison.throttle != 0) {
    result += fmt::format(", clock held by {}", fmt::join(throttle_names(comparison.throttle), ", "));
  }
  log::warning("{} {}: {}", row.set, to_string(row.problem), result);
}

struct Compared {
  TrialKey ours;
  double ratio = 0;
};

/// What the library's stand-in for cuBLAS goes by.
void store_ratios(const std::vector<Compared>& all, const std::string& database) {
  if (all.empty()) return;
  try {
    Store store = Store::open(database, OpenMode::read_write);
    for (const Compared& each : all) store.put_cublas_ratio(each.ours, each.ratio);
  } catch (const DatabaseError& error) {
    log::warning("the ratios to cuBLAS are not stored: {}", error.what());
  }
}

std::unique_ptr<Opponent> make_opponent(const BenchOptions& options, const Nvrtc& nvrtc, const DeviceSpec& device,
                                        const CompileTarget& target) {
  if (options.opponent == "naive") return make_naive_opponent(nvrtc, device, target);
  return make_cublas_opponent(env::cuda_library_directories(), options.opponent == "cublas-starved");
}

ExitCode bench(const BenchOptions& options) {
  const auto tasks = tasks_of(options);
  const auto device = choose_gpu(options.device, "bench measures");
  const InterruptGuard interrupts;
  const auto lock = GpuLock::wait(device, options.wait_s);
  if (!lock) return ExitCode::interrupted;
  const auto nvrtc = Nvrtc::load();
  const auto target = compile_target(device.spec, nvrtc.supported());
  TunedKernels kernels(options, device, target);
  const Gpu gpu(device.ordinal);
  const auto opponent = make_opponent(options, nvrtc, device.spec, target);
  Bench measure(device.spec, nvrtc, target, *opponent, options.rounds);
  log::warning("{} against {}", to_string(device), opponent->description());

  std::vector<BenchRow> rows;
  std::vector<Compared> compared;
  bool failed = false;
  for (const auto& [set, problem] : tasks) {
    if (InterruptGuard::requested()) break;
    try {
      const Program ours = kernels.find(problem);
      rows.push_back({set, problem, std::string(ours.candidate.family->name()), ours.candidate.config.text(),
                      peak_tflops(device.spec, problem.precision), measure.compare(problem, ours)});
      say_result(rows.back(), opponent->name());
      if (const auto& ratio = rows.back().comparison.ratio) compared.push_back({ours.key, ratio->median});
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DatabaseError&) {
      throw;
    } catch (const Error& error) {
      failed = true;
      log::error("{} {}: {}", set, to_string(problem), error.what());
    }
  }
  if (options.opponent == "cublas") store_ratios(compared, database_path(options));
  print(bench_table(rows, opponent->name(), opponent->entries(), options.format), options);
  for (const auto& line : bench_summary(rows)) log::warning("{}", line);
  if (InterruptGuard::requested()) return ExitCode::interrupted;
  return failed ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_bench() {
  auto options = std::make_shared<BenchOptions>();
  Verb verb{.name = "bench",
            .group = VerbGroup::results,
            .help = "Compare the tuned kernels with another implementation; ratios to cuBLAS are stored",
            .examples = {"mmtune bench --device 0 --sizes 256..8192",
                         "mmtune bench --device 0 --sizes @bench/sizes/square.txt --vs naive --format csv"},
            .run = [options] { return bench(*options); }};
  verb.add("Problems", {{.names = "--sizes,--size",
                         .value = "SIZES",
                         .help = "as for tune; each @file is a set of its own, and the option may be repeated",
                         .target = texts_target(options->sizes),
                         .required = true,
                         .repeatable = true},
                        device_option(*options)});
  verb.add("Problems", problem_options(*options));
  verb.add("Problems", {invariant_option(*options)});
  verb.add(
      "Comparison",
      {{"--vs", "NAME",
        "the opponent: cublas is the faster of cuBLAS and cuBLASLt, cublas-starved the same without a "
        "workspace to speak of",
        choice_target(options->opponent, {"cublas", "cublas-starved", "naive"})},
       {"--rounds", "NUMBER", "times that each side is sampled, 6 to 1000 (default: by the time it takes, from 15)",
        number_target(options->rounds, 6, 1000)},
       wait_option(options->wait_s),
       database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
