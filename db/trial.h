// What is learnt about one candidate: the rows of the database as value types. Format and meaning: db/schema.sql.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/device_key.h"
#include "templates/base/fields.h"
#include "templates/base/rules.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What became of a candidate. Stored as numbers: never renumber.
enum class Outcome : int {
  ok = 0,
  compile_failed = 1,   ///< NVRTC refused it; the log is in `note`
  does_not_fit = 2,     ///< the binary exceeds the GPU's limits
  launch_failed = 3,    ///< the driver refused the launch
  wrong_result = 4,     ///< The result is outside the error bound, or NaN, or was not written.
  guard_violation = 5,  ///< It wrote outside its buffers.
  unstable = 6,         ///< It was right at first, and wrong later.
  timed_out = 7,        ///< It did not end within its deadline.
  crashed = 8,          ///< It broke the driver context or the worker.
  too_slow = 9,         ///< It was abandoned at its first sample, which median_us is.
};

/// "ok", "wrong_result", …
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

/// The origin of a time. A measured row always wins over a predicted one. Stored as numbers: never renumber.
enum class Evidence : int { measured = 0, predicted = 1 };

std::string_view to_string(Evidence evidence);
std::optional<Evidence> parse_evidence(std::string_view text);

namespace rule {

std::string_view outcome(Outcome outcome);
std::string_view evidence(Evidence evidence);

/// The rule for bits of Throttle.
std::string_view throttle(int throttle);

}  // namespace rule

/// Whether a candidate that came to this has a time.
constexpr bool has_time(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::too_slow; }

/// What produced a row; part of no key.
struct Environment {
  std::string driver;  ///< "580.159.04" where known, else the CUDA version that the driver supports
  std::string nvrtc;   ///< "13.0"
  std::string commit;  ///< the commit of mmtune
  std::string device_uuid;

  static constexpr void fields(auto&& visit) {
    visit("driver", &Environment::driver, rule::label);
    visit("nvrtc", &Environment::nvrtc, rule::label);
    visit("mmtune_commit", &Environment::commit, rule::label);
    visit("device_uuid", &Environment::device_uuid, rule::label);
  }
};
static_assert(kListsAllMembers<Environment>);

/// A compiled program. Two sources can give the same binary; `hash` covers the machine code, not the source.
struct Binary {
  std::string hash;          ///< hash_machine_code() of the image: 32 hexadecimal digits
  std::string target;        ///< "sm_90a"
  bool exact_target = true;  ///< false: it was compiled for another architecture than the GPU's
  std::string cubin;         ///< the ELF image
  int registers = 0;         ///< registers per thread, of the step that multiplies
  int spill_bytes = 0;       ///< bytes of stores and loads per thread
  int stack_bytes = 0;       ///< bytes per thread
  int static_smem_bytes = 0;
  double compile_ms = 0;
  std::string nvrtc;  ///< the compiler's version, "13.0"; empty where unknown; stored with the source

  static constexpr void fields(auto&& visit) {
    visit("hash", &Binary::hash, rule::hash);
    visit("target", &Binary::target, rule::word);
    visit("exact_target", &Binary::exact_target);
    visit("registers", &Binary::registers, rule::registers);
    visit("spill_bytes", &Binary::spill_bytes, rule::not_negative);
    visit("stack_bytes", &Binary::stack_bytes, rule::not_negative);
    visit("static_smem_bytes", &Binary::static_smem_bytes, rule::not_negative);
    visit("compile_ms", &Binary::compile_ms, rule::amount);
    visit("cubin", &Binary::cubin, rule::machine_code);
  }
  /// Where there is an image, the hash is checked: about 30 µs for 100 kB.
  std::string_view contradiction() const;
};

/// What held the clocks of a GPU down, as bits. They are those of NVML's clock event reasons, without the reasons that
/// slow no kernel. Stored as numbers: never renumber.
enum Throttle : int {
  kPowerCap = 0x04,  ///< It is at the power limit: usual for heavy kernels, and part of what they cost.
  kHardwareSlowdown = 0x08,
  kThermalSlowdown = 0x20,
  kHardwareThermalSlowdown = 0x40,
  kPowerBrake = 0x80,
};
inline constexpr int kThrottleMask =
    kPowerCap | kHardwareSlowdown | kThermalSlowdown | kHardwareThermalSlowdown | kPowerBrake;

/// "power cap", "thermal slowdown", …
std::vector<std::string> throttle_names(int throttle);

/// What the measurements of a run mostly have in common.
struct RunConditions {
  std::string mode;             ///< "graph": replay over rotating operands; "events": single calls; "model"
  double memory_clock_mhz = 0;  ///< the mean while measuring; 0 where unknown
  int co_tenants = -1;          ///< the most other processes that were seen on the GPU; -1: unknown
  int clock_limit_mhz = 0;      ///< the SM clock that the GPU was set to; 0 where unknown
  double power_limit_w = 0;     ///< the limit in force; 0 where unknown

  static constexpr void fields(auto&& visit) {
    visit("mode", &RunConditions::mode, rule::label);
    visit("memory_clock_mhz", &RunConditions::memory_clock_mhz, rule::amount);
    visit("co_tenants", &RunConditions::co_tenants, rule::Within{-1, std::numeric_limits<int>::max()});
    visit("clock_limit_mhz", &RunConditions::clock_limit_mhz, rule::not_negative);
    visit("power_limit_w", &RunConditions::power_limit_w, rule::amount);
  }
};
static_assert(kListsAllMembers<RunConditions>);

/// A time and how far to trust it. All times in microseconds per call of the whole plan.
struct Timing {
  double median_us = 0;
  double q1_us = 0;
  double q3_us = 0;
  double min_us = 0;
  int samples = 0;
  int calls_per_sample = 0;
  double sm_clock_mhz = 0;  ///< the mean while measuring; 0 where unknown
  int throttle = 0;         ///< bits of Throttle: all that was seen while measuring
  int disturbed = 0;        ///< the samples among these that were throttled (by more than the power cap) or had company
  RunConditions conditions;

  static constexpr void fields(auto&& visit) {
    visit("median_us", &Timing::median_us, rule::amount);
    visit("q1_us", &Timing::q1_us, rule::amount);
    visit("q3_us", &Timing::q3_us, rule::amount);
    visit("min_us", &Timing::min_us, rule::amount);
    visit("samples", &Timing::samples, rule::not_negative);
    visit("calls_per_sample", &Timing::calls_per_sample, rule::not_negative);
    visit("sm_clock_mhz", &Timing::sm_clock_mhz, rule::amount);
    visit("throttle", &Timing::throttle, rule::throttle);
    visit("disturbed", &Timing::disturbed, rule::not_negative);
    visit("conditions", &Timing::conditions);
  }
  std::string_view contradiction() const;
};
static_assert(kListsAllMembers<Timing>);

/// A problem on a GPU, timed in one way: what there is one decision for.
struct ProblemKey {
  DeviceKey device;
  Problem problem;
  Evidence evidence = Evidence::measured;

  static constexpr void fields(auto&& visit) {
    visit("device", &ProblemKey::device);
    visit("problem", &ProblemKey::problem);
    visit("evidence", &ProblemKey::evidence, rule::evidence);
  }
};
static_assert(kListsAllMembers<ProblemKey>);

/// Identifies a trial within a database. `source_hash` makes rows of an edited kernel stop matching.
struct TrialKey {
  DeviceKey device;
  Problem problem;
  std::string family;
  std::string config;  ///< the complete text form, in the order of the table
  std::string source_hash;
  Evidence evidence = Evidence::measured;

  ProblemKey problem_key() const { return {device, problem, evidence}; }

  static constexpr void fields(auto&& visit) {
    visit("device", &TrialKey::device);
    visit("problem", &TrialKey::problem);
    visit("family", &TrialKey::family, rule::family);
    visit("config", &TrialKey::config, rule::config);
    visit("source_hash", &TrialKey::source_hash, rule::hash);
    visit("evidence", &TrialKey::evidence, rule::evidence);
  }
};
static_assert(kListsAllMembers<TrialKey>);

struct Trial {
  TrialKey key;
  Outcome outcome = Outcome::ok;
  std::string note;             ///< why it failed: one line, then the compiler's log where there is one
  std::string binary_hash;      ///< empty if nothing was compiled
  Timing timing;                ///< meaningful if outcome is ok or too_slow
  double error_share = 0;       ///< the largest error as a share of the allowed bound: right if at most 1
  bool deterministic = true;    ///< runs on the same operands gave the same bits, and the kernel's design says so
  double occupancy = 0;         ///< the share of the warps that an SM can hold
  std::int64_t smem_bytes = 0;  ///< bytes per block, static and dynamic
  Environment environment;
  std::string created;  ///< the time in UTC as ISO 8601; filled by the store if empty

  static constexpr void fields(auto&& visit) {
    visit("key", &Trial::key);
    visit("outcome", &Trial::outcome, rule::outcome);
    visit("note", &Trial::note, rule::note);
    visit("binary_hash", &Trial::binary_hash, rule::hash_or_nothing);
    visit("timing", &Trial::timing);
    visit("error_share", &Trial::error_share, rule::not_negative);
    visit("deterministic", &Trial::deterministic);
    visit("occupancy", &Trial::occupancy, rule::Within{0, 1});
    visit("smem_bytes", &Trial::smem_bytes, rule::not_negative);
    visit("environment", &Trial::environment);
    visit("created", &Trial::created, rule::utc_time);
  }
  std::string_view contradiction() const;
};
static_assert(kListsAllMembers<Trial>);

/// Whether today's sources make of a decision's configuration the kernel that it names, and this machine code is what
/// its GPU runs. Only who can render kernels knows; where that is not given, source hashes are believed.
using MakesDecision = std::function<bool(const TrialKey& decision, const Binary& code)>;

/// What is wrong between the outcome of a candidate, its time and its error; empty if nothing is.
std::string_view contradiction_of(Outcome outcome, double median_us, double error_share);

/// The decision for one problem on one GPU: what dispatch uses for an exact match.
struct Winner {
  Trial trial;
  Binary binary;       ///< the binary, without cubin unless asked for
  std::string search;  ///< the hash of what was searched (space, strategy, effort): a repeated run ends here
  int candidates = 0;  ///< the number of trials behind the decision
  int near_ties = 0;   ///< the number of decisions of merged databases that may be as fast, as far as samples tell
};

}  // namespace mmtune
