#include "tuner/replay/device_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "templates/gpu/occupancy.h"
#include "templates/model/cost.h"
#include "tuner/text/sizes.h"

namespace mmtune {
namespace {

SideTime time_of(const Trial& trial) {
  const Timing& timing = trial.timing;
  return {timing.median_us, (timing.q3_us - timing.q1_us) / 2 / timing.median_us, trial.key.evidence};
}

/// The model's, before anything is compiled; nothing where it cannot run there.
std::optional<SideTime> predicted(const Candidate& candidate, const Problem& problem, const DeviceSpec& device) {
  const auto plan = candidate.family->legal_plan(problem, candidate.config, device);
  if (!plan) return std::nullopt;
  const double time_us = predict(problem, *plan, device, 0).time_us;
  if (!std::isfinite(time_us)) return std::nullopt;
  return SideTime{time_us, 0, Evidence::predicted};
}

/// The time of a candidate on a side: stored, else the model's if `or_predicted`.
std::optional<SideTime> time_on(const Side& side, const Candidate& candidate, const Problem& problem,
                                bool or_predicted) {
  if (const TimedProblem* known = side.find(problem)) {
    const auto found = std::find_if(known->trials.begin(), known->trials.end(), [&](const TimedTrial& each) {
      return key_of(each.candidate) == key_of(candidate);
    });
    if (found != known->trials.end()) return time_of(found->trial);
  }
  return or_predicted ? predicted(candidate, problem, side.device) : std::nullopt;
}

struct Best {
  Candidate candidate;
  SideTime time;
};

/// What was decided, by the same evidence as the times of the problem.
std::optional<Best> decided(const Side& side, const TimedProblem& known) {
  for (const Winner& winner : side.winners) {
    const TrialKey& key = winner.trial.key;
    if (key.problem != known.problem || key.evidence != known.trials.front().trial.key.evidence) continue;
    if (auto candidate = candidate_of(key)) return Best{*std::move(candidate), time_of(winner.trial)};
  }
  return std::nullopt;
}

/// The winner; without any, the fastest stored one that was right, or that the model expects of the other side's.
std::optional<Best> best_of(const Side& side, const Side& other, const Problem& problem) {
  const TimedProblem* known = side.find(problem);
  if (known != nullptr && !known->trials.empty()) {
    if (auto best = decided(side, *known)) return best;
  }
  if (const TimedTrial* best = known != nullptr ? known->best() : nullptr) {
    return Best{best->candidate, time_of(best->trial)};
  }
  std::optional<Best> best;
  const TimedProblem* theirs = other.find(problem);
  if (theirs == nullptr) return best;
  for (const TimedTrial& each : theirs->trials) {
    const auto time = predicted(each.candidate, problem, side.device);
    if (time && (!best || time->time_us < best->time.time_us)) best = Best{each.candidate, *time};
  }
  return best;
}

std::string limit_of(const Candidate& candidate, const Problem& problem, const DeviceSpec& device) {
  const LaunchPlan plan = candidate.family->plan(problem, candidate.config, device);
  const LaunchStep& step = main_step(plan);
  const Occupancy fit =
      occupancy(device, {static_cast<int>(block_threads(step)), plan.work.registers, step.smem_bytes});
  return fmt::format("{}, {} block{}", to_string(fit.tightest), fit.blocks_per_sm, fit.blocks_per_sm == 1 ? "" : "s");
}

void correlate(const Side& a, const Side& b, SideBySide& row) {
  const bool stored_on_b = b.find(row.problem) != nullptr;
  const bool stored_on_a = a.find(row.problem) != nullptr;
  std::vector<double> on_a, on_b;
  for (const TimedTrial& each : (stored_on_a ? a : b).find(row.problem)->trials) {
    const auto time_a = time_on(a, each.candidate, row.problem, !stored_on_a);
    const auto time_b = time_on(b, each.candidate, row.problem, !stored_on_b);
    if (!time_a || !time_b) continue;
    on_a.push_back(time_a->time_us);
    on_b.push_back(time_b->time_us);
  }
  row.common = static_cast<int>(on_a.size());
  row.spearman = row.common > 1 ? rank_correlation(on_a, on_b) : kUnknown;
}

}  // namespace

const TimedProblem* Side::find(const Problem& problem) const {
  const auto found =
      std::find_if(problems.begin(), problems.end(), [&](const TimedProblem& each) { return each.problem == problem; });
  return found == problems.end() ? nullptr : &*found;
}

std::string SideBySide::verdict() const {
  if (!a_on_b) return "cannot run";
  if (key_of(winner_a) == key_of(winner_b)) return "the same";
  const double loss = a_on_b->time_us / time_b.time_us - 1;
  const bool is_comparable = a_on_b->evidence == time_b.evidence;
  if (!is_comparable || std::abs(loss) <= a_on_b->noise + time_b.noise) return "cannot tell";
  return fmt::format("{:+.1f} %", 100 * loss);
}

std::optional<SideBySide> compare_sides(const Side& a, const Side& b, const Problem& problem) {
  const auto best_a = best_of(a, b, problem), best_b = best_of(b, a, problem);
  if (!best_a || !best_b) return std::nullopt;
  SideBySide row;
  row.problem = problem;
  row.winner_a = best_a->candidate;
  row.winner_b = best_b->candidate;
  row.time_a = best_a->time;
  row.time_b = best_b->time;
  row.a_on_b = time_on(b, row.winner_a, problem, true);
  row.limit_a = limit_of(row.winner_a, problem, a.device);
  row.limit_b = limit_of(row.winner_a, problem, b.device);
  row.peak_ratio = peak_tflops(b.device, problem.precision) / peak_tflops(a.device, problem.precision);
  correlate(a, b, row);
  return row;
}

Table sides_table(const std::vector<SideBySide>& rows, const Side& a, const Side& b, Format format) {
  using Row = SideBySide;
  constexpr auto kLeft = Align::left;
  const bool full = is_for_programs(format);
  const auto name = [full](const char* persistent, std::string friendly) {
    return full ? std::string(persistent) : std::move(friendly);
  };
  const auto us = [](double value) { return Cell(value, 3); };
  std::vector<CellOf<Row>> columns;
  if (full) {
    columns.push_back({{"precision", kLeft}, [](const Row& r) { return to_string(r.problem.precision); }});
    columns.push_back({{"layout", kLeft}, [](const Row& r) { return to_string(r.problem.layout); }});
  } else {
    columns.push_back({{"type", kLeft, Fit::shared}, [](const Row& r) { return type_text(r.problem); }});
  }
  columns.push_back({{"m", kRight}, [](const Row& r) { return r.problem.m; }});
  columns.push_back({{"n", kRight}, [](const Row& r) { return r.problem.n; }});
  columns.push_back({{"k", kRight}, [](const Row& r) { return r.problem.k; }});
  const auto add_side = [&](const char* letter, const char* where, const Side& side, Candidate Row::*winner,
                            SideTime Row::*time) {
    columns.push_back({{name(fmt::format("winner_{}", letter).c_str(), "winner on " + side.name), kLeft, Fit::wraps},
                       [winner](const Row& r) { return key_of(r.*winner); }});
    columns.push_back({{name(fmt::format("time_{}_us", letter).c_str(), std::string("µs") + where), kRight},
                       [us, time](const Row& r) { return us((r.*time).time_us); }});
    columns.push_back(
        {{name(fmt::format("source_{}", letter).c_str(), std::string("source") + where), kLeft, Fit::shared},
         [time, suffix = full ? "" : where](const Row& r) {
           return fmt::format("{}{}", to_string((r.*time).evidence), suffix);
         }});
  };
  add_side("a", "", a, &Row::winner_a, &Row::time_a);
  add_side("b", " there", b, &Row::winner_b, &Row::time_b);
  columns.push_back({{name("a_on_b_us", "first's winner there, µs"), kRight, Fit::spare},
                     [us](const Row& r) { return us(r.a_on_b ? r.a_on_b->time_us : kUnknown); }});
  columns.push_back({{name("verdict", "slower by"), kLeft, Fit::wraps}, [](const Row& r) { return r.verdict(); }});
  columns.push_back({{name("limit_a", "its limit"), kLeft, Fit::spare}, [](const Row& r) { return r.limit_a; }});
  columns.push_back({{name("limit_b", "and there"), kLeft, Fit::spare}, [](const Row& r) { return r.limit_b; }});
  columns.push_back({{"configurations", kRight, Fit::spare}, [](const Row& r) { return r.common; }});
  columns.push_back({{"spearman", kRight, Fit::spare}, [](const Row& r) { return Cell(r.spearman, 3); }});
  columns.push_back(
      {{name("speed_ratio", "speed"), kRight, Fit::spare}, [](const Row& r) { return Cell(r.speed_ratio(), 3); }});
  columns.push_back(
      {{name("peak_ratio", "peak"), kRight, Fit::spare}, [](const Row& r) { return Cell(r.peak_ratio, 3); }});
  if (full) {
    columns.push_back({{"invariant"}, [](const Row& r) { return r.problem.invariant; }});
  }
  return table_of(columns, rows);
}

}  // namespace mmtune
