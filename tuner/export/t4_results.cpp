#include "tuner/export/t4_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "templates/base/config.h"
#include "tuner/replay/latest_trials.h"
#include "tuner/text/json.h"

namespace mmtune {
namespace {

constexpr double kMsPerUs = 1e-3;

std::string_view invalidity(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "correct";
    case Outcome::compile_failed:
      return "compile";
    case Outcome::wrong_result:
    case Outcome::guard_violation:
    case Outcome::unstable:
      return "correctness";
    case Outcome::timed_out:
    case Outcome::too_slow:
      return "timeout";
    case Outcome::does_not_fit:
    case Outcome::launch_failed:
    case Outcome::crashed:
      break;
  }
  return "runtime";
}

std::string place_of(const Trial& trial) {
  return fmt::format("{}, {} on {}", trial.key.family, to_string(trial.key.problem), trial.key.device.name);
}

/// Throws UsageError unless all are of one.
void check_place(const std::vector<Trial>& trials) {
  constexpr std::size_t kListed = 5;
  std::set<std::string> places;
  for (const Trial& trial : trials) places.insert(place_of(trial));
  if (places.empty()) throw UsageError("db export: no trial matches; see mmtune show for what is stored");
  if (places.size() == 1) return;
  std::vector<std::string> listed(places.begin(), places.end());
  listed.resize(std::min(listed.size(), kListed));
  throw UsageError(
      fmt::format("db export: T4 results are of one family, problem and GPU, and these trials of {} ({}{}); name one "
                  "with --family, --size, --precision, --layout and --device",
                  places.size(), fmt::join(listed, "; "), places.size() > kListed ? "; …" : ""));
}

std::string result_of(const Trial& trial, double compile_ms) {
  std::string configuration;
  const Config config = Config::parse(trial.key.config);
  for (const Setting& setting : config.settings()) {
    configuration +=
        fmt::format("{}{}: {}", configuration.empty() ? "" : ", ", json_string(setting.name), setting.value);
  }
  const bool is_right = trial.outcome == Outcome::ok;
  const std::string time =
      is_right ? fmt::format(R"({{"name": "time", "value": {}, "unit": "ms"}})", trial.timing.median_us * kMsPerUs)
               : "";
  return fmt::format(R"({{"timestamp": {}, "configuration": {{{}}}, "times": {{"compilation": {}, "runtimes": []}}, )"
                     R"("invalidity": "{}", "correctness": {}, "measurements": [{}], "objectives": ["time"]}})",
                     json_string(trial.created), configuration, compile_ms, invalidity(trial.outcome), is_right ? 1 : 0,
                     time);
}

}  // namespace

std::string t4_results(std::vector<Trial> trials, const std::function<double(const Trial&)>& compile_ms) {
  check_place(trials);
  const Trial first = trials.front();
  std::string results;
  const auto config_of = [](const Trial& trial) { return std::optional(trial.key.config); };
  for (const auto& [config, trial] : latest_trials(std::move(trials), config_of)) {
    results += fmt::format("{}\n{}", results.empty() ? "" : ",", result_of(trial, compile_ms(trial)));
  }
  return fmt::format(
      R"({{"schema_version": "1.0.0", "metadata": {{"timeunit": "milliseconds", "device": {}, "kernel": {}, )"
      "\"problem\": {}}}, \"results\": [{}\n]}}\n",
      json_string(first.key.device.name), json_string(first.key.family), json_string(to_string(first.key.problem)),
      results);
}

}  // namespace mmtune
