#include "tuner/report/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "templates/gpu/occupancy_steps.h"
#include "tuner/report/shown_trials.h"
#include "tuner/report/why.h"
#include "tuner/text/report.h"
#include "tuner/version.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

/// Numbers distinct values in the order in which they come.
template <class Value>
class Numbering {
 public:
  std::int64_t operator()(const Value& value) {
    const auto number = std::find(values_.begin(), values_.end(), value) - values_.begin();
    if (number == std::ssize(values_)) values_.push_back(value);
    return number;
  }
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
};

/// "TILE CM CN" and "16 2 2" of "TILE=16 CM=2 CN=2".
struct ConfigText {
  std::string names;
  std::string values;
};

ConfigText halves_of(std::string_view config) {
  ConfigText halves;
  bool in_name = true;
  for (const char c : config) {
    if (c == '=') {
      in_name = false;
    } else if (c == ' ') {
      in_name = true;
      halves.names += c;
      halves.values += c;
    } else {
      (in_name ? halves.names : halves.values) += c;
    }
  }
  return halves;
}

struct Shape {
  std::string family;
  std::string names;

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// The things that rows of other tables name by a number.
struct Subjects {
  Numbering<DeviceKey> devices;
  Numbering<Problem> problems;
  Numbering<Shape> shapes;

  /// The cells that rows of table_of_subjects() begin with.
  std::vector<Cell> cells(const TrialKey& key) {
    const ConfigText config = halves_of(key.config);
    return {devices(key.device), problems(key.problem), shapes({key.family, config.names}), config.values,
            to_string(key.evidence)};
  }
};

Table table_with(std::vector<std::string> names) {
  std::vector<Column> columns;
  for (std::string& name : names) columns.push_back({std::move(name)});
  return Table(std::move(columns));
}

/// Columns of rows that begin with Subjects::cells.
Table table_of_subjects(std::vector<std::string> more) {
  more.insert(more.begin(), {"device", "problem", "shape", "values", "evidence"});
  return table_with(std::move(more));
}

void append(std::vector<Cell>& cells, std::vector<Cell> more) {
  std::move(more.begin(), more.end(), std::back_inserter(cells));
}

Table trials_table(const std::vector<ShownTrial>& trials, Subjects& subjects) {
  Table table = table_of_subjects({"outcome", "median_us", "q1_us", "q3_us", "occupancy", "smem_bytes", "order"});
  for (const ShownTrial& each : trials) {
    const Trial& trial = *each.trial;
    const bool timed = has_time(trial.outcome);
    const auto time = [&](double value_us) { return Cell(timed ? value_us : kUnknown, 3); };
    std::vector<Cell> cells = subjects.cells(trial.key);
    append(cells,
           {to_string(trial.outcome), time(trial.timing.median_us), time(trial.timing.q1_us), time(trial.timing.q3_us),
            Cell(timed ? trial.occupancy : kUnknown, 4), trial.smem_bytes, each.order});
    table.add(std::move(cells));
  }
  return table;
}

/// What the model says goes first; empty cells where it says nothing.
std::vector<Cell> why_cells(const std::optional<Why>& why) {
  if (!why) return std::vector<Cell>(9 + kBottlenecks);
  std::vector<Cell> cells{Cell(why->floors.arithmetic_us, 3),
                          Cell(why->floors.memory_us, 3),
                          why->blocks,
                          why->block.threads,
                          why->occupancy.blocks_per_sm,
                          why->occupancy.warps_per_sm,
                          to_string(why->occupancy.limit),
                          Cell(why->prediction.time_us, 3),
                          Cell(why->prediction.waves, 3)};
  for (const double share : why->prediction.shares) cells.emplace_back(Cell(share, 4));
  return cells;
}

std::vector<std::string> winner_columns() {
  std::vector<std::string> names{
      "median_us",       "q1_us",     "q3_us",       "samples",       "registers",    "spill_bytes",
      "smem_bytes",      "occupancy", "error_share", "deterministic", "created",      "driver",
      "nvrtc",           "commit",    "candidates",  "state",         "reason",       "arithmetic_floor_us",
      "memory_floor_us", "blocks",    "threads",     "blocks_per_sm", "warps_per_sm", "limit",
      "predicted_us",    "waves"};
  for (std::size_t i = 0; i < kBottlenecks; ++i) {
    names.push_back(fmt::format("share {}", to_string(static_cast<Bottleneck>(i))));
  }
  return names;
}

std::vector<Cell> winner_cells(const Winner& winner, const State& state) {
  const Trial& trial = winner.trial;
  const bool compiled = !winner.binary.hash.empty();
  const auto of_binary = [&](int value) { return compiled ? Cell(value) : Cell(); };
  const bool measured = trial.key.evidence == Evidence::measured;
  return {Cell(trial.timing.median_us, 3),
          Cell(trial.timing.q1_us, 3),
          Cell(trial.timing.q3_us, 3),
          trial.timing.samples,
          of_binary(winner.binary.registers),
          of_binary(winner.binary.spill_bytes),
          trial.smem_bytes,
          Cell(trial.occupancy, 4),
          Cell(measured ? trial.error_share : kUnknown, 6),
          trial.deterministic,
          trial.created,
          trial.environment.driver,
          trial.environment.nvrtc,
          trial.environment.commit,
          winner.candidates,
          to_string(state.validity),
          state.reason};
}

using KnownDevices = std::vector<std::optional<DeviceSpec>>;  ///< the GPUs by number
using Reasons = std::vector<std::optional<Why>>;              ///< the reasons by winner

Reasons reasons_of(const std::vector<Winner>& winners, const KnownDevices& known, Subjects& subjects) {
  Reasons reasons;
  for (const Winner& winner : winners) {
    const auto& device = known[static_cast<std::size_t>(subjects.devices(winner.trial.key.device))];
    reasons.push_back(device ? why_of(winner, *device) : std::nullopt);
  }
  return reasons;
}

Table winners_table(const ReportContent& content, const Reasons& reasons, Subjects& subjects) {
  Table table = table_of_subjects(winner_columns());
  for (std::size_t i = 0; i < content.winners.size(); ++i) {
    std::vector<Cell> cells = subjects.cells(content.winners[i].trial.key);
    append(cells, winner_cells(content.winners[i], content.states[i]));
    append(cells, why_cells(reasons[i]));
    table.add(std::move(cells));
  }
  return table;
}

std::string curve_text(const DeviceSpec& device, const BlockResources& block, OccupancyLimit varied) {
  const auto curve = occupancy_curve(device, block, varied);
  std::string text;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const bool is_step = i == 0 || i + 1 == curve.size() || curve[i].warps_per_sm != curve[i - 1].warps_per_sm;
    if (!is_step) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", curve[i].amount, curve[i].warps_per_sm);
  }
  return text;
}

/// The curves, once for winners whose blocks take the same, as those of one kernel do.
Table curves_table(const std::vector<Winner>& winners, const KnownDevices& known, const Reasons& reasons,
                   Subjects& subjects) {
  Table table = table_with(
      {"device", "threads", "registers", "smem_bytes", "against_threads", "against_registers", "against_smem"});
  std::set<std::tuple<std::int64_t, int, int, std::int64_t>> drawn;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    if (!reasons[i]) continue;
    const std::int64_t number = subjects.devices(winners[i].trial.key.device);
    const BlockResources& block = reasons[i]->block;
    if (!drawn.insert({number, block.threads, block.registers, block.smem_bytes}).second) continue;
    std::vector<Cell> cells{number, block.threads, block.registers, block.smem_bytes};
    for (const auto varied : {OccupancyLimit::threads, OccupancyLimit::registers, OccupancyLimit::shared_memory}) {
      cells.emplace_back(curve_text(*known[static_cast<std::size_t>(number)], block, varied));
    }
    table.add(std::move(cells));
  }
  return table;
}

Table devices_table(const std::vector<DeviceKey>& devices, const KnownDevices& known) {
  Table table = table_with({"name", "compute_capability", "sm_count", "core_clock_mhz", "memory_bandwidth_gb_s",
                            "l2_bytes", "memory_bytes", "max_warps_per_sm"});
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::vector<Cell> cells{devices[i].name, devices[i].compute_capability, devices[i].sm_count};
    if (const auto& spec = known[i]) {
      append(cells, {spec->core_clock_mhz, Cell(spec->memory_bandwidth_gb_s, 1), spec->l2_bytes, spec->memory_bytes,
                     spec->max_threads_per_sm / spec->warp_size});
    }
    cells.resize(table.columns().size());
    table.add(std::move(cells));
  }
  return table;
}

Table peaks_table(const KnownDevices& known) {
  Table table = table_with({"device", "precision", "peak_tflops"});
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) continue;
    for (const Precision precision : kAllPrecisions) {
      table.add({i, to_string(precision), Cell(peak_tflops(*known[i], precision), 4)});
    }
  }
  return table;
}

/// An invariant product is of a layout of its own on the page, which compares those of one layout.
Table problems_table(const std::vector<Problem>& problems) {
  Table table = table_with({"precision", "layout", "m", "n", "k", "name", "flops", "bytes"});
  for (const Problem& problem : problems) {
    const std::string layout = fmt::format("{}{}", to_string(problem.layout), problem.invariant ? "-invariant" : "");
    table.add({to_string(problem.precision), layout, problem.m, problem.n, problem.k, to_string(problem),
               Cell(flops(problem), 0), Cell(minimal_bytes(problem), 0)});
  }
  return table;
}

Table shapes_table(const std::vector<Shape>& shapes) {
  Table table = table_with({"family", "names"});
  for (const Shape& shape : shapes) table.add({shape.family, shape.names});
  return table;
}

Table files_table(const std::vector<ReportFile>& files, Subjects& subjects) {
  Table table = table_with({"kind", "name", "device", "text"});
  for (const ReportFile& file : files) table.add({file.kind, file.name, subjects.devices(file.device), file.text});
  return table;
}

}  // namespace

std::string report_json(const ReportContent& content, std::size_t most) {
  Subjects subjects;
  const auto trials = shown_trials(content.trials, most);
  const Table of_trials = trials_table(trials, subjects);
  const Table of_files = files_table(content.files, subjects);
  for (const Winner& winner : content.winners) subjects.cells(winner.trial.key);
  KnownDevices known;
  for (const DeviceKey& device : subjects.devices.values()) known.push_back(known_gpu(device));
  const Reasons reasons = reasons_of(content.winners, known, subjects);
  const Table of_winners = winners_table(content, reasons, subjects);
  Table about = table_with({"version", "commit", "database", "trials"});
  about.add({build_version(), build_commit(), content.database, content.trials.size()});
  const std::vector<std::pair<std::string_view, Table>> tables{
      {"about", about},
      {"devices", devices_table(subjects.devices.values(), known)},
      {"peaks", peaks_table(known)},
      {"problems", problems_table(subjects.problems.values())},
      {"shapes", shapes_table(subjects.shapes.values())},
      {"trials", of_trials},
      {"winners", of_winners},
      {"curves", curves_table(content.winners, known, reasons, subjects)},
      {"files", of_files}};
  std::string json;
  for (const auto& [name, table] : tables) {
    json += fmt::format("{}\"{}\": {}", json.empty() ? "{" : ",\n", name, table.compact_json());
  }
  return json + "}\n";
}

}  // namespace mmtune
