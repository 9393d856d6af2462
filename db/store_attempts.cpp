// What runs on a GPU, and who ended a worker or the machine.
#include <fmt/format.h>
#include <mmtune/error.h>

#include "db/store_impl.h"
#include "db/validate.h"

namespace mmtune {

namespace {

/// What runs on the GPU of the UUID in ?1.
#define MMTUNE_WHERE_RUNNING \
  " WHERE killed = 0 AND environment_id IN (SELECT id FROM environment WHERE device_uuid = ?1)"

std::optional<TrialKey> valid_key(const Rows& rows) {
  Reader reader(rows);
  TrialKey key = read_key(reader);
  if (!reader.valid() || !fault_of(key).empty()) return std::nullopt;
  return key;
}

std::optional<Suspect> valid_suspect(const Rows& rows) {
  Reader reader(rows);
  Suspect suspect;
  suspect.device = read_device(reader);
  suspect.driver = reader.text();
  suspect.family = reader.text();
  suspect.config = reader.text();
  suspect.source_hash = reader.text();
  suspect.kills = reader.integer();
  suspect.last = reader.text();
  const Problem any{kDefaultPrecision, Layout::nn, 1, 1, 1, {}};
  const TrialKey key{suspect.device, any, suspect.family, suspect.config, suspect.source_hash, Evidence::measured};
  const bool valid =
      reader.valid() && fault_of(key).empty() && fault_of(Environment{suspect.driver, "", "", ""}).empty();
  if (!valid || !is_utc_time(suspect.last)) return std::nullopt;
  return suspect;
}

}  // namespace

void Store::begin(const std::vector<LaunchRecord>& attempts) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  if (!attempts.empty()) {
    database.run("DELETE FROM attempt" MMTUNE_WHERE_RUNNING, attempts.front().environment.device_uuid);
  }
  for (const LaunchRecord& attempt : attempts) write_attempt(database, attempt);
  transaction.commit();
}

std::vector<TrialKey> Store::settle(const std::string& device_uuid, const std::string& boot) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  if (!database.query("SELECT 1 FROM attempt" MMTUNE_WHERE_RUNNING, device_uuid).next()) return {};
  Transaction transaction(database, Transaction::Kind::write);
  std::vector<TrialKey> culprits;
  {
    Rows rows = database.query(
        "SELECT d.name, d.compute_capability, d.sm_count, d.smem_per_block_optin, p.precision, p.layout, p.m, p.n, p.k,"
        " p.align_a, p.align_b, p.align_c, a.family, a.config, a.source_hash, 0 FROM attempt a"
        " JOIN device d ON d.id = a.device_id JOIN problem p ON p.id = a.problem_id" MMTUNE_WHERE_RUNNING
        " AND boot <> ?2",
        device_uuid, boot);
    while (rows.next()) {
      if (auto key = valid_key(rows)) culprits.push_back(*std::move(key));
    }
  }
  database.run("DELETE FROM attempt" MMTUNE_WHERE_RUNNING " AND boot = ?2", device_uuid, boot);
  const bool was_race = culprits.size() > 1;
  database.run("UPDATE attempt SET killed = ?2" MMTUNE_WHERE_RUNNING, device_uuid, was_race ? 2 : 1);
  transaction.commit();
  return culprits;
}

bool Store::crashed_in_race(const TrialKey& key, const std::string& driver) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->database
      ->query(
          "SELECT 1 FROM attempt a JOIN device d ON d.id = a.device_id JOIN problem p ON p.id = a.problem_id"
          " JOIN environment e ON e.id = a.environment_id" MMTUNE_WHERE_PLACE
          " AND a.source_hash = ?13 AND e.driver = ?14 AND a.killed = 2",
          key.device, key.problem, key.source_hash, driver)
      .next();
}

std::vector<Suspect> Store::suspects(const std::optional<std::string>& source_hash) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(
      "SELECT d.name, d.compute_capability, d.sm_count, d.smem_per_block_optin, e.driver, a.family, a.config,"
      " a.source_hash, count(*), max(a.started) FROM attempt a JOIN device d ON d.id = a.device_id"
      " JOIN environment e ON e.id = a.environment_id WHERE a.killed = 1 AND (?1 IS NULL OR a.source_hash = ?1)"
      " GROUP BY a.device_id, e.driver, a.source_hash ORDER BY d.name, e.driver, a.family, a.config",
      source_hash);
  std::vector<Suspect> found;
  while (rows.next()) {
    if (auto suspect = valid_suspect(rows)) found.push_back(*std::move(suspect));
  }
  return found;
}

}  // namespace mmtune
