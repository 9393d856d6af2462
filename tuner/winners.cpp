#include "tuner/winners.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "tuner/device_choice.h"

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

Table full_table(const std::vector<Winner>& winners) {
  Table table({{"precision"},
               {"layout"},
               {"m"},
               {"n"},
               {"k"},
               {"family"},
               {"config"},
               {"source"},
               {"median_us"},
               {"tflops"},
               {"peak_share"},
               {"registers"},
               {"smem_bytes"},
               {"occupancy"},
               {"error_share"},
               {"gpu"},
               {"driver"},
               {"nvrtc"},
               {"commit"}});
  Peaks peaks;
  for (const auto& winner : winners) {
    const auto& trial = winner.trial;
    const auto& problem = trial.key.problem;
    table.add({text(to_string(problem.precision)), text(to_string(problem.layout)), problem.m, problem.n, problem.k,
               trial.key.family, trial.key.config, text(to_string(trial.key.evidence)), Real{trial.timing.median_us, 3},
               Real{tflops(winner), 4}, Real{peaks.share(winner), 4}, std::int64_t{winner.binary.registers},
               trial.smem_bytes, Real{trial.occupancy, 4}, Real{error_share(trial), 6}, trial.key.device.name,
               trial.environment.driver, trial.environment.nvrtc, trial.environment.commit});
  }
  return table;
}

Table friendly_table(const std::vector<Winner>& winners) {
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
               {"date"}});
  Peaks peaks;
  for (const auto& winner : winners) {
    const auto& trial = winner.trial;
    const auto& problem = trial.key.problem;
    const bool predicted = trial.key.evidence == Evidence::predicted;
    table.add({fmt::format("{}x{}x{}", problem.m, problem.n, problem.k),
               fmt::format("{} {}", to_string(problem.precision), to_string(problem.layout)), trial.key.family,
               trial.key.config, text(to_string(trial.key.evidence)), Real{trial.timing.median_us, 2},
               Real{tflops(winner), 2}, Real{100 * peaks.share(winner), 1}, std::int64_t{winner.binary.registers},
               trial.smem_bytes, Real{100 * trial.occupancy, 0}, Real{error_share(trial), 4}, trial.key.device.name,
               trial.created.substr(0, 10)},
              predicted ? Tone::caution : Tone::plain);
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

Table winners_table(const std::vector<Winner>& winners, Format format) {
  return format == Format::csv || format == Format::json ? full_table(winners) : friendly_table(winners);
}

}  // namespace mmtune
