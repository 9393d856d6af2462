// Check, prune and export: what concerns the whole file.
#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "db/store_impl.h"

namespace mmtune {

namespace {

/// Every page and index, and every reference between rows.
void check_pages(Database& database, std::vector<std::string>& faults) {
  Rows pages = database.query("PRAGMA integrity_check");
  while (pages.next()) {
    const auto line = pages.text(0).value_or("");
    if (line != "ok") faults.emplace_back(line);
  }
  Rows references = database.query("PRAGMA foreign_key_check");
  while (references.next()) {
    faults.push_back(fmt::format("{}: a row refers to a row of {} that does not exist",
                                 references.text(0).value_or("?"), references.text(2).value_or("?")));
  }
}

/// Rows of T that readers skip, by what `name` gives, which is SQL.
template <Record T>
void check_values(Database& database, std::string_view name, std::vector<std::string>& faults) {
  Rows rows = database.query(fmt::format("SELECT {}, {}{}", name, sql::columns<T>(), sql::from<T>()));
  while (rows.next()) {
    std::string row;
    T record;
    Reader reader(rows);
    reader.read(row);
    reader.read(record);
    const std::string fault = reader.valid() ? fault_of(record) : "a value of a wrong type or out of range";
    if (!fault.empty()) faults.push_back(fmt::format("{} {}: {}", kTable<T>, row, fault));
  }
}

std::set<std::string> stored_sources(Database& database) {
  std::set<std::string> sources;
  Rows rows = database.query("SELECT source_hash FROM trial UNION SELECT source_hash FROM compiled");
  while (rows.next()) sources.emplace(rows.text(0).value_or(""));
  return sources;
}

std::int64_t prune_stale(Database& database, const std::vector<std::string>& live_sources) {
  const std::set<std::string> live(live_sources.begin(), live_sources.end());
  std::int64_t trials = 0;
  for (const std::string& source : stored_sources(database)) {
    if (live.contains(source)) continue;
    trials += database.run("DELETE FROM trial WHERE source_hash = :source", Named{"source", source});
    database.run("DELETE FROM compiled WHERE source_hash = :source", Named{"source", source});
  }
  return trials;
}

std::int64_t prune_orphan_binaries(Database& database) {
  constexpr std::string_view kMappings =
      "DELETE FROM compiled WHERE NOT EXISTS (SELECT 1 FROM trial t WHERE t.binary_hash = compiled.binary_hash"
      " AND t.binary_hash <> '')";
  constexpr std::string_view kBinaries =
      "DELETE FROM binary WHERE NOT EXISTS (SELECT 1 FROM trial t WHERE t.binary_hash = binary.hash"
      " AND t.binary_hash <> '')";
  database.run(kMappings);
  return database.run(kBinaries);
}

/// No candidate is a suspect any more: former suspects are tried again, and those of a race that crashed may race.
void absolve(Database& database, PruneReport& report) {
  report.suspects = database.integer(
      "SELECT count(*) FROM (SELECT DISTINCT a.device_id, e.driver, a.source_hash FROM attempt a JOIN environment e"
      " ON e.id = a.environment_id WHERE a.killed = 1)");
  report.trials += database.run(
      "DELETE FROM trial WHERE outcome IN (7, 8) AND EXISTS (SELECT 1 FROM attempt a WHERE a.killed = 1"
      " AND a.device_id = trial.device_id AND a.source_hash = trial.source_hash)");
  database.run("DELETE FROM attempt WHERE killed <> 0");
}

/// Forces what SQLite wrote there to disk; VACUUM INTO does not.
void sync_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) close(file);
  if (!synced) {
    throw DatabaseError(fmt::format("database {}: not written to disk: {}; check the disk and export again", path,
                                    std::strerror(reason)));
  }
}

}  // namespace

CheckReport Store::check() {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  CheckReport report;
  try {
    const Transaction transaction(database, Transaction::Kind::read);
    check_pages(database, report.faults);
    check_values<Trial>(database, "CAST(trial.id AS TEXT)", report.faults);
    check_values<Binary>(database, "binary.hash", report.faults);
    check_values<Compiled>(database, "compiled.source_hash", report.faults);
    check_values<Attempt>(database, "CAST(attempt.id AS TEXT)", report.faults);
    check_values<Decision>(database, "winner.source_hash", report.faults);
    report.trials = database.integer("SELECT count(*) FROM trial");
    report.binaries = database.integer("SELECT count(*) FROM binary");
    report.winners = database.integer("SELECT count(*) FROM winner");
  } catch (const DatabaseError& error) {
    report.faults.emplace_back(error.what());
  }
  return report;
}

PruneReport Store::prune(const PruneRules& rules) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  // Winners go after their trials.
  database.exec("PRAGMA defer_foreign_keys = ON");
  PruneReport report;
  if (rules.failed) report.trials += database.run("DELETE FROM trial WHERE outcome <> 0");
  if (rules.predicted) report.trials += database.run("DELETE FROM trial WHERE evidence = 1");
  if (rules.set_aside) absolve(database, report);
  if (rules.stale_sources) report.trials += prune_stale(database, rules.live_sources);
  report.winners = database.run(fmt::format("DELETE FROM winner WHERE NOT EXISTS (SELECT 1 FROM trial WHERE {})",
                                            sql::same<TrialKey>("winner", "trial")));
  if (rules.orphan_binaries) report.binaries = prune_orphan_binaries(database);
  transaction.commit();
  return report;
}

void Store::export_to(const std::string& target_path) {
  const std::lock_guard lock(impl_->mutex);
  std::error_code error;
  const std::string target = std::filesystem::absolute(target_path, error);
  if (!create_private_file(target)) {
    throw DatabaseError(fmt::format("database {}: already exists; name a new file", target));
  }
  try {
    impl_->database->run("VACUUM INTO :target", Named{"target", target});
    sync_file(target);
  } catch (...) {
    unlink(target.c_str());  // ours and incomplete
    throw;
  }
}

}  // namespace mmtune
