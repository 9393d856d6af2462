// A database whose cells come from the input, behind the store's back. The input is a list of lines; each sets one
// column of all rows: its name, a letter for the type, the value, as in "trial.samples=i-1".
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "db/columns.h"
#include "tests/fuzz/database.h"

namespace {

using namespace mmtune;

/// "trial.samples" for each column of the format, in the order of its tables.
const std::vector<std::string>& columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const TableColumns& table : tables()) {
      for (const std::string& column : table.columns) list.push_back(fmt::format("{}.{}", table.name, column));
    }
    return list;
  }();
  return names;
}

/// The column of this name; of another name some column, so that no change of an input goes to waste.
const std::string& column_named(std::string_view name) {
  const auto found = std::find(columns().begin(), columns().end(), name);
  return found != columns().end() ? *found : columns()[std::hash<std::string_view>{}(name) % columns().size()];
}

void exec(sqlite3* handle, const std::string& sql) {
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
  fuzz::require(code == SQLITE_OK, fmt::format("{}: {}", sql, sqlite3_errmsg(handle)));
}

/// A database in memory that any program with SQLite could change.
sqlite3* open_raw(const std::string& bytes) {
  sqlite3* handle = nullptr;
  fuzz::require(sqlite3_open(":memory:", &handle) == SQLITE_OK, "memory opens");
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  constexpr unsigned kUse = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
  fuzz::require(sqlite3_deserialize(handle, "main", copy, size, size, kUse) == SQLITE_OK, "the sample opens");
  exec(handle, "PRAGMA foreign_keys = OFF");
  return handle;
}

std::string bytes_of(sqlite3* handle) {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(handle, "main", &size, 0);
  fuzz::require(bytes != nullptr, "the database has bytes");
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return copy;
}

/// Types of columns and NOT NULL do not bind a program that can write the file; the format has them nevertheless.
constexpr const char* kLoosen =
    "PRAGMA writable_schema = ON;"
    "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT', ''), ') , WITHOUT', ') WITHOUT'),"
    " 'NOT NULL', '')";

/// The sample without them, and what makes it one with them again.
struct Loose {
  std::string bytes;
  std::string restore = "PRAGMA writable_schema = ON;";
};

const Loose& loose() {
  static const Loose made = [] {
    Loose loose;
    sqlite3* handle = open_raw(fuzz::sample().bytes());
    sqlite3_stmt* statement = nullptr;
    constexpr const char* kStatements =
        "SELECT printf('UPDATE sqlite_schema SET sql = %Q WHERE name = %Q;', sql, name) FROM sqlite_schema"
        " WHERE sql IS NOT NULL";
    fuzz::require(sqlite3_prepare_v2(handle, kStatements, -1, &statement, nullptr) == SQLITE_OK, kStatements);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      loose.restore += reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    exec(handle, kLoosen);
    loose.bytes = bytes_of(handle);
    sqlite3_close(handle);
    return loose;
  }();
  return made;
}

void bind_cell(sqlite3_stmt* statement, char type, const std::string& value) {
  constexpr long long kMost = 2 << 20;
  const int size = static_cast<int>(value.size());
  switch (type) {
    case 'i':
      sqlite3_bind_int64(statement, 1, std::strtoll(value.c_str(), nullptr, 10));
      break;
    case 'r':
      sqlite3_bind_double(statement, 1, std::strtod(value.c_str(), nullptr));
      break;
    case 'b':
      sqlite3_bind_blob(statement, 1, value.data(), size, SQLITE_TRANSIENT);
      break;
    case 'n':
      sqlite3_bind_null(statement, 1);
      break;
    case 'z': {
      const auto length = static_cast<std::size_t>(std::strtoull(value.c_str(), nullptr, 10) % kMost);
      const std::string long_text(length, 'x');
      sqlite3_bind_text(statement, 1, long_text.data(), static_cast<int>(length), SQLITE_TRANSIENT);
      break;
    }
    default:
      sqlite3_bind_text(statement, 1, value.data(), size, SQLITE_TRANSIENT);
  }
}

/// "trial.samples=i-1"
void set_column(sqlite3* handle, std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || equals + 1 == line.size()) return;
  const std::string& column = column_named(line.substr(0, equals));
  const auto dot = column.find('.');
  // Keys that would repeat stay as they are.
  const auto sql = fmt::format("UPDATE OR IGNORE {} SET {} = ?1", column.substr(0, dot), column.substr(dot + 1));
  sqlite3_stmt* statement = nullptr;
  fuzz::require(sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK, sql);
  bind_cell(statement, line[equals + 1], std::string(line.substr(equals + 2)));
  sqlite3_step(statement);
  sqlite3_finalize(statement);
}

}  // namespace

MMTUNE_FUZZER(rows) {
  const Loose& sample = loose();
  const fuzz::SqliteMemory memory;
  sqlite3* handle = open_raw(sample.bytes);
  exec(handle, "BEGIN");
  auto lines = fuzz::text_of(data, size);
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    set_column(handle, lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  exec(handle, sample.restore);
  exec(handle, "COMMIT");
  const std::string bytes = bytes_of(handle);
  sqlite3_close(handle);
  fuzz::use_database(bytes, fuzz::text_of(data, size));
  return 0;
}
