#include "tuner/commands/winners.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/template_files.h"
#include "templates/family/families.h"
#include "tuner/commands/trials.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

std::string device_text(const DeviceKey& key) {
  return fmt::format("{}|{}|{}|{}", key.name, key.compute_capability, key.sm_count, key.smem_per_block_optin);
}

double tflops(const Winner& winner) { return tflops(winner.trial.key.problem, winner.trial.timing.median_us); }

/// The share of the peak at the boost clock; NaN for a GPU whose clock is unknown.
double peak_share(const Winner& winner) {
  const TrialKey& key = winner.trial.key;
  const auto device = known_gpu(key.device);
  return device ? tflops(winner) / peak_tflops(*device, key.problem.precision) : kUnknown;
}

/// What a row of a table is made of.
struct Line {
  const Winner& winner;
  const State& state;
  double peak_share;

  const Trial& trial() const { return winner.trial; }
  const Timing& timing() const { return winner.trial.timing; }
  const Problem& problem() const { return winner.trial.key.problem; }
};

std::vector<Line> lines_of(const std::vector<Winner>& winners, const std::vector<State>& states) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < winners.size(); ++i) lines.push_back({winners[i], states[i], peak_share(winners[i])});
  return lines;
}

template <class T>
Cell cell_of(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return Cell(value, 3);
  } else {
    return value;
  }
}

using WinnerColumns = std::vector<CellOf<Line>>;

/// Every field of T that `columns` has no column of, under its own name; `record_of` finds the T of a line.
template <Record T, class RecordOf>
void add_fields(WinnerColumns& columns, const RecordOf& record_of) {
  T::fields([&](std::string_view name, auto member, const auto&...) {
    using Value = decltype(value_type(member));
    const auto value_of = [record_of, member](const Line& line) -> const Value& { return record_of(line).*member; };
    if constexpr (Record<Value>) {
      add_fields<Value>(columns, value_of);
    } else {
      const bool shown =
          std::any_of(columns.begin(), columns.end(), [&](const auto& each) { return each.column.name == name; });
      if (!shown) columns.push_back({{std::string(name)}, [value_of](const Line& l) { return cell_of(value_of(l)); }});
    }
  });
}

WinnerColumns full_columns() {
  WinnerColumns columns{
      {{"precision"}, [](const Line& l) { return to_string(l.problem().precision); }},
      {{"layout"}, [](const Line& l) { return to_string(l.problem().layout); }},
      {{"m"}, [](const Line& l) { return l.problem().m; }},
      {{"n"}, [](const Line& l) { return l.problem().n; }},
      {{"k"}, [](const Line& l) { return l.problem().k; }},
      {{"family"}, [](const Line& l) { return l.trial().key.family; }},
      {{"config"}, [](const Line& l) { return l.trial().key.config; }},
      {{"source"}, [](const Line& l) { return to_string(l.trial().key.evidence); }},
      {{"median_us"}, [](const Line& l) { return Cell(l.timing().median_us, 3); }},
      {{"tflops"}, [](const Line& l) { return Cell(tflops(l.winner), 4); }},
      {{"peak_share"}, [](const Line& l) { return Cell(l.peak_share, 4); }},
      {{"registers"}, [](const Line& l) { return l.winner.binary.registers; }},
      {{"smem_bytes"}, [](const Line& l) { return l.trial().smem_bytes; }},
      {{"occupancy"}, [](const Line& l) { return Cell(l.trial().occupancy, 4); }},
      {{"error_share"}, [](const Line& l) { return Cell(error_share(l.trial()), 6); }},
      {{"gpu"}, [](const Line& l) { return l.trial().key.device.name; }},
      {{"driver"}, [](const Line& l) { return l.trial().environment.driver; }},
      {{"nvrtc"}, [](const Line& l) { return l.trial().environment.nvrtc; }},
      {{"commit"}, [](const Line& l) { return l.trial().environment.commit; }},
      {{"sm_clock_mhz"}, [](const Line& l) { return Cell(sm_clock_mhz(l.trial()), 0); }},
      {{"throttle"},
       [](const Line& l) { return fmt::format("{}", fmt::join(throttle_names(l.timing().throttle), "; ")); }},
      {{"co_tenants"},
       [](const Line& l) {
         return l.timing().conditions.co_tenants >= 0 ? Cell(l.timing().conditions.co_tenants) : Cell();
       }},
      {{"disturbed"}, [](const Line& l) { return l.timing().disturbed; }},
      {{"deterministic"}, [](const Line& l) { return l.trial().deterministic; }},
      {{"state"}, [](const Line& l) { return to_string(l.state.validity); }},
      {{"reason"}, [](const Line& l) { return l.state.reason; }},
  };
  add_fields<Timing>(columns, [](const Line& l) -> const Timing& { return l.timing(); });
  columns.push_back({{"target"}, [](const Line& l) { return l.winner.binary.target; }});
  columns.push_back({{"exact_target"}, [](const Line& l) { return l.winner.binary.exact_target; }});
  columns.push_back({{"invariant"}, [](const Line& l) { return l.problem().invariant; }});
  return columns;
}

/// "stale: driver 570.86 then, 580.65 now; not deterministic"
std::string remarks(const Winner& winner, const State& state) {
  std::vector<std::string> list;
  if (state.validity != Validity::current)
    list.push_back(fmt::format("{}: {}", to_string(state.validity), state.reason));
  if (winner.trial.timing.disturbed > 0) list.emplace_back("disturbed while it was timed");
  if (!winner.trial.deterministic) list.emplace_back("not deterministic");
  if (!winner.binary.exact_target) {
    list.push_back(fmt::format("compiled for {}, not this GPU's architecture", winner.binary.target));
  }
  return fmt::format("{}", fmt::join(list, "; "));
}

WinnerColumns friendly_columns(bool is_brief) {
  constexpr auto kLeft = Align::left;
  return {
      {{"size", kRight}, [](const Line& l) { return to_string(size_of(l.problem())); }},
      {{"type", kLeft, Fit::shared}, [](const Line& l) { return type_text(l.problem()); }},
      {{"family"}, [](const Line& l) { return l.trial().key.family; }},
      {{"config", kLeft, Fit::wraps},
       [is_brief](const Line& l) { return is_brief ? brief_config(l.trial().key) : l.trial().key.config; }},
      {{"source", kLeft, Fit::shared}, [](const Line& l) { return to_string(l.trial().key.evidence); }},
      {{"µs", kRight}, [](const Line& l) { return Cell(l.timing().median_us, 2); }},
      {{"TFLOP/s", kRight}, [](const Line& l) { return Cell(tflops(l.winner), 2); }},
      {{"% peak", kRight, Fit::spare}, [](const Line& l) { return Cell(100 * l.peak_share, 1); }},
      {{"regs", kRight, Fit::spare}, [](const Line& l) { return l.winner.binary.registers; }},
      {{"smem B", kRight, Fit::spare}, [](const Line& l) { return l.trial().smem_bytes; }},
      {{"occ %", kRight, Fit::spare}, [](const Line& l) { return Cell(100 * l.trial().occupancy, 0); }},
      {{"error", kRight, Fit::spare}, [](const Line& l) { return Cell(error_share(l.trial()), 4); }},
      {{"gpu", kLeft, Fit::shared}, [](const Line& l) { return l.trial().key.device.name; }},
      {{"date", kLeft, Fit::shared}, [](const Line& l) { return l.trial().created.substr(0, 10); }},
      {{"remarks", kLeft, Fit::wraps}, [](const Line& l) { return remarks(l.winner, l.state); }},
  };
}

Tone winner_tone(const Line& line) {
  if (line.state.validity == Validity::wrong) return Tone::bad;
  const bool caution = line.trial().key.evidence == Evidence::predicted || line.state.validity == Validity::stale;
  return caution ? Tone::caution : Tone::plain;
}

}  // namespace

std::string brief_config(const TrialKey& key) {
  const Family* family = find_family(key.family);
  const std::optional<DeviceSpec> device = known_gpu(key.device);
  if (family == nullptr || !device) return key.config;
  try {
    const Config config = Config::parse(key.config);
    const Config defaults = family->default_config(key.problem);
    std::vector<Setting> differing;
    for (const Setting& setting : config.settings()) {
      const int* initial = defaults.find(setting.name);
      if (initial == nullptr || *initial != setting.value) differing.push_back(setting);
    }
    const Config brief(std::move(differing));
    if (family->complete(brief, key.problem, *device) != config) return key.config;
    return brief.settings().empty() ? "default" : brief.text();
  } catch (const UsageError&) {
    return key.config;
  }
}

std::vector<Winner> best_evidence(std::vector<Winner> winners) {
  std::vector<Winner> best;
  std::map<std::string, std::size_t> places;
  for (auto& winner : winners) {
    const auto& key = winner.trial.key;
    const auto [place, is_new] =
        places.try_emplace(device_text(key.device) + '|' + to_string(key.problem), best.size());
    if (is_new) {
      best.push_back(std::move(winner));
    } else if (key.evidence == Evidence::measured) {
      best[place->second] = std::move(winner);
    }
  }
  return best;
}

std::vector<State> states_of(const std::vector<Winner>& winners, const std::string& nvrtc) {
  struct Installation {
    std::optional<DeviceSpec> device;
    Surroundings now;
  };
  std::map<std::string, Installation> installations;
  const TemplateFiles files = template_files();
  std::vector<State> states;
  for (const Winner& winner : winners) {
    const DeviceKey& key = winner.trial.key.device;
    auto [installation, is_new] = installations.try_emplace(device_text(key));
    if (is_new) {
      const auto installed = installed_gpu(key);
      installation->second.device = installed ? installed : known_gpu(key);
      if (installed) installation->second.now = surroundings_of(*installed);
      installation->second.now.nvrtc = nvrtc;
    }
    states.push_back(state_of(winner, installation->second.device, files, installation->second.now));
  }
  return states;
}

Table winners_table(const std::vector<Winner>& winners, const std::vector<State>& states, const Output& output) {
  const std::vector<Line> lines = lines_of(winners, states);
  const bool is_full = is_for_programs(output.format);
  const bool is_brief = output.format == Format::table && !output.wide;
  return table_of(is_full ? full_columns() : friendly_columns(is_brief), lines, winner_tone);
}

}  // namespace mmtune
