// Statements and their rows.
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "db/sqlite.h"

namespace mmtune {
namespace {

constexpr std::size_t kHashBytes = 16;
constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Whether a hash is stored as bytes.
bool is_hexadecimal(std::string_view text) {
  return text.size() == 2 * kHashBytes && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace

std::optional<std::string> hash_bytes(std::string_view hash) {
  if (!is_hexadecimal(hash)) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hash.size(); i += 2) {
    bytes += static_cast<char>(kHexDigits.find(hash[i]) << 4 | kHexDigits.find(hash[i + 1]));
  }
  return bytes;
}

Rows::~Rows() { sqlite3_reset(statement_.handle_); }

bool Rows::next() { return statement_.step(); }

// One look-up of the column instead of one for its type, value and size each. SQLite forbids this where several threads
// use a connection at once, which no Store allows.
std::optional<std::int64_t> Rows::integer(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.handle_, column);
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_value_int64(value);
}

std::optional<double> Rows::real(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.handle_, column);
  if (sqlite3_value_type(value) != SQLITE_FLOAT) return std::nullopt;
  return sqlite3_value_double(value);
}

std::optional<std::string_view> Rows::text(int column) const {
  sqlite3_value* value = sqlite3_column_value(statement_.handle_, column);
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::nullopt;
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const int size = sqlite3_value_bytes(value);
  if (bytes == nullptr) statement_.database_->fail(SQLITE_NOMEM);
  return std::string_view(bytes, static_cast<std::size_t>(size));
}

std::optional<std::string_view> Rows::blob(int column) const {
  if (sqlite3_column_type(statement_.handle_, column) != SQLITE_BLOB) return std::nullopt;
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.handle_, column));
  const int size = sqlite3_column_bytes(statement_.handle_, column);
  return std::string_view(bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(size));
}

std::optional<std::string> Rows::hash(int column) const {
  if (const auto word = text(column)) return is_hexadecimal(*word) ? std::nullopt : std::optional<std::string>(*word);
  const auto bytes = blob(column);
  if (!bytes || bytes->size() != kHashBytes) return std::nullopt;
  std::string hash;
  hash.reserve(2 * kHashBytes);
  for (const char byte : *bytes) {
    const auto number = static_cast<unsigned char>(byte);
    hash.append(1, kHexDigits[number >> 4]).append(1, kHexDigits[number & 0xf]);
  }
  return hash;
}

bool Rows::is_null(int column) const { return sqlite3_column_type(statement_.handle_, column) == SQLITE_NULL; }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  database.require_same_process();
  const int code = sqlite3_prepare_v3(database.handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
  for (int i = 1; i <= sqlite3_bind_parameter_count(handle_); ++i) {
    const char* name = sqlite3_bind_parameter_name(handle_, i);
    parameters_.push_back({name == nullptr ? "" : name + 1, false});  // The name begins behind the colon.
  }
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      parameters_(std::move(other.parameters_)) {}

void Statement::restart() {
  database_->require_same_process();
  sqlite3_reset(handle_);
  for (Parameter& parameter : parameters_) parameter.bound = false;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail(code);
  return code == SQLITE_ROW;
}

void Statement::check_bind(int code) {
  if (code != SQLITE_OK) database_->fail(code);
}

int Statement::take_parameter(std::string_view name) {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  if (found == parameters_.end()) throw Error(fmt::format("SQL has no parameter :{}: a fault of mmtune", name));
  found->bound = true;
  return static_cast<int>(found - parameters_.begin()) + 1;
}

void Statement::require_all_bound() const {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.bound) throw Error(fmt::format("SQL misses the value of :{}: a fault of mmtune", parameter.name));
  }
}

void Statement::bind(std::string_view name, std::int64_t value) {
  check_bind(sqlite3_bind_int64(handle_, take_parameter(name), value));
}
void Statement::bind(std::string_view name, double value) {
  check_bind(sqlite3_bind_double(handle_, take_parameter(name), value));
}
void Statement::bind(std::string_view name, std::nullptr_t) {
  check_bind(sqlite3_bind_null(handle_, take_parameter(name)));
}

// An empty view may hold a null pointer, which SQLite would bind as NULL.
void Statement::bind(std::string_view name, std::string_view value) {
  const char* bytes = value.empty() ? "" : value.data();
  check_bind(sqlite3_bind_text64(handle_, take_parameter(name), bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind(std::string_view name, Blob value) {
  const char* bytes = value.bytes.empty() ? "" : value.bytes.data();
  check_bind(sqlite3_bind_blob64(handle_, take_parameter(name), bytes, value.bytes.size(), SQLITE_TRANSIENT));
}
void Statement::bind(std::string_view name, Hash value) {
  const auto bytes = hash_bytes(value.text);
  bytes ? bind(name, Blob{*bytes}) : bind(name, value.text);
}

}  // namespace mmtune
