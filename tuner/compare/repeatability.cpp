#include "tuner/compare/repeatability.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/base/temporary_directory.h"
#include "templates/family/families.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/interrupt.h"
#include "tuner/workers/worker_lane.h"

namespace mmtune {
namespace {

/// The winners of one problem.
struct Winners {
  std::vector<Program> programs;    ///< the programs, each once
  std::vector<std::size_t> chosen;  ///< the kernels that the runs have chosen
};

/// What the runs leave behind, and where their winners meet.
class Repetition {
 public:
  explicit Repetition(const RepeatOptions& options)
      : options_(options), winners_(options.session.problems.size()), pool_(template_files(), {.jobs = 1}) {}

  /// Runs all; false if it was interrupted.
  bool run(int number) {
    SessionOptions session = options_.session;
    session.database = directory_.file(fmt::format("run_{}.db", number));
    if (options_.vary_seed) session.seed += static_cast<std::uint64_t>(number);
    log::warning("run {} of {}, seed {}", number + 1, options_.runs, session.seed);
    if (run_session(session).interrupted) return false;
    Store store = Store::open(session.database, OpenMode::read_only);
    for (std::size_t i = 0; i < winners_.size(); ++i) enter(session.problems[i], store, winners_[i]);
    std::filesystem::remove(session.database);
    return true;
  }

  /// All problems, or those before an interruption that comes meanwhile.
  std::vector<RepeatedProblem> compare() {
    std::vector<RepeatedProblem> problems;
    const bool was_interrupted = InterruptGuard::requested();
    for (std::size_t i = 0; i < winners_.size(); ++i) {
      if (winners_[i].chosen.empty()) continue;
      const Problem& problem = options_.session.problems[i];
      if (!was_interrupted && InterruptGuard::requested()) break;
      try {
        if (winners_[i].programs.size() > 1 && !open_lane()) break;
        const std::vector<Placing> placings = race(problem, winners_[i].programs);
        report(problem, winners_[i], placings);
        problems.push_back({problem, count_repeats(winners_[i].chosen, placings)});
      } catch (const RaceLostError& lost) {
        left_out(problem, lost);
      } catch (const UnmeasurableError& error) {
        left_out(problem, error);
      }
    }
    return problems;
  }

 private:
  /// The winner of one run joins those of the others.
  void enter(const Problem& problem, Store& store, Winners& winners) const {
    const DeviceChoice& device = options_.session.devices.front();
    const auto winner = store.find_winner({key_of(device.spec), problem, evidence_of(device)});
    auto binary = winner ? store.find_binary(winner->trial.binary_hash) : std::nullopt;
    if (!binary) return;
    const Family& family = family_named(winner->trial.key.family);
    const Config config = Config::parse(winner->trial.key.config);
    const auto same = std::find_if(winners.programs.begin(), winners.programs.end(), [&](const Program& other) {
      return other.candidate.family == &family && other.candidate.config == config;
    });
    winners.chosen.push_back(static_cast<std::size_t>(same - winners.programs.begin()));
    if (same != winners.programs.end()) return;
    winners.programs.push_back(
        {{&family, config}, family.plan(problem, config, device.spec), {}, winner->trial.key, *std::move(binary)});
  }

  /// Says what a tie or a flip is between.
  static void report(const Problem& problem, const Winners& winners, const std::vector<Placing>& placings) {
    for (std::size_t i = 0; i < placings.size(); ++i) {
      const Candidate& candidate = winners.programs[i].candidate;
      const Ratio& ratio = placings[i].ratio;
      log::info("{}: winner of {} runs, {:.4f} ({:.4f} to {:.4f}) of the fastest's time: {}", to_string(problem),
                std::count(winners.chosen.begin(), winners.chosen.end(), i), ratio.median, ratio.low, ratio.high,
                key_of(candidate));
    }
  }

  static void left_out(const Problem& problem, const Error& why) {
    log::error("{}: left out: the winners of its runs cannot be raced: {}", to_string(problem), why.what());
  }

  /// A time of wrong results says nothing.
  [[noreturn]] static void throw_unstable(const Candidate& candidate, const Verdict& verdict) {
    throw RaceLostError(fmt::format("{} is {}: {}", key_of(candidate), to_string(verdict.outcome), verdict.note));
  }

  std::vector<Placing> race(const Problem& problem, const std::vector<Program>& programs) {
    if (programs.size() == 1) return {{Standing::leader, {1, 1, 1}}};
    lane_->begin(problem, kScreenSamples);
    RaceResult result = lane_->race(programs);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (result.verdicts[i].outcome != Outcome::ok) throw_unstable(programs[i].candidate, result.verdicts[i]);
    }
    return std::move(result.placings);
  }

  /// Opens the lane if it is not open; false if that is interrupted while another process has the GPU.
  bool open_lane() {
    const DeviceChoice& device = options_.session.devices.front();
    if (!lane_ && evidence_of(device) == Evidence::predicted) {
      lane_ = make_model_lane(device, pool_.compiler().version);
    } else if (!lane_ && (lock_ = GpuLock::wait(device, options_.session.wait_s))) {
      const CompileTarget target = compile_target(device.spec, pool_.compiler().supported);
      lane_ = make_worker_lane({.device = device, .target = target, .canary = std::nullopt});
    }
    return lane_ != nullptr;
  }

  RepeatOptions options_;
  TemporaryDirectory directory_;
  std::vector<Winners> winners_;
  CompilePool pool_;
  std::optional<GpuLock> lock_;
  std::unique_ptr<Lane> lane_;
};

}  // namespace

Repeats count_repeats(const std::vector<std::size_t>& chosen, const std::vector<Placing>& placings) {
  const auto votes = [&](std::size_t i) { return std::count(chosen.begin(), chosen.end(), i); };
  std::size_t reference = 0;
  for (std::size_t i = 1; i < placings.size(); ++i) {
    if (std::pair(is_as_fast(placings[i]), votes(i)) > std::pair(is_as_fast(placings[reference]), votes(reference))) {
      reference = i;
    }
  }
  Repeats repeats;
  for (const std::size_t each : chosen) {
    ++repeats.runs;
    if (each == reference) {
      ++repeats.same;
    } else if (is_as_fast(placings[each])) {
      ++repeats.ties;
    } else {
      ++repeats.flips;
      repeats.worst_loss = std::max(repeats.worst_loss, placings[each].ratio.median - 1);
    }
  }
  return repeats;
}

std::vector<RepeatedProblem> measure_repeatability(const RepeatOptions& options) {
  Repetition repetition(options);
  for (int number = 0; number < options.runs; ++number) {
    if (!repetition.run(number)) break;
  }
  return repetition.compare();
}

Table repeats_table(const std::vector<RepeatedProblem>& problems, Format format) {
  const bool plain = is_for_programs(format);
  Table table({right("m"), right("n"), right("k"), right("runs"), right("same"), right("ties"), right("flips"),
               right(plain ? "worst_loss" : "worst loss %")});
  for (const auto& [problem, repeats] : problems) {
    table.add({problem.m, problem.n, problem.k, repeats.runs, repeats.same, repeats.ties, repeats.flips,
               plain ? Cell(repeats.worst_loss, 5) : Cell(100 * repeats.worst_loss, 2)},
              repeats.flips == 0                    ? Tone::good
              : repeats.worst_loss < kWorthLess - 1 ? Tone::caution
                                                    : Tone::bad);
  }
  return table;
}

}  // namespace mmtune
