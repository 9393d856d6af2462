// What the files behind Store share: the connection, and the reads and writes that merging repeats.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "db/open.h"
#include "db/rows.h"
#include "db/store.h"

namespace mmtune {

struct Store::Impl {
  std::unique_ptr<Database> database;
  std::mutex mutex;  ///< Every function of Store holds it.
};

/// The members that are set: as fields of records, or as :filter_family and so on.
void bind_value(Statement& statement, const RowFilter& filter);

/// The stored trial of this key; nothing also where the row is spoilt.
std::optional<Trial> find_trial(Database& database, const TrialKey& key);

/// What a source compiled to, that of this hash if there are several, without its image; no hash where there is none
/// with an image. See select_winner().
Binary code_of(Database& database, std::string_view source_hash, std::string_view binary_hash);

// Writes of sound values; call within a write transaction.

/// Replaces the facts, and keeps a stored image if the binary comes without one.
void write_binary(Database& database, const Binary& binary);

/// The attempt is about to run.
void write_attempt(Database& database, const LaunchRecord& attempt);
/// The attempt at this trial is over, if there was one.
void end_attempt(Database& database, const Trial& trial);

/// Removes kernels that no trial or attempt names any more, and families that no kernel does.
void remove_unused_kernels(Database& database);

/// A time of day as it is stored.
std::string utc_text(std::chrono::system_clock::time_point time);

/// The present time as it is stored.
std::string utc_now();

}  // namespace mmtune
