// Check and prune: what concerns the whole file.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <filesystem>

#include "db/losing_code.h"
#include "db/store_impl.h"

namespace mmtune {
namespace {

/// Checks every page and index, and every reference between rows. SQLite reads zeros where the last page is cut short.
void check_pages(Database& database, std::vector<std::string>& faults) {
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(database.path(), error));
  const std::int64_t expected = database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
  if (!error && size < expected) faults.push_back(fmt::format("the file has {} bytes of {}", size, expected));
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

/// Rows of T that readers skip, programs whose machine code is not that of their hash among them. `name` is SQL and
/// says which row it is.
template <Record T>
void check_values(Database& database, std::string_view name, std::vector<std::string>& faults) {
  static const std::string rest = fmt::format(", {}{}", sql::columns<T>(Images::yes), sql::from<T>());
  Rows rows = database.query(fmt::format("SELECT {}{}", name, rest));
  while (rows.next()) {
    std::string row;
    T record;
    Reader reader(rows, Images::yes);
    reader.read(row);
    reader.read(record);
    const std::string fault = reader.valid() ? fault_of(record) : "a value of a wrong type or out of range";
    if (!fault.empty()) faults.push_back(fmt::format("{} {}: {}", kTable<T>, row, fault));
  }
}

/// SQL for a hash as it is written.
std::string hash_text(std::string_view column) {
  return fmt::format("iif(typeof({0}) = 'blob', lower(hex({0})), {0})", column);
}

/// Fills the temporary table `name` with these sources.
void list_sources(Database& database, std::string_view name, const std::vector<std::string>& sources) {
  database.exec(fmt::format("DROP TABLE IF EXISTS temp.{0}; CREATE TEMP TABLE {0} (source)", name));
  const std::string insert = fmt::format("INSERT INTO {} VALUES (:source)", name);
  for (const std::string& source : sources) database.run(insert, Named{"source", Hash{source}});
}

/// SQL for the trials that go by these rules; lists live_sources as `live`.
std::string doomed_trials(Database& database, const PruneRules& rules) {
  std::string any = "0";
  if (rules.failed) any += " OR outcome <> 0";
  if (rules.predicted) any += " OR evidence = 1";
  if (rules.set_aside) {
    any +=
        " OR outcome IN (7, 8) AND (device_id, kernel_id) IN (SELECT a.device_id, same.id FROM attempt a"
        " JOIN kernel k ON k.id = a.kernel_id JOIN kernel same ON same.source_hash = k.source_hash WHERE a.killed = 1)"
        " OR outcome IN (7, 8) AND binary_hash = '' AND kernel_id IN"
        " (SELECT id FROM kernel WHERE source_hash IN (SELECT source_hash FROM lost_compile))";
  }
  if (rules.stale_sources) {
    list_sources(database, "live", rules.live_sources);
    any += " OR kernel_id IN (SELECT id FROM kernel WHERE source_hash NOT IN (SELECT source FROM live))";
  }
  return any;
}

std::int64_t count_set_aside(Database& database) {
  return database.integer(
             "SELECT count(*) FROM (SELECT DISTINCT a.device_id, e.driver, k.source_hash FROM attempt a JOIN"
             " environment e ON e.id = a.environment_id JOIN kernel k ON k.id = a.kernel_id WHERE a.killed = 1)") +
         database.integer("SELECT count(*) FROM lost_compile");
}

/// Programs that no trial names, and that are of none of the `kept` sources and of none that was decided for: a trial
/// of another user's database names no program.
std::int64_t prune_orphan_binaries(Database& database) {
  constexpr std::string_view kMappings =
      "DELETE FROM compiled WHERE source_hash NOT IN (SELECT source FROM kept) AND source_hash NOT IN"
      " (SELECT source_hash FROM kernel WHERE id IN (SELECT kernel_id FROM winner UNION SELECT kernel_id FROM rival))"
      " AND binary_hash NOT IN (SELECT binary_hash FROM trial)";
  constexpr std::string_view kBinaries =
      "DELETE FROM binary WHERE hash NOT IN (SELECT binary_hash FROM compiled UNION SELECT binary_hash FROM trial)";
  database.run(kMappings);
  return database.run(kBinaries);
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
    check_values<Binary>(database, hash_text("binary.hash"), report.faults);
    check_values<Compiled>(database, hash_text("compiled.source_hash"), report.faults);
    check_values<Attempt>(database, "CAST(attempt.id AS TEXT)", report.faults);
    check_values<LostCompile>(database, hash_text("lost_compile.source_hash"), report.faults);
    check_values<Decision>(database, hash_text("kernel.source_hash"), report.faults);
    check_values<Rival>(database, hash_text("kernel.source_hash"), report.faults);
    report.trials = database.integer("SELECT count(*) FROM trial");
    report.binaries = database.integer("SELECT count(*) FROM binary");
    report.winners = database.integer("SELECT count(*) FROM winner");
  } catch (const DatabaseError& error) {
    report.faults.emplace_back(error.what());
  }
  return report;
}

PruneReport Store::count_prunable(const PruneRules& rules) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  const Transaction transaction(database, Transaction::Kind::read);
  PruneReport report;
  report.trials = database.integer(fmt::format("SELECT count(*) FROM trial WHERE {}", doomed_trials(database, rules)));
  if (rules.set_aside) report.suspects = count_set_aside(database);
  if (rules.losing_code) report.images = count_losing_code(database, rules.kept_sources);
  return report;
}

PruneReport Store::prune(const PruneRules& rules) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  // Winners go after their trials.
  database.exec("PRAGMA defer_foreign_keys = ON");
  list_sources(database, "kept", rules.kept_sources);
  PruneReport report;
  report.trials = database.run(fmt::format("DELETE FROM trial WHERE {}", doomed_trials(database, rules)));
  if (rules.set_aside) {
    report.suspects = count_set_aside(database);
    database.exec("DELETE FROM lost_compile; DELETE FROM attempt WHERE killed <> 0");
  }
  if (rules.stale_sources) {
    database.exec(
        "DELETE FROM compiled WHERE source_hash NOT IN (SELECT source FROM live UNION SELECT source FROM kept);"
        "DELETE FROM lost_compile WHERE source_hash NOT IN (SELECT source FROM live)");
  }
  report.winners = database.run(fmt::format("DELETE FROM winner WHERE NOT EXISTS (SELECT 1 FROM trial WHERE {})",
                                            sql::same<TrialKey>("winner", "trial")));
  database.run(fmt::format("DELETE FROM rival WHERE NOT EXISTS (SELECT 1 FROM trial WHERE {})",
                           sql::same<TrialKey>("rival", "trial")));
  remove_unused_kernels(database);
  report.binaries = prune_orphan_binaries(database);
  if (rules.losing_code) {
    report.images = drop_all_losing_code(database, rules.kept_sources);
    replace_images(database, compressed_images(database));
  }
  transaction.commit();
  database.exec("VACUUM");  // The file would stay as large as it was.
  return report;
}

void Store::shrink() {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  try {
    if (const auto images = compressed_images(database); !images.empty()) {
      Transaction transaction(database, Transaction::Kind::write);
      replace_images(database, images);
      transaction.commit();
    }
    if (2 * database.integer("PRAGMA freelist_count") > database.integer("PRAGMA page_count")) database.exec("VACUUM");
  } catch (const DatabaseError&) {
    return;  // nothing has changed
  }
}

void Store::drop_losing_code(const std::vector<ProblemKey>& problems, const std::vector<std::string>& kept_sources) {
  const std::lock_guard lock(impl_->mutex);
  Transaction transaction(*impl_->database, Transaction::Kind::write);
  mmtune::drop_losing_code(*impl_->database, problems, kept_sources);
  transaction.commit();
}

}  // namespace mmtune
