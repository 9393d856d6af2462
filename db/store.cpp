#include "db/store.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "db/store_impl.h"
#include "db/validate.h"

namespace mmtune {

namespace {

#define MMTUNE_WHERE_FILTER                                                                        \
  " WHERE (?1 IS NULL OR (d.name = ?1 AND d.compute_capability = ?2 AND d.sm_count = ?3"           \
  " AND d.smem_per_block_optin = ?4))"                                                             \
  " AND (?5 IS NULL OR (p.precision = ?5 AND p.layout = ?6 AND p.m = ?7 AND p.n = ?8 AND p.k = ?9" \
  " AND p.align_a = ?10 AND p.align_b = ?11 AND p.align_c = ?12))"                                 \
  " AND (?13 IS NULL OR p.precision = ?13) AND (?14 IS NULL OR p.layout = ?14)"                    \
  " AND (?15 IS NULL OR t.evidence = ?15) AND (?16 IS NULL OR t.family = ?16)"

// A decision is served while its trial is ok. Its binary may be unknown.
#define MMTUNE_SELECT_WINNER                                                                                \
  "SELECT " MMTUNE_TRIAL_COLUMNS ", w.search, w.candidates, " MMTUNE_BINARY_COLUMNS MMTUNE_TRIAL_TABLES     \
  " JOIN winner w ON w.device_id = t.device_id AND w.problem_id = t.problem_id AND w.evidence = t.evidence" \
  " AND w.family = t.family AND w.config = t.config AND w.source_hash = t.source_hash AND t.outcome = 0"    \
  " LEFT JOIN binary b ON b.hash = t.binary_hash AND t.binary_hash <> ''"

std::optional<Winner> valid_winner(const Rows& rows) {
  Winner winner;
  Reader reader(rows);
  winner.trial = read_trial(reader);
  winner.search = reader.text();
  winner.candidates = reader.integer();
  if (!reader.valid() || !fault_of(winner.trial).empty()) return std::nullopt;
  if (!fault_of_decision(winner.search, winner.candidates).empty()) return std::nullopt;
  Binary binary = read_binary(reader);
  if (reader.valid() && fault_of(binary).empty()) winner.binary = std::move(binary);
  return winner;
}

/// The binary of a row of MMTUNE_BINARY_COLUMNS and its compiler, with the image as one more column if `with_cubin`.
std::optional<Binary> valid_binary(const Rows& rows, bool with_cubin) {
  Reader reader(rows);
  Binary binary = read_binary(reader);
  binary.nvrtc = reader.text();
  if (with_cubin) binary.cubin = reader.blob();
  if (!reader.valid() || !fault_of(binary).empty()) return std::nullopt;
  return binary;
}

[[noreturn]] void refuse_value(const Database& database, std::string_view what, const std::string& fault) {
  throw DatabaseError(
      fmt::format("database {}: {} not written: {}; correct it and write again", database.path(), what, fault));
}

/// What can be stored of a trial that a caller filled.
Trial storable(Trial trial) {
  if (trial.created.empty()) trial.created = utc_now();
  if (std::isnan(trial.error_share)) trial.error_share = std::numeric_limits<double>::infinity();
  if (trial.note.size() > kNoteLimit) trial.note.resize(kNoteLimit);
  return trial;
}

void put_rows(Database& database, std::span<const Trial> trials, std::span<const Binary> binaries,
              const LaunchRecord* next) {
  Transaction transaction(database, Transaction::Kind::write);
  for (const Binary& binary : binaries) {
    if (const std::string fault = fault_of(binary); !fault.empty()) refuse_value(database, "binary", fault);
    write_binary(database, binary);
  }
  for (const Trial& given : trials) {
    const Trial trial = storable(given);
    if (const std::string fault = fault_of(trial); !fault.empty()) refuse_value(database, "trial", fault);
    write_trial(database, trial);
    end_attempt(database, trial);
    for (const Binary& binary : binaries) {
      if (binary.hash == trial.binary_hash) write_compiled(database, trial.key.source_hash, binary);
    }
  }
  if (next != nullptr) write_attempt(database, *next);
  transaction.commit();
}

}  // namespace

Store Store::open(const std::string& path, OpenMode mode) {
  auto impl = std::make_unique<Impl>();
  impl->database = open_database(path, mode, Trust::own);
  return Store(std::move(impl));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::string& Store::path() const { return impl_->database->path(); }

void Store::put(const Trial& trial, const Binary* binary, const LaunchRecord* next) {
  const std::lock_guard lock(impl_->mutex);
  if (binary != nullptr && binary->hash != trial.binary_hash) {
    refuse_value(*impl_->database, "trial", "binary hash: not that of its binary");
  }
  put_rows(*impl_->database, {&trial, 1}, {binary, binary == nullptr ? std::size_t{0} : std::size_t{1}}, next);
}

void Store::put(const std::vector<Trial>& trials, const std::vector<Binary>& binaries) {
  const std::lock_guard lock(impl_->mutex);
  put_rows(*impl_->database, trials, binaries, nullptr);
}

std::optional<Trial> Store::find(const TrialKey& key) {
  const std::lock_guard lock(impl_->mutex);
  return find_trial(*impl_->database, key);
}

std::vector<Trial> Store::find_twins(const TrialKey& key, const std::string& binary_hash) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(
      "SELECT " MMTUNE_TRIAL_COLUMNS MMTUNE_TRIAL_TABLES MMTUNE_WHERE_PLACE
      " AND t.binary_hash = ?13 AND t.binary_hash <> '' AND t.evidence = 0 AND t.outcome = 0 ORDER BY t.samples DESC",
      key.device, key.problem, binary_hash);
  std::vector<Trial> twins;
  while (rows.next()) {
    if (auto trial = valid_trial(rows)) twins.push_back(*std::move(trial));
  }
  return twins;
}

std::optional<Binary> Store::find_compiled(const std::string& source_hash, const std::string& target, bool with_cubin) {
  const std::lock_guard lock(impl_->mutex);
  // The target is compared on both sides: a row must not lead to code for another GPU.
#define MMTUNE_FROM_COMPILED                                                         \
  " FROM compiled c JOIN binary b ON b.hash = c.binary_hash AND b.target = c.target" \
  " WHERE c.source_hash = ?1 AND c.target = ?2"
  const std::string_view sql = with_cubin ? "SELECT " MMTUNE_BINARY_COLUMNS ", c.nvrtc, b.cubin" MMTUNE_FROM_COMPILED
                                          : "SELECT " MMTUNE_BINARY_COLUMNS ", c.nvrtc" MMTUNE_FROM_COMPILED;
#undef MMTUNE_FROM_COMPILED
  Rows rows = impl_->database->query(sql, source_hash, target);
  return rows.next() ? valid_binary(rows, with_cubin) : std::nullopt;
}

void Store::put_compiled(const std::string& source_hash, const Binary& binary) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  if (!is_hash(source_hash)) refuse_value(database, "binary", "source hash: empty or not a hash");
  if (const std::string fault = fault_of(binary); !fault.empty()) refuse_value(database, "binary", fault);
  Transaction transaction(database, Transaction::Kind::write);
  write_binary(database, binary);
  write_compiled(database, source_hash, binary);
  transaction.commit();
}

std::optional<Binary> Store::find_binary(const std::string& binary_hash) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query("SELECT " MMTUNE_BINARY_COLUMNS ", '', b.cubin FROM binary b WHERE b.hash = ?1",
                                     binary_hash);
  return rows.next() ? valid_binary(rows, true) : std::nullopt;
}

void Store::put_winner(const TrialKey& trial, const std::string& search, int candidates) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  if (const std::string fault = fault_of_decision(search, candidates); !fault.empty()) {
    refuse_value(database, "winner", fault);
  }
  Transaction transaction(database, Transaction::Kind::write);
  const auto rows = database.run(
      "INSERT OR REPLACE INTO winner (device_id, problem_id, evidence, family, config, source_hash, median_us, search,"
      " candidates, decided) SELECT t.device_id, t.problem_id, t.evidence, t.family, t.config, t.source_hash,"
      " t.median_us, ?17, ?18, ?19" MMTUNE_TRIAL_TABLES MMTUNE_WHERE_KEY " AND t.outcome = 0",
      trial, search, candidates, utc_now());
  if (rows != 1) refuse_value(database, "winner", "its trial is not stored as ok");
  transaction.commit();
}

std::optional<Winner> Store::find_winner(const DeviceKey& device, const Problem& problem, Evidence evidence) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(MMTUNE_SELECT_WINNER MMTUNE_WHERE_PLACE " AND t.evidence = ?13", device, problem,
                                     evidence);
  return rows.next() ? valid_winner(rows) : std::nullopt;
}

std::vector<Winner> Store::winners(const RowFilter& filter) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(
      MMTUNE_SELECT_WINNER MMTUNE_WHERE_FILTER
      " ORDER BY p.precision, p.layout, p.m, p.n, p.k, t.evidence, d.name, d.compute_capability, d.sm_count,"
      " d.smem_per_block_optin, p.align_a DESC, p.align_b DESC, p.align_c DESC",
      filter);
  std::vector<Winner> found;
  while (rows.next()) {
    if (auto winner = valid_winner(rows)) found.push_back(*std::move(winner));
  }
  return found;
}

std::vector<Trial> Store::trials(const RowFilter& filter) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query("SELECT " MMTUNE_TRIAL_COLUMNS MMTUNE_TRIAL_TABLES MMTUNE_WHERE_FILTER, filter);
  std::vector<Trial> found;
  while (rows.next()) {
    if (auto trial = valid_trial(rows)) found.push_back(*std::move(trial));
  }
  return found;
}

std::vector<DeviceKey> Store::devices() {
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(
      "SELECT d.name, d.compute_capability, d.sm_count, d.smem_per_block_optin FROM device d"
      " WHERE EXISTS (SELECT 1 FROM trial t WHERE t.device_id = d.id) ORDER BY 1, 2, 3, 4");
  std::vector<DeviceKey> found;
  while (rows.next()) {
    Reader reader(rows);
    DeviceKey device = read_device(reader);
    if (reader.valid() && fault_of(device).empty()) found.push_back(std::move(device));
  }
  return found;
}

}  // namespace mmtune
