// Single rows: find and replace.
#include <fmt/chrono.h>
#include <mmtune/error.h>

#include <chrono>

#include "db/store_impl.h"
#include "db/validate.h"

namespace mmtune {

namespace {

/// The id of a row that need not exist yet.
template <class Value>
std::int64_t id_of(Database& database, const char* select, const char* insert, const Value& value) {
  const auto find = [&]() -> std::optional<std::int64_t> {
    Rows rows = database.query(select, value);
    if (!rows.next()) return std::nullopt;
    return rows.integer(0);
  };
  if (const auto id = find()) return *id;
  database.run(insert, value);
  return find().value_or(0);  // 0 is no id: the reference to it is refused
}

std::int64_t device_id(Database& database, const DeviceKey& device) {
  return id_of(database,
               "SELECT id FROM device WHERE name = ?1 AND compute_capability = ?2 AND sm_count = ?3"
               " AND smem_per_block_optin = ?4",
               "INSERT INTO device (name, compute_capability, sm_count, smem_per_block_optin) VALUES (?1, ?2, ?3, ?4)",
               device);
}

std::int64_t problem_id(Database& database, const Problem& problem) {
  return id_of(database,
               "SELECT id FROM problem WHERE precision = ?1 AND layout = ?2 AND m = ?3 AND n = ?4 AND k = ?5"
               " AND align_a = ?6 AND align_b = ?7 AND align_c = ?8",
               "INSERT INTO problem (precision, layout, m, n, k, align_a, align_b, align_c)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
               problem);
}

std::int64_t environment_id(Database& database, const Environment& environment) {
  return id_of(database,
               "SELECT id FROM environment WHERE driver = ?1 AND nvrtc = ?2 AND mmtune_commit = ?3"
               " AND device_uuid = ?4",
               "INSERT INTO environment (driver, nvrtc, mmtune_commit, device_uuid) VALUES (?1, ?2, ?3, ?4)",
               environment);
}

}  // namespace

std::optional<Trial> find_trial(Database& database, const TrialKey& key) {
  Rows rows = database.query("SELECT " MMTUNE_TRIAL_COLUMNS MMTUNE_TRIAL_TABLES MMTUNE_WHERE_KEY, key);
  if (!rows.next()) return std::nullopt;
  return valid_trial(rows);
}

void write_trial(Database& database, const Trial& trial) {
  // The foreign key of a winner that names this trial is checked after the replacement, when the key exists again.
  database.run(
      "INSERT OR REPLACE INTO trial (device_id, problem_id, evidence, family, config, source_hash, outcome, note,"
      " binary_hash, median_us, q1_us, q3_us, min_us, samples, calls_per_sample, mode, sm_clock_mhz,"
      " memory_clock_mhz, throttle, co_tenants, disturbed, clock_limit_mhz, power_limit_w, error_share,"
      " deterministic, occupancy, smem_bytes, environment_id, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
      " ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
      device_id(database, trial.key.device), problem_id(database, trial.key.problem), trial.key.evidence,
      trial.key.family, trial.key.config, trial.key.source_hash, trial.outcome, trial.note, trial.binary_hash,
      trial.timing, trial.error_share, trial.deterministic, trial.occupancy, trial.smem_bytes,
      environment_id(database, trial.environment), trial.created);
}

void write_binary(Database& database, const Binary& binary) {
  const auto cubin = binary.cubin.empty() ? std::nullopt : std::optional(Blob{binary.cubin});
  database.run(
      "INSERT INTO binary (hash, target, exact_target, registers, spill_bytes, stack_bytes, static_smem_bytes,"
      " compile_ms, cubin) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
      " ON CONFLICT (hash) DO UPDATE SET target = excluded.target, exact_target = excluded.exact_target,"
      " registers = excluded.registers, spill_bytes = excluded.spill_bytes, stack_bytes = excluded.stack_bytes,"
      " static_smem_bytes = excluded.static_smem_bytes, compile_ms = excluded.compile_ms,"
      " cubin = coalesce(excluded.cubin, cubin)",
      binary.hash, binary.target, binary.exact_target, binary.registers, binary.spill_bytes, binary.stack_bytes,
      binary.static_smem_bytes, binary.compile_ms, cubin);
}

void write_compiled(Database& database, const std::string& source_hash, const Binary& binary) {
  database.run("INSERT OR REPLACE INTO compiled (source_hash, target, binary_hash, nvrtc) VALUES (?1, ?2, ?3, ?4)",
               source_hash, binary.target, binary.hash, binary.nvrtc);
}

void write_attempt(Database& database, const LaunchRecord& attempt) {
  const TrialKey& key = attempt.key;
  std::string fault = fault_of(key);
  if (fault.empty()) fault = fault_of(attempt.environment);
  if (fault.empty() && !is_hash(attempt.boot)) fault = "boot: no name";
  if (!fault.empty()) {
    throw DatabaseError(
        fmt::format("database {}: attempt not written: {}; correct it and write again", database.path(), fault));
  }
  database.run(
      "INSERT INTO attempt (device_id, problem_id, family, config, source_hash, environment_id, boot, killed, started)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)",
      device_id(database, key.device), problem_id(database, key.problem), key.family, key.config, key.source_hash,
      environment_id(database, attempt.environment), attempt.boot, utc_now());
}

void end_attempt(Database& database, const Trial& trial) {
#define MMTUNE_WHERE_ATTEMPT \
  " WHERE killed = 0 AND device_id = ?1 AND problem_id = ?2 AND family = ?3 AND config = ?4 AND source_hash = ?5"
  const TrialKey& key = trial.key;
  database.run(is_kill(trial.outcome) ? "UPDATE attempt SET killed = 1" MMTUNE_WHERE_ATTEMPT
                                      : "DELETE FROM attempt" MMTUNE_WHERE_ATTEMPT,
               device_id(database, key.device), problem_id(database, key.problem), key.family, key.config,
               key.source_hash);
#undef MMTUNE_WHERE_ATTEMPT
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace mmtune
