// Between rows and value types: which columns make a trial, in which order, and how they are bound and read.
#pragma once

#include <optional>
#include <string>

#include "db/sqlite.h"
#include "db/store.h"

namespace mmtune {

// Parameters in the order of the members: 4 for a DeviceKey, 8 for a Problem, and these with 4 more for a TrialKey.
void bind_value(Statement& statement, const DeviceKey& device);
void bind_value(Statement& statement, const Problem& problem);
void bind_value(Statement& statement, const TrialKey& key);
void bind_value(Statement& statement, const Timing& timing);
void bind_value(Statement& statement, const Environment& environment);

/// 16 parameters, NULL for what the filter leaves open.
void bind_value(Statement& statement, const RowFilter& filter);

/// The columns that read_key reads, from tables named d (device), p (problem) and t (trial).
#define MMTUNE_KEY_COLUMNS                                                                                   \
  "d.name, d.compute_capability, d.sm_count, d.smem_per_block_optin, p.precision, p.layout, p.m, p.n, p.k, " \
  "p.align_a, p.align_b, p.align_c, t.family, t.config, t.source_hash, t.evidence"

/// The columns that read_trial reads; e is environment.
#define MMTUNE_TRIAL_COLUMNS                                                                                     \
  MMTUNE_KEY_COLUMNS                                                                                             \
  ", t.outcome, t.note, t.binary_hash, t.median_us, t.q1_us, t.q3_us, t.min_us, t.samples, t.calls_per_sample, " \
  "t.mode, t.sm_clock_mhz, t.memory_clock_mhz, t.throttle, t.co_tenants, t.disturbed, t.clock_limit_mhz, "       \
  "t.power_limit_w, t.error_share, t.deterministic, t.occupancy, t.smem_bytes, e.driver, e.nvrtc, "              \
  "e.mmtune_commit, e.device_uuid, t.created"

/// The columns that read_binary reads; b is binary.
#define MMTUNE_BINARY_COLUMNS \
  "b.hash, b.target, b.exact_target, b.registers, b.spill_bytes, b.stack_bytes, b.static_smem_bytes, b.compile_ms"

/// Reads columns from left to right. A value of a wrong type or out of its member's range spoils the row, not the
/// program: `valid` says so once all are read.
class Reader {
 public:
  explicit Reader(const Rows& rows) : rows_(rows) {}

  bool valid() const { return valid_; }

  std::int64_t wide() { return take(rows_.integer(column_++)); }
  int integer();
  bool boolean();
  double real() { return take(rows_.real(column_++)); }
  std::string text() { return std::string(take(rows_.text(column_++))); }
  std::string blob() { return std::string(take(rows_.blob(column_++))); }
  template <class Enum>
  Enum enumerator() {
    return static_cast<Enum>(integer());
  }

 private:
  template <class T>
  T take(const std::optional<T>& value) {
    valid_ = valid_ && value.has_value();
    return value.value_or(T{});
  }

  const Rows& rows_;
  int column_ = 0;
  bool valid_ = true;
};

/// Each consumes its columns and may give nonsense if the row is spoilt: ask Reader::valid and fault_of.
DeviceKey read_device(Reader& reader);
TrialKey read_key(Reader& reader);
Trial read_trial(Reader& reader);
Binary read_binary(Reader& reader);

/// The trial of the current row if mmtune could have written it.
std::optional<Trial> valid_trial(const Rows& rows);

}  // namespace mmtune
