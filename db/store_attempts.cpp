// What runs on a GPU, what ended a worker or the machine, and sources whose compilers were lost.
#include <algorithm>

#include "db/store_impl.h"

namespace mmtune {
namespace {

/// What runs on the GPU :device_uuid.
constexpr std::string_view kWhereRunning =
    " WHERE killed = 0 AND environment_id IN (SELECT id FROM environment WHERE device_uuid = :device_uuid)";

TrialKey trial_key(const AttemptKey& key) {
  const KernelRow& kernel = key.kernel;
  return {key.device, key.problem, kernel.family.family_name, kernel.config(), kernel.source_hash, Evidence::measured};
}

}  // namespace

void begin_attempts(Database& database, std::span<const LaunchRecord> attempts) {
  static const std::string forget = fmt::format("DELETE FROM attempt{}", kWhereRunning);
  if (!attempts.empty()) database.run(forget, Named{"device_uuid", attempts.front().environment.device_uuid});
  for (const LaunchRecord& attempt : attempts) write_attempt(database, attempt);
}

void Store::begin(const std::vector<LaunchRecord>& attempts) {
  const std::lock_guard lock(impl_->mutex);
  Transaction transaction(*impl_->database, Transaction::Kind::write);
  begin_attempts(*impl_->database, attempts);
  transaction.commit();
}

std::vector<TrialKey> Store::settle(const std::string& device_uuid, const std::string& boot) {
  static const std::string any = fmt::format("SELECT 1 FROM attempt{}", kWhereRunning);
  static const std::string select =
      fmt::format("SELECT {}{}{} AND boot <> :boot", sql::columns<Attempt>(), sql::from<Attempt>(), kWhereRunning);
  static const std::string forget = fmt::format("DELETE FROM attempt{} AND boot = :boot", kWhereRunning);
  static const std::string kill = fmt::format("UPDATE attempt SET killed = :killed{}", kWhereRunning);
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  const Named uuid{"device_uuid", device_uuid};
  if (!database.query(any, uuid).next()) return {};
  Transaction transaction(database, Transaction::Kind::write);
  std::vector<TrialKey> culprits;
  for (const Attempt& attempt : valid_rows<Attempt>(database.query(select, uuid, Named{"boot", boot}))) {
    culprits.push_back(trial_key(attempt.key));
  }
  database.run(forget, uuid, Named{"boot", boot});
  const Killed killed = culprits.size() > 1 ? Killed::in_race : Killed::alone;
  database.run(kill, uuid, Named{"killed", killed});
  transaction.commit();
  return culprits;
}

bool Store::crashed_in_race(const TrialKey& key, const std::string& driver) {
  static const std::string statement = fmt::format(
      "SELECT 1{} WHERE {} AND {} AND kernel.source_hash = :source_hash AND environment.driver = :driver"
      " AND attempt.killed = 2",
      sql::from<Attempt>(), sql::matches<DeviceKey>(), sql::matches<Problem>());
  const std::lock_guard lock(impl_->mutex);
  return impl_->database
      ->query(statement, key.device, key.problem, Named{"source_hash", Hash{key.source_hash}}, Named{"driver", driver})
      .next();
}

std::vector<Suspect> Store::suspects(const std::optional<std::string>& source_hash) {
  static const std::string statement = fmt::format(
      "SELECT {0}, {1}, environment.driver, count(*), max(attempt.started){2} WHERE attempt.killed = 1"
      " AND (:source_hash IS NULL OR kernel.source_hash = :source_hash)"
      " GROUP BY attempt.device_id, environment.driver, kernel.source_hash"
      " ORDER BY device.name, environment.driver, {1}",
      sql::columns<DeviceKey>(), sql::columns<KernelRow>(), sql::from<Attempt>());
  const std::lock_guard lock(impl_->mutex);
  const auto hash = source_hash ? std::optional(Hash{*source_hash}) : std::nullopt;
  return valid_rows<Suspect>(impl_->database->query(statement, Named{"source_hash", hash}));
}

void Store::put_lost_compile(const LostCompile& lost) {
  constexpr std::string_view kFind =
      "SELECT losses, limit_ms FROM lost_compile WHERE source_hash = :source_hash AND target = :target"
      " AND nvrtc = :nvrtc";
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  LostCompile row = lost;
  row.losses = 1;
  row.last = utc_now();
  {
    Rows before = database.query(kFind, Named{"source_hash", Hash{lost.source_hash}}, Named{"target", lost.target},
                                 Named{"nvrtc", lost.nvrtc});
    if (before.next()) {
      row.losses += static_cast<int>(std::clamp<std::int64_t>(before.integer(0).value_or(0), 0, 1'000'000));
      row.limit_ms = std::max(row.limit_ms, before.real(1).value_or(0));
    }
  }
  write_row(database, row);
  transaction.commit();
}

std::vector<LostCompile> Store::lost_compiles() {
  static const std::string statement = fmt::format("SELECT {}{} ORDER BY family, config, source_hash, target, nvrtc",
                                                   sql::columns<LostCompile>(), sql::from<LostCompile>());
  const std::lock_guard lock(impl_->mutex);
  return valid_rows<LostCompile>(impl_->database->query(statement));
}

std::optional<LostCompile> Store::find_lost_compile(const std::string& source_hash, const std::string& target,
                                                    const std::string& nvrtc) {
  static const std::string statement =
      fmt::format("SELECT {}{} WHERE source_hash = :source_hash AND target = :target AND nvrtc = :nvrtc",
                  sql::columns<LostCompile>(), sql::from<LostCompile>());
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(statement, Named{"source_hash", Hash{source_hash}}, Named{"target", target},
                                     Named{"nvrtc", nvrtc});
  return rows.next() ? valid_row<LostCompile>(rows) : std::nullopt;
}

}  // namespace mmtune
