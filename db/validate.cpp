#include "db/validate.h"

#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "templates/config.h"

namespace mmtune {

namespace {

constexpr std::size_t kNameLimit = 256;
constexpr std::size_t kHashLimit = 64;
constexpr std::size_t kConfigLimit = 4096;
constexpr std::size_t kCubinLimit = std::size_t{128} << 20;
constexpr std::int64_t kExtentLimit = std::int64_t{1} << 40;
constexpr std::int64_t kElementLimit = std::int64_t{1} << 48;  // of one operand: its bytes fit an int64 with room

/// Collects the first broken rule.
class Faults {
 public:
  Faults& must(bool holds, std::string_view rule) {
    if (!holds && first_.empty()) first_ = rule;
    return *this;
  }
  Faults& include(std::string fault) {
    if (first_.empty()) first_ = std::move(fault);
    return *this;
  }
  std::string take() { return std::move(first_); }

 private:
  std::string first_;
};

/// Between 1 and kHashLimit of the allowed characters.
bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.size() <= kHashLimit && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_family(std::string_view text) { return consists_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_"); }

bool is_config(const std::string& text) {
  if (text.empty()) return true;  // a family without parameters
  if (text.size() > kConfigLimit) return false;
  try {
    return Config::parse(text).text() == text;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_alignment(int bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; }
bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

/// Neither factor exceeds kExtentLimit, so that the quotient says it without overflow.
bool is_operand(std::int64_t rows, std::int64_t columns) { return rows <= kElementLimit / columns; }

template <class List, class Value>
bool contains(const List& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

std::string fault_of(const Timing& timing, Outcome outcome) {
  const bool has_time = outcome == Outcome::ok || outcome == Outcome::too_slow;
  Faults faults;
  faults.must(is_amount(timing.median_us), "median_us: not a time")
      .must(!has_time || timing.median_us > 0, "median_us: not over 0")
      .must(is_amount(timing.q1_us), "q1_us: not a time")
      .must(is_amount(timing.q3_us), "q3_us: not a time")
      .must(is_amount(timing.min_us), "min_us: not a time")
      .must(timing.samples >= 0, "samples: negative")
      .must(timing.calls_per_sample >= 0, "calls_per_sample: negative")
      .must(is_label(timing.mode), "mode: too long or not printable")
      .must(is_amount(timing.sm_clock_mhz), "sm_clock_mhz: not a frequency")
      .must(is_amount(timing.memory_clock_mhz), "memory_clock_mhz: not a frequency")
      .must((timing.throttle & ~kThrottleMask) == 0, "throttle: unknown reasons")
      .must(timing.co_tenants >= -1, "co_tenants: below -1")
      .must(timing.disturbed >= 0 && timing.disturbed <= timing.samples, "disturbed: not within 0 and samples")
      .must(timing.clock_limit_mhz >= 0, "clock_limit_mhz: negative")
      .must(is_amount(timing.power_limit_w), "power_limit_w: not a power");
  return faults.take();
}

std::string fault_of(const Environment& environment) {
  Faults faults;
  faults.must(is_label(environment.driver), "driver: too long or not printable")
      .must(is_label(environment.nvrtc), "nvrtc: too long or not printable")
      .must(is_label(environment.commit), "commit: too long or not printable")
      .must(is_label(environment.device_uuid), "device_uuid: too long or not printable");
  return faults.take();
}

bool is_label(std::string_view text) {
  return text.size() <= kNameLimit &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_hash(const std::string& text) {
  return consists_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
}

bool is_utc_time(const std::string& text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; });
}

std::string fault_of(const DeviceKey& device) {
  Faults faults;
  faults.must(!device.name.empty() && is_label(device.name), "device name: empty, too long or not printable")
      .must(device.compute_capability >= 10 && device.compute_capability < 1000, "compute capability: out of range")
      .must(device.sm_count > 0 && device.sm_count < 100'000, "SM count: out of range")
      .must(device.smem_per_block_optin >= 0 && device.smem_per_block_optin <= (std::int64_t{1} << 31),
            "shared memory of the device: out of range");
  return faults.take();
}

std::string fault_of(const Problem& problem) {
  const auto [least, most] = std::minmax({problem.m, problem.n, problem.k});
  Faults faults;
  faults.must(contains(kAllPrecisions, problem.precision), "precision: unknown")
      .must(contains(kAllLayouts, problem.layout), "layout: unknown")
      .must(least >= 1 && most <= kExtentLimit, "m, n, k: out of range")
      .must(is_alignment(problem.align.a) && is_alignment(problem.align.b) && is_alignment(problem.align.c),
            "alignment: not 1, 2, 4, 8 or 16");
  std::string fault = faults.take();
  if (fault.empty() &&
      !(is_operand(problem.m, problem.n) && is_operand(problem.m, problem.k) && is_operand(problem.k, problem.n))) {
    fault = "m, n, k: matrix too large";
  }
  return fault;
}

std::string fault_of(const TrialKey& key) {
  Faults faults;
  faults.include(fault_of(key.device))
      .include(fault_of(key.problem))
      .must(is_family(key.family), "family: not a name")
      .must(is_config(key.config), "config: not NAME=VALUE … in at most 4096 bytes")
      .must(is_hash(key.source_hash), "source hash: empty or not a hash")
      .must(key.evidence == Evidence::measured || key.evidence == Evidence::predicted, "evidence: unknown");
  return faults.take();
}

std::string fault_of(const Trial& trial) {
  Faults faults;
  faults.include(fault_of(trial.key))
      .must(parse_outcome(to_string(trial.outcome)).has_value(), "outcome: unknown")
      .must(trial.note.size() <= kNoteLimit, "note: too long")
      .must(trial.binary_hash.empty() || is_hash(trial.binary_hash), "binary hash: not a hash")
      .include(fault_of(trial.timing, trial.outcome))
      .must(trial.error_share >= 0, "error share: negative or not a number")
      .must(trial.outcome != Outcome::ok || trial.error_share <= 1, "error share: over 1 in a right result")
      .must(trial.occupancy >= 0 && trial.occupancy <= 1, "occupancy: not within 0 and 1")
      .must(trial.smem_bytes >= 0, "smem_bytes: negative")
      .include(fault_of(trial.environment))
      .must(is_utc_time(trial.created), "created: not a UTC time as 2031-04-05T06:07:08Z");
  return faults.take();
}

std::string fault_of(const Binary& binary) {
  Faults faults;
  faults.must(is_hash(binary.hash), "binary hash: empty or not a hash")
      .must(is_hash(binary.target), "target: not a name")
      .must(binary.cubin.size() <= kCubinLimit, "cubin: too large")
      .must(binary.registers >= 0, "registers: negative")
      .must(binary.spill_bytes >= 0, "spill_bytes: negative")
      .must(binary.stack_bytes >= 0, "stack_bytes: negative")
      .must(binary.static_smem_bytes >= 0, "static_smem_bytes: negative")
      .must(is_amount(binary.compile_ms), "compile_ms: not a time")
      .must(is_label(binary.nvrtc), "nvrtc: too long or not printable");
  return faults.take();
}

std::string fault_of_decision(const std::string& search, int candidates) {
  Faults faults;
  faults.must(is_label(search), "search: too long or not printable").must(candidates >= 0, "candidates: negative");
  return faults.take();
}

}  // namespace mmtune
