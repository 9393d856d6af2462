#include "db/rows.h"

#include <fmt/ranges.h>
#include <mmtune/error.h>

namespace mmtune {
namespace {

AttemptKey attempt_key(const TrialKey& key) { return {key.device, key.problem, kernel_row(key)}; }

/// "hash = coalesce(excluded.hash, hash), …": what comes without a value leaves the old one.
std::string assignments(const std::vector<std::string>& columns) {
  std::vector<std::string> list;
  for (const std::string& column : columns) list.push_back(fmt::format("{0} = coalesce(excluded.{0}, {0})", column));
  return fmt::format("{}", fmt::join(list, ", "));
}

/// Whether its image is stored, and can be read.
bool is_stored(Database& database, const Binary& binary) {
  constexpr std::string_view kSelect = "SELECT cubin FROM binary WHERE hash = :hash";
  Rows rows = database.query(kSelect, Named{"hash", Hash{binary.hash}});
  const auto stored = rows.next() ? rows.blob(0) : std::nullopt;
  return stored && image_of(*stored) == binary.cubin;
}

}  // namespace

void Reader::read_image(std::string& image) {
  image.clear();
  if (rows_.is_null(column_)) {
    ++column_;
  } else {
    const auto stored = rows_.blob(column_++);
    image = take(stored ? image_of(*stored) : std::nullopt);
  }
}

void Reader::read_settings(std::string& settings) {
  const int column = column_++;
  if (const auto bytes = rows_.blob(column)) {
    settings = take(settings_text(*bytes));
  } else {
    const auto text = rows_.text(column);
    settings = take(text && !settings_bytes(*text) ? std::optional<std::string>(*text) : std::nullopt);
  }
}

void refuse_row(const Database& database, std::string_view table, std::string_view fault) {
  throw DatabaseError(
      fmt::format("database {}: {} not written: {}; correct it and write again", database.path(), table, fault));
}

std::optional<Trial> find_trial(Database& database, const TrialKey& key) {
  static const std::string statement =
      "SELECT " + sql::columns<Trial>() + sql::from<Trial>() + " WHERE " + sql::matches<TrialKey>("trial");
  Rows rows = database.query(statement, key);
  if (!rows.next()) return std::nullopt;
  return valid_row<Trial>(rows);
}

std::optional<Binary> find_binary(Database& database, const std::string& hash) {
  static const std::string statement =
      fmt::format("SELECT {} FROM binary WHERE hash = :hash", sql::columns<Binary>(Images::yes));
  Rows rows = database.query(statement, Named{"hash", Hash{hash}});
  return rows.next() ? valid_row<Binary>(rows, Images::yes) : std::nullopt;
}

Binary code_of(Database& database, std::string_view source_hash, std::string_view binary_hash) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM compiled JOIN binary ON binary.hash = compiled.binary_hash AND binary.target = compiled.target"
      " WHERE compiled.source_hash = :source_hash AND binary.cubin IS NOT NULL"
      " ORDER BY compiled.binary_hash = :binary_hash DESC, compiled.target DESC LIMIT 1",
      sql::columns<Binary>());
  Rows rows =
      database.query(statement, Named{"source_hash", Hash{source_hash}}, Named{"binary_hash", Hash{binary_hash}});
  auto binary = rows.next() ? valid_row<Binary>(rows) : std::nullopt;
  return binary.value_or(Binary{});
}

void write_binary(Database& database, const Binary& binary, std::string (*stored)(std::string_view)) {
  static const std::string statement =
      "INSERT " + sql::into<Binary>() + " ON CONFLICT (hash) DO UPDATE SET " + assignments(row_columns<Binary>());
  constexpr std::string_view kImage = "UPDATE binary SET cubin = :cubin WHERE hash = :hash";
  require_sound(database, binary);
  Binary facts = binary;
  facts.cubin.clear();
  write_row(database, statement, facts);
  // A cover measures one program at many sizes: to read an image takes a tenth of the time of compressing it again.
  if (binary.cubin.empty() || is_stored(database, binary)) return;
  database.run(kImage, Named{"cubin", Blob{stored(binary.cubin)}}, Named{"hash", Hash{binary.hash}});
}

void write_attempt(Database& database, const LaunchRecord& attempt) {
  write_row(database, Attempt{attempt_key(attempt.key), attempt.environment, attempt.boot, Killed::no, utc_now()});
}

void end_attempt(Database& database, const Trial& trial) {
  static const std::string where = " WHERE killed = 0 AND id IN (SELECT attempt.id" + sql::from<Attempt>() + " WHERE " +
                                   sql::matches<AttemptKey>("attempt") + ")";
  static const std::string kill = "UPDATE attempt SET killed = 1" + where;
  static const std::string forget = "DELETE FROM attempt" + where;
  database.run(is_kill(trial.outcome) ? kill : forget, attempt_key(trial.key));
}

void remove_unused_kernels(Database& database) {
  database.exec(
      "DELETE FROM kernel WHERE id NOT IN (SELECT kernel_id FROM trial UNION SELECT kernel_id FROM attempt);"
      "DELETE FROM family WHERE id NOT IN (SELECT family_id FROM kernel)");
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  return rule::utc_text(std::chrono::system_clock::to_time_t(time)).value_or("");
}

std::string utc_now() { return utc_text(std::chrono::system_clock::now()); }

}  // namespace mmtune
