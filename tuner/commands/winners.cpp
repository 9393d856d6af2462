#include "tuner/commands/winners.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <utility>

#include "runtime/template_files.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::string text_of(const DeviceKey& key) {
  return fmt::format("{}|{}|{}|{}", key.name, key.compute_capability, key.sm_count, key.smem_per_block_optin);
}

double tflops(const Winner& winner) {
  const double time_us = winner.trial.timing.median_us;
  return time_us > 0 ? flops(winner.trial.key.problem) / time_us * 1e-6 : kUnknown;
}

/// A prediction computed nothing, so it has no error.
double error_share(const Trial& trial) {
  return trial.key.evidence == Evidence::measured ? trial.error_share : kUnknown;
}

/// Looks a GPU up once, however many rows name it.
class Peaks {
 public:
  /// Share of the peak at the boost clock, NaN for a GPU whose clock nobody knows.
  double share(const Winner& winner) {
    const auto& key = winner.trial.key;
    auto [entry, is_new] = gpus_.try_emplace(text_of(key.device));
    if (is_new) entry->second = known_gpu(key.device);
    return entry->second ? tflops(winner) / peak_tflops(*entry->second, key.problem.precision) : kUnknown;
  }

 private:
  std::map<std::string, std::optional<DeviceSpec>> gpus_;
};

Cell text(std::string_view view) { return std::string(view); }

Table full_table(const std::vector<Winner>& winners, const std::vector<State>& states) {
  Table table({{"precision"},  {"layout"},       {"m"},           {"n"},          {"k"},          {"family"},
               {"config"},     {"source"},       {"median_us"},   {"tflops"},     {"peak_share"}, {"registers"},
               {"smem_bytes"}, {"occupancy"},    {"error_share"}, {"gpu"},        {"driver"},     {"nvrtc"},
               {"commit"},     {"sm_clock_mhz"}, {"throttle"},    {"co_tenants"}, {"disturbed"},  {"deterministic"},
               {"state"},      {"reason"}});
  Peaks peaks;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const auto& winner = winners[i];
    const auto& trial = winner.trial;
    const auto& timing = trial.timing;
    const auto& problem = trial.key.problem;
    table.add({text(to_string(problem.precision)),
               text(to_string(problem.layout)),
               problem.m,
               problem.n,
               problem.k,
               trial.key.family,
               trial.key.config,
               text(to_string(trial.key.evidence)),
               Real{timing.median_us, 3},
               Real{tflops(winner), 4},
               Real{peaks.share(winner), 4},
               std::int64_t{winner.binary.registers},
               trial.smem_bytes,
               Real{trial.occupancy, 4},
               Real{error_share(trial), 6},
               trial.key.device.name,
               trial.environment.driver,
               trial.environment.nvrtc,
               trial.environment.commit,
               Real{timing.sm_clock_mhz > 0 ? timing.sm_clock_mhz : kUnknown, 0},
               fmt::format("{}", fmt::join(throttle_names(timing.throttle), "; ")),
               timing.co_tenants >= 0 ? Cell(std::int64_t{timing.co_tenants}) : Cell(),
               std::int64_t{timing.disturbed},
               std::int64_t{trial.deterministic ? 1 : 0},
               text(to_string(states[i].validity)),
               states[i].reason});
  }
  return table;
}

/// "stale: driver 570.86 then, 580.65 now; not deterministic"
std::string remarks(const Winner& winner, const State& state) {
  std::vector<std::string> list;
  if (state.validity != Validity::current)
    list.push_back(fmt::format("{}: {}", to_string(state.validity), state.reason));
  if (winner.trial.timing.disturbed > 0) list.emplace_back("disturbed while it was timed");
  if (!winner.trial.deterministic) list.emplace_back("not deterministic");
  return fmt::format("{}", fmt::join(list, "; "));
}

Table friendly_table(const std::vector<Winner>& winners, const std::vector<State>& states) {
  constexpr auto kRight = Align::right;
  Table table({{"size", kRight},
               {"type"},
               {"family"},
               {"config"},
               {"source"},
               {"µs", kRight},
               {"TFLOP/s", kRight},
               {"% peak", kRight},
               {"regs", kRight},
               {"smem B", kRight},
               {"occ %", kRight},
               {"error", kRight},
               {"gpu"},
               {"date"},
               {"remarks"}});
  Peaks peaks;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const auto& winner = winners[i];
    const auto& trial = winner.trial;
    const auto& problem = trial.key.problem;
    const bool predicted = trial.key.evidence == Evidence::predicted;
    table.add({fmt::format("{}x{}x{}", problem.m, problem.n, problem.k),
               fmt::format("{} {}", to_string(problem.precision), to_string(problem.layout)), trial.key.family,
               trial.key.config, text(to_string(trial.key.evidence)), Real{trial.timing.median_us, 2},
               Real{tflops(winner), 2}, Real{100 * peaks.share(winner), 1}, std::int64_t{winner.binary.registers},
               trial.smem_bytes, Real{100 * trial.occupancy, 0}, Real{error_share(trial), 4}, trial.key.device.name,
               trial.created.substr(0, 10), remarks(winner, states[i])},
              states[i].validity == Validity::wrong                ? Tone::bad
              : predicted || states[i].validity == Validity::stale ? Tone::caution
                                                                   : Tone::plain);
  }
  return table;
}

}  // namespace

std::vector<Winner> best_evidence(std::vector<Winner> winners) {
  std::vector<Winner> best;
  std::map<std::string, std::size_t> places;
  for (auto& winner : winners) {
    const auto& key = winner.trial.key;
    const auto [place, is_new] = places.try_emplace(text_of(key.device) + '|' + to_string(key.problem), best.size());
    if (is_new) {
      best.push_back(std::move(winner));
    } else if (key.evidence == Evidence::measured) {
      best[place->second] = std::move(winner);
    }
  }
  return best;
}

std::vector<State> states_of(const std::vector<Winner>& winners, const std::string& nvrtc) {
  struct Place {
    std::optional<DeviceSpec> device;
    Surroundings now;
  };
  std::map<std::string, Place> places;
  const TemplateFiles files = template_files();
  std::vector<State> states;
  for (const Winner& winner : winners) {
    const DeviceKey& key = winner.trial.key.device;
    auto [place, is_new] = places.try_emplace(text_of(key));
    if (is_new) {
      const auto installed = installed_gpu(key);
      place->second.device = installed ? installed : known_gpu(key);
      if (installed) place->second.now = surroundings_of(*installed);
      place->second.now.nvrtc = nvrtc;
    }
    states.push_back(state_of(winner, place->second.device, files, place->second.now));
  }
  return states;
}

Table winners_table(const std::vector<Winner>& winners, const std::vector<State>& states, Format format) {
  return format == Format::csv || format == Format::json ? full_table(winners, states)
                                                         : friendly_table(winners, states);
}

}  // namespace mmtune
