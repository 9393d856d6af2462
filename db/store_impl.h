// What the files behind Store share: the connection, and the reads and writes that merging repeats.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "db/open.h"
#include "db/rows.h"
#include "db/store.h"

namespace mmtune {

struct Store::Impl {
  std::unique_ptr<Database> database;
  std::mutex mutex;  ///< held by every function of Store
};

/// d, p, t and e of MMTUNE_TRIAL_COLUMNS.
#define MMTUNE_TRIAL_TABLES                                                                                    \
  " FROM trial t JOIN device d ON d.id = t.device_id JOIN problem p ON p.id = t.problem_id JOIN environment e" \
  " ON e.id = t.environment_id"

/// The parameters of a DeviceKey (from ?1) and a Problem (from ?5).
#define MMTUNE_WHERE_PLACE                                                                               \
  " WHERE d.name = ?1 AND d.compute_capability = ?2 AND d.sm_count = ?3 AND d.smem_per_block_optin = ?4" \
  " AND p.precision = ?5 AND p.layout = ?6 AND p.m = ?7 AND p.n = ?8 AND p.k = ?9"                       \
  " AND p.align_a = ?10 AND p.align_b = ?11 AND p.align_c = ?12"

/// The parameters of a TrialKey, from ?1.
#define MMTUNE_WHERE_KEY \
  MMTUNE_WHERE_PLACE " AND t.family = ?13 AND t.config = ?14 AND t.source_hash = ?15 AND t.evidence = ?16"

/// The stored trial of this key; nothing also where the row is spoilt.
std::optional<Trial> find_trial(Database& database, const TrialKey& key);

// Writes of valid values, replacing the row of the same key; call within a write transaction.
void write_trial(Database& database, const Trial& trial);
/// Keeps a stored image if the binary comes without one.
void write_binary(Database& database, const Binary& binary);
void write_compiled(Database& database, const std::string& source_hash, const Binary& binary);

/// Refuses invalid ones.
void write_attempt(Database& database, const LaunchRecord& attempt);
/// The attempt at this trial is over, if there was one.
void end_attempt(Database& database, const Trial& trial);

/// Now, as stored.
std::string utc_now();

}  // namespace mmtune
