#include "db/trial.h"

#include <array>
#include <utility>

#include "db/machine_code.h"

namespace mmtune {
namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 10> kOutcomes{{
    {Outcome::ok, "ok"},
    {Outcome::compile_failed, "compile_failed"},
    {Outcome::does_not_fit, "does_not_fit"},
    {Outcome::launch_failed, "launch_failed"},
    {Outcome::wrong_result, "wrong_result"},
    {Outcome::guard_violation, "guard_violation"},
    {Outcome::unstable, "unstable"},
    {Outcome::timed_out, "timed_out"},
    {Outcome::crashed, "crashed"},
    {Outcome::too_slow, "too_slow"},
}};

constexpr std::array<std::pair<Evidence, std::string_view>, 2> kEvidence{{
    {Evidence::measured, "measured"},
    {Evidence::predicted, "predicted"},
}};

constexpr std::array<std::pair<Throttle, std::string_view>, 5> kThrottles{{
    {kPowerCap, "power cap"},
    {kHardwareSlowdown, "hardware slowdown"},
    {kThermalSlowdown, "thermal slowdown"},
    {kHardwareThermalSlowdown, "hardware thermal slowdown"},
    {kPowerBrake, "power brake"},
}};

template <class Table, class Value>
std::string_view name_of(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  return "unknown";
}

template <class Value, std::size_t count>
std::optional<Value> value_of(const std::array<std::pair<Value, std::string_view>, count>& table,
                              std::string_view text) {
  for (const auto& [value, name] : table) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> throttle_names(int throttle) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kThrottles) {
    if ((throttle & bit) != 0) names.emplace_back(name);
  }
  return names;
}

std::string_view to_string(Outcome outcome) { return name_of(kOutcomes, outcome); }
std::optional<Outcome> parse_outcome(std::string_view text) { return value_of(kOutcomes, text); }

std::string_view to_string(Evidence evidence) { return name_of(kEvidence, evidence); }
std::optional<Evidence> parse_evidence(std::string_view text) { return value_of(kEvidence, text); }

std::string_view rule::outcome(Outcome outcome) { return parse_outcome(to_string(outcome)) ? "" : "unknown"; }
std::string_view rule::evidence(Evidence evidence) { return parse_evidence(to_string(evidence)) ? "" : "unknown"; }
std::string_view rule::throttle(int throttle) { return (throttle & ~kThrottleMask) == 0 ? "" : "unknown reasons"; }

std::string_view Binary::contradiction() const {
  return cubin.empty() || hash_machine_code(cubin) == hash ? "" : "hash: not that of its machine code";
}

std::string_view Timing::contradiction() const {
  return disturbed <= samples ? "" : "disturbed: more than there are samples";
}

std::string_view contradiction_of(Outcome outcome, double median_us, double error_share) {
  if (has_time(outcome) && !(median_us > 0)) return "median_us: not over 0";
  if (outcome == Outcome::ok && error_share > 1) return "error_share: over 1 in a right result";
  return "";
}

std::string_view Trial::contradiction() const {
  const bool is_possible = !has_time(outcome) || timing.median_us >= SpeedLimit(key.device).least_us(key.problem);
  if (!is_possible) return "median_us: faster than the GPU can compute or move what it multiplies";
  return contradiction_of(outcome, timing.median_us, error_share);
}

}  // namespace mmtune
