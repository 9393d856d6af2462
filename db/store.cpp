#include "db/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "db/losing_code.h"
#include "db/settle.h"
#include "db/store_impl.h"

namespace mmtune {
namespace {

/// " WHERE …" for the members that are set.
std::string where(const RowFilter& filter) {
  std::vector<std::string> conditions{"1"};
  if (filter.device) conditions.push_back(sql::matches<DeviceKey>());
  if (filter.problem) conditions.push_back(sql::matches<Problem>());
  if (filter.precision) conditions.emplace_back("problem.precision = :filter_precision");
  if (filter.layout) conditions.emplace_back("problem.layout = :filter_layout");
  if (filter.evidence) conditions.emplace_back("trial.evidence = :filter_evidence");
  if (filter.family) conditions.emplace_back("family.family_name = :filter_family");
  return fmt::format(" WHERE {}", fmt::join(conditions, " AND "));
}

// A decision is served while its trial is ok. Its binary is what its source compiled to here, by the last compiler and
// not by the word of the trial, which may come from elsewhere.
const std::string& select_winner() {
  constexpr std::string_view kCompiled =
      "SELECT compiled.binary_hash FROM compiled JOIN binary b ON b.hash = compiled.binary_hash"
      " AND b.target = compiled.target WHERE compiled.source_hash = kernel.source_hash";
  static const std::string statement = fmt::format(
      "SELECT {}, {}, (SELECT count(*) FROM rival WHERE rival.device_id = winner.device_id AND"
      " rival.problem_id = winner.problem_id AND rival.evidence = winner.evidence AND rival.near_tie), {}{}"
      " JOIN winner ON {} AND trial.outcome = 0"
      " LEFT JOIN binary ON binary.cubin IS NOT NULL AND binary.hash = coalesce("
      "({} AND compiled.binary_hash = trial.binary_hash), ({} ORDER BY compiled.target DESC LIMIT 1))",
      sql::columns<Trial>(), sql::names(columns_of<Grounds>("winner", Images::no)), sql::columns<Binary>(),
      sql::from<Trial>(), sql::same<TrialKey>("winner", "trial"), kCompiled, kCompiled);
  return statement;
}

std::optional<Winner> valid_winner(const Rows& rows) {
  Reader reader(rows);
  Winner winner;
  Grounds grounds;
  reader.read(winner.trial);
  reader.read(grounds);
  reader.read(winner.near_ties);
  if (!reader.valid() || !fault_of(winner.trial).empty() || !fault_of(grounds).empty()) return std::nullopt;
  winner.search = std::move(grounds.search);
  winner.candidates = grounds.candidates;
  Binary binary;
  reader.read(binary);
  if (reader.valid() && fault_of(binary).empty()) winner.binary = std::move(binary);
  return winner;
}

/// What can be stored of a trial that a caller filled.
Trial storable(Trial trial) {
  if (trial.created.empty()) trial.created = utc_now();
  if (std::isnan(trial.error_share)) trial.error_share = std::numeric_limits<double>::infinity();
  if (trial.note.size() > rule::kNoteLimit) trial.note.resize(rule::kNoteLimit);
  return trial;
}

void write_compiled(Database& database, const std::string& source_hash, const Binary& binary) {
  write_row(database, Compiled{source_hash, binary.target, binary.hash, binary.nvrtc});
}

bool has_image(Database& database, const Binary& binary) {
  constexpr std::string_view kSelect = "SELECT 1 FROM binary WHERE hash = :hash AND cubin IS NOT NULL";
  return !binary.cubin.empty() || database.query(kSelect, Named{"hash", Hash{binary.hash}}).next();
}

void write_decision(Database& database, const NewDecision& decision) {
  const TrialKey& key = decision.trial;
  const auto trial = find_trial(database, key);
  if (!trial || trial->outcome != Outcome::ok) refuse_row(database, "winner", "its trial is not stored as ok");
  forget_rivals(database, key.problem_key());
  const auto before = find_decision(database, key.problem_key());
  const double cublas_ratio = before && compare(before->key, key) == 0 ? before->grounds.cublas_ratio : 0;
  const int candidates = decision.candidates;
  write_row(database, Decision{key, {trial->timing.median_us, decision.search, candidates, utc_now(), cublas_ratio}});
}

void put_rows(Database& database, std::span<const Trial> trials, std::span<const Binary> binaries,
              std::span<const LaunchRecord> next, std::string (*stored)(std::string_view)) {
  Transaction transaction(database, Transaction::Kind::write);
  for (const Binary& binary : binaries) write_binary(database, binary, stored);
  for (const Trial& given : trials) {
    const Trial trial = storable(given);
    write_row(database, trial);  // A winner's reference to it is checked after the replacement.
    end_attempt(database, trial);
    for (const Binary& binary : binaries) {
      if (binary.hash == trial.binary_hash && has_image(database, binary)) {
        write_compiled(database, trial.key.source_hash, binary);
      }
    }
  }
  begin_attempts(database, next);
  transaction.commit();
}

}  // namespace

/// The members that are set: as fields of records, or as :filter_family and so on.
static void bind_value(Statement& statement, const RowFilter& filter) {
  if (filter.device) bind_value(statement, *filter.device);
  if (filter.problem) bind_value(statement, *filter.problem);
  if (filter.precision) bind_value(statement, Named{"filter_precision", *filter.precision});
  if (filter.layout) bind_value(statement, Named{"filter_layout", *filter.layout});
  if (filter.evidence) bind_value(statement, Named{"filter_evidence", *filter.evidence});
  if (filter.family) bind_value(statement, Named{"filter_family", *filter.family});
}

Store Store::open(const std::string& path, OpenMode mode, LockBudget* budget) {
  auto impl = std::make_unique<Impl>();
  impl->database = open_database(path, mode, Trust::own, budget);
  return Store(std::move(impl));
}

Store Store::open_image(std::string_view bytes, OpenMode mode) {
  auto impl = std::make_unique<Impl>();
  impl->database = mmtune::open_image(Image{bytes}, mode);
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
    refuse_row(*impl_->database, "trial", "binary_hash: not that of its binary");
  }
  const auto count = [](const auto* given) { return given == nullptr ? std::size_t{0} : std::size_t{1}; };
  put_rows(*impl_->database, {&trial, 1}, {binary, count(binary)}, {next, count(next)}, passing_image);
}

void Store::put(const std::vector<Trial>& trials, const std::vector<Binary>& binaries,
                const std::vector<LaunchRecord>& next) {
  const std::lock_guard lock(impl_->mutex);
  put_rows(*impl_->database, trials, binaries, next, stored_image);
}

std::optional<Trial> Store::find(const TrialKey& key) {
  const std::lock_guard lock(impl_->mutex);
  return find_trial(*impl_->database, key);
}

std::vector<Trial> Store::find_twins(const TrialKey& key, const std::string& binary_hash) {
  static const std::string statement = fmt::format(
      "SELECT {}{} WHERE {} AND {} AND trial.binary_hash = :binary_hash AND trial.binary_hash <> ''"
      " AND trial.evidence = 0 AND trial.outcome = 0 ORDER BY trial.samples DESC",
      sql::columns<Trial>(), sql::from<Trial>(), sql::matches<DeviceKey>(), sql::matches<Problem>());
  const std::lock_guard lock(impl_->mutex);
  return valid_rows<Trial>(
      impl_->database->query(statement, key.device, key.problem, Named{"binary_hash", Hash{binary_hash}}));
}

std::optional<Binary> Store::find_compiled(const std::string& source_hash, const std::string& target) {
  // The target is compared on both sides: a row must not lead to code for another GPU.
  static const std::string statement = fmt::format(
      "SELECT {}, {} FROM compiled JOIN binary ON binary.hash = compiled.binary_hash"
      " AND binary.target = compiled.target WHERE compiled.source_hash = :source_hash AND compiled.target = :target",
      sql::columns<Compiled>(), sql::columns<Binary>(Images::yes));
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(statement, Named{"source_hash", Hash{source_hash}}, Named{"target", target});
  if (!rows.next()) return std::nullopt;
  Compiled compiled;
  Binary binary;
  Reader reader(rows, Images::yes);
  reader.read(compiled);
  reader.read(binary);
  if (!reader.valid() || !fault_of(compiled).empty() || !fault_of(binary).empty()) return std::nullopt;
  if (binary.cubin.empty()) return std::nullopt;
  binary.nvrtc = compiled.nvrtc;
  return binary;
}

void Store::put_compiled(const std::string& source_hash, const Binary& binary) {
  const std::lock_guard lock(impl_->mutex);
  Transaction transaction(*impl_->database, Transaction::Kind::write);
  write_binary(*impl_->database, binary);
  write_compiled(*impl_->database, source_hash, binary);
  transaction.commit();
}

std::optional<Binary> Store::find_binary(const std::string& binary_hash) {
  const std::lock_guard lock(impl_->mutex);
  auto binary = mmtune::find_binary(*impl_->database, binary_hash);
  return binary && !binary->cubin.empty() ? binary : std::nullopt;
}

double Store::compile_ms(const std::string& binary_hash) {
  const std::lock_guard lock(impl_->mutex);
  Rows rows =
      impl_->database->query("SELECT compile_ms FROM binary WHERE hash = :hash", Named{"hash", Hash{binary_hash}});
  return rows.next() ? rows.real(0).value_or(0) : 0;
}

void Store::put_winner(const TrialKey& key, const std::string& search, int candidates, const Binary* code,
                       const std::vector<std::string>* kept_sources) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  write_decision(database, {key, search, candidates});
  if (code != nullptr && !code->cubin.empty()) {
    write_binary(database, *code);
    write_compiled(database, key.source_hash, *code);
  }
  if (kept_sources != nullptr) mmtune::drop_losing_code(database, {key.problem_key()}, *kept_sources);
  transaction.commit();
}

void Store::put_winners(const std::vector<NewDecision>& decisions) {
  const std::lock_guard lock(impl_->mutex);
  Transaction transaction(*impl_->database, Transaction::Kind::write);
  for (const NewDecision& decision : decisions) write_decision(*impl_->database, decision);
  transaction.commit();
}

bool Store::put_cublas_ratio(const TrialKey& decided, double ratio) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  auto decision = find_decision(database, decided.problem_key());
  if (!decision || compare(decision->key, decided) != 0) return false;
  decision->grounds.cublas_ratio = ratio;
  write_row(database, *decision);
  transaction.commit();
  return true;
}

std::optional<Winner> Store::find_winner(const ProblemKey& problem) {
  static const std::string statement = fmt::format("{} WHERE {}", select_winner(), sql::matches<ProblemKey>("trial"));
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(statement, problem);
  return rows.next() ? valid_winner(rows) : std::nullopt;
}

std::vector<TrialKey> Store::near_ties(const ProblemKey& problem) {
  const std::lock_guard lock(impl_->mutex);
  std::vector<TrialKey> keys;
  for (Rival& rival : rivals_of(*impl_->database, problem)) {
    if (rival.near_tie) keys.push_back(std::move(rival.key));
  }
  return keys;
}

std::vector<Winner> Store::winners(const RowFilter& filter) {
  constexpr std::string_view kOrder =
      " ORDER BY problem.precision, problem.layout, problem.m, problem.n, problem.k, trial.evidence, device.name,"
      " device.compute_capability, device.sm_count, device.smem_per_block_optin, problem.align_a DESC,"
      " problem.align_b DESC, problem.align_c DESC";
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(fmt::format("{}{}{}", select_winner(), where(filter), kOrder), filter);
  std::vector<Winner> found;
  while (rows.next()) {
    if (auto winner = valid_winner(rows)) found.push_back(*std::move(winner));
  }
  return found;
}

std::vector<Trial> Store::trials(const RowFilter& filter) {
  const std::lock_guard lock(impl_->mutex);
  return valid_rows<Trial>(impl_->database->query(
      fmt::format("SELECT {}{}{} ORDER BY trial.id", sql::columns<Trial>(), sql::from<Trial>(), where(filter)),
      filter));
}

std::vector<DeviceKey> Store::devices() {
  static const std::string statement = fmt::format(
      "SELECT {} FROM device WHERE EXISTS (SELECT 1 FROM trial WHERE trial.device_id = device.id) ORDER BY 1, 2, 3, 4",
      sql::columns<DeviceKey>());
  const std::lock_guard lock(impl_->mutex);
  return valid_rows<DeviceKey>(impl_->database->query(statement));
}

}  // namespace mmtune
