// Check and prune: what concerns the whole file.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <filesystem>
#include <set>

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

std::set<std::string> stored_sources(Database& database) {
  std::set<std::string> sources;
  Rows rows = database.query(
      "SELECT source_hash FROM kernel UNION SELECT source_hash FROM compiled UNION SELECT source_hash FROM "
      "lost_compile");
  while (rows.next()) sources.insert(rows.hash(0).value_or(""));
  return sources;
}

std::int64_t prune_stale(Database& database, const std::vector<std::string>& live_sources) {
  const std::set<std::string> live(live_sources.begin(), live_sources.end());
  std::int64_t trials = 0;
  for (const std::string& source : stored_sources(database)) {
    if (live.contains(source)) continue;
    trials += database.run("DELETE FROM trial WHERE kernel_id IN (SELECT id FROM kernel WHERE source_hash = :source)",
                           Named{"source", Hash{source}});
    database.run("DELETE FROM compiled WHERE source_hash = :source", Named{"source", Hash{source}});
    database.run("DELETE FROM lost_compile WHERE source_hash = :source", Named{"source", Hash{source}});
  }
  return trials;
}

/// Programs that no trial names, and that are of none of these sources and of none that was decided for: a trial of
/// another user's database names no program.
std::int64_t prune_orphan_binaries(Database& database, const std::vector<std::string>& kept_sources) {
  constexpr std::string_view kMappings =
      "DELETE FROM compiled WHERE source_hash NOT IN (SELECT source FROM kept) AND source_hash NOT IN"
      " (SELECT source_hash FROM kernel WHERE id IN (SELECT kernel_id FROM winner UNION SELECT kernel_id FROM rival))"
      " AND binary_hash NOT IN (SELECT binary_hash FROM trial)";
  constexpr std::string_view kBinaries =
      "DELETE FROM binary WHERE hash NOT IN (SELECT binary_hash FROM compiled UNION SELECT binary_hash FROM trial)";
  database.exec("CREATE TEMP TABLE kept (source)");
  for (const std::string& source : kept_sources) {
    database.run("INSERT INTO kept VALUES (:source)", Named{"source", Hash{source}});
  }
  database.run(kMappings);
  const std::int64_t binaries = database.run(kBinaries);
  database.exec("DROP TABLE kept");
  return binaries;
}

/// No candidate is a suspect or lost any more: former ones are tried again, and those of a race that crashed may race.
void absolve(Database& database, PruneReport& report) {
  report.suspects =
      database.integer(
          "SELECT count(*) FROM (SELECT DISTINCT a.device_id, e.driver, k.source_hash FROM attempt a JOIN environment e"
          " ON e.id = a.environment_id JOIN kernel k ON k.id = a.kernel_id WHERE a.killed = 1)") +
      database.integer("SELECT count(*) FROM lost_compile");
  report.trials += database.run(
      "DELETE FROM trial WHERE outcome IN (7, 8) AND (device_id, kernel_id) IN (SELECT a.device_id, same.id FROM "
      "attempt a"
      " JOIN kernel k ON k.id = a.kernel_id JOIN kernel same ON same.source_hash = k.source_hash WHERE a.killed = 1)");
  report.trials += database.run(
      "DELETE FROM trial WHERE outcome IN (7, 8) AND binary_hash = ''"
      " AND kernel_id IN (SELECT id FROM kernel WHERE source_hash IN (SELECT source_hash FROM lost_compile))");
  database.run("DELETE FROM lost_compile");
  database.run("DELETE FROM attempt WHERE killed <> 0");
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
  database.run(fmt::format("DELETE FROM rival WHERE NOT EXISTS (SELECT 1 FROM trial WHERE {})",
                           sql::same<TrialKey>("rival", "trial")));
  remove_unused_kernels(database);
  report.binaries = prune_orphan_binaries(database, rules.kept_sources);
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

std::int64_t Store::count_losing_code(const std::vector<std::string>& kept_sources) {
  const std::lock_guard lock(impl_->mutex);
  return mmtune::count_losing_code(*impl_->database, kept_sources);
}

}  // namespace mmtune
