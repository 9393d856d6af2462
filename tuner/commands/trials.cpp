#include "tuner/commands/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "tuner/text/sizes.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

double time_us(const Trial& trial) { return has_time(trial.outcome) ? trial.timing.median_us : kUnknown; }

auto order_of(const Trial& trial) {
  const Problem& p = trial.key.problem;
  const double time = has_time(trial.outcome) ? trial.timing.median_us : std::numeric_limits<double>::infinity();
  return std::tuple{trial.key.device.name, p.precision,     p.layout, p.m, p.n, p.k, trial.outcome != Outcome::ok, time,
                    trial.key.family,      trial.key.config};
}

using TrialColumns = std::vector<CellOf<Trial>>;

TrialColumns full_trial_columns() {
  return {
      {{"precision"}, [](const Trial& t) { return to_string(t.key.problem.precision); }},
      {{"layout"}, [](const Trial& t) { return to_string(t.key.problem.layout); }},
      {{"m"}, [](const Trial& t) { return t.key.problem.m; }},
      {{"n"}, [](const Trial& t) { return t.key.problem.n; }},
      {{"k"}, [](const Trial& t) { return t.key.problem.k; }},
      {{"family"}, [](const Trial& t) { return t.key.family; }},
      {{"config"}, [](const Trial& t) { return t.key.config; }},
      {{"source"}, [](const Trial& t) { return to_string(t.key.evidence); }},
      {{"outcome"}, [](const Trial& t) { return to_string(t.outcome); }},
      {{"median_us"}, [](const Trial& t) { return Cell(time_us(t), 3); }},
      {{"tflops"}, [](const Trial& t) { return Cell(tflops(t.key.problem, time_us(t)), 4); }},
      {{"smem_bytes"}, [](const Trial& t) { return t.smem_bytes; }},
      {{"occupancy"}, [](const Trial& t) { return Cell(t.occupancy, 4); }},
      {{"error_share"}, [](const Trial& t) { return Cell(error_share(t), 6); }},
      {{"deterministic"}, [](const Trial& t) { return t.deterministic; }},
      {{"gpu"}, [](const Trial& t) { return t.key.device.name; }},
      {{"created"}, [](const Trial& t) { return t.created; }},
      {{"invariant"}, [](const Trial& t) { return t.key.problem.invariant; }},
      {{"sm_clock_mhz"}, [](const Trial& t) { return Cell(sm_clock_mhz(t), 0); }},
      {{"note"}, [](const Trial& t) { return t.note; }},
  };
}

/// The beginning of a note, with its line breaks.
std::string note_of(const Trial& trial, bool is_whole) {
  constexpr std::size_t kLines = 6;
  const std::string_view note = trim(trial.note);
  std::size_t end = 0;
  for (std::size_t i = 0; i < kLines && end != note.npos; ++i) end = note.find('\n', end == 0 ? 0 : end + 1);
  if (is_whole || end == note.npos) return std::string(note);
  return fmt::format("{}\n… (--wide shows all of it)", note.substr(0, end));
}

TrialColumns friendly_trial_columns(bool is_wide) {
  return {
      {{"size", kRight}, [](const Trial& t) { return to_string(size_of(t.key.problem)); }},
      {{"type", Align::left, Fit::shared}, [](const Trial& t) { return type_text(t.key.problem); }},
      {{"family"}, [](const Trial& t) { return t.key.family; }},
      {{"config", Align::left, Fit::wraps}, [](const Trial& t) { return t.key.config; }},
      {{"source", Align::left, Fit::shared}, [](const Trial& t) { return to_string(t.key.evidence); }},
      {{"outcome"}, [](const Trial& t) { return to_string(t.outcome); }},
      {{"µs", kRight}, [](const Trial& t) { return Cell(time_us(t), 2); }},
      {{"TFLOP/s", kRight}, [](const Trial& t) { return Cell(tflops(t.key.problem, time_us(t)), 2); }},
      {{"occ %", kRight, Fit::spare}, [](const Trial& t) { return Cell(100 * t.occupancy, 0); }},
      {{"gpu", Align::left, Fit::shared}, [](const Trial& t) { return t.key.device.name; }},
      {{"note", Align::left, Fit::wraps}, [is_wide](const Trial& t) { return note_of(t, is_wide); }},
  };
}

Tone trial_tone(const Trial& trial) {
  if (trial.outcome == Outcome::too_slow) return Tone::caution;
  return trial.outcome == Outcome::ok ? Tone::plain : Tone::bad;
}

}  // namespace

double sm_clock_mhz(const Trial& trial) { return trial.timing.sm_clock_mhz > 0 ? trial.timing.sm_clock_mhz : kUnknown; }

double error_share(const Trial& trial) {
  return trial.key.evidence == Evidence::measured && trial.outcome == Outcome::ok ? trial.error_share : kUnknown;
}

Table trials_table(std::vector<Trial> trials, const Output& output) {
  std::sort(trials.begin(), trials.end(), [](const Trial& x, const Trial& y) { return order_of(x) < order_of(y); });
  const bool full = is_for_programs(output.format);
  return table_of(full ? full_trial_columns() : friendly_trial_columns(output.wide), trials, trial_tone);
}

}  // namespace mmtune
