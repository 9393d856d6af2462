// A database whose cells come from the input, behind the store's back. The input is a list of lines; each sets one
// column of all rows: a character for the column, a letter for the type, the value. "$i-1" sets trial.samples to -1 if
// '$' stands for that column.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/fuzz/database.h"

namespace {

using namespace mmtune;

struct Column {
  const char* table;
  const char* name;
};

/// By the first character of a line, from '!' on. New columns go to the end: the corpus counts on the order.
constexpr std::array kColumns{
    Column{"device", "name"},
    Column{"device", "compute_capability"},
    Column{"device", "sm_count"},
    Column{"device", "smem_per_block_optin"},
    Column{"problem", "precision"},
    Column{"problem", "layout"},
    Column{"problem", "m"},
    Column{"problem", "n"},
    Column{"problem", "k"},
    Column{"problem", "align_a"},
    Column{"problem", "align_b"},
    Column{"problem", "align_c"},
    Column{"environment", "driver"},
    Column{"environment", "nvrtc"},
    Column{"environment", "mmtune_commit"},
    Column{"environment", "device_uuid"},
    Column{"binary", "hash"},
    Column{"binary", "target"},
    Column{"binary", "exact_target"},
    Column{"binary", "registers"},
    Column{"binary", "spill_bytes"},
    Column{"binary", "stack_bytes"},
    Column{"binary", "static_smem_bytes"},
    Column{"binary", "compile_ms"},
    Column{"binary", "cubin"},
    Column{"compiled", "source_hash"},
    Column{"compiled", "target"},
    Column{"compiled", "binary_hash"},
    Column{"trial", "evidence"},
    Column{"trial", "family"},
    Column{"trial", "config"},
    Column{"trial", "source_hash"},
    Column{"trial", "outcome"},
    Column{"trial", "note"},
    Column{"trial", "binary_hash"},
    Column{"trial", "median_us"},
    Column{"trial", "q1_us"},
    Column{"trial", "q3_us"},
    Column{"trial", "min_us"},
    Column{"trial", "samples"},
    Column{"trial", "calls_per_sample"},
    Column{"trial", "mode"},
    Column{"trial", "sm_clock_mhz"},
    Column{"trial", "error_share"},
    Column{"trial", "deterministic"},
    Column{"trial", "occupancy"},
    Column{"trial", "smem_bytes"},
    Column{"trial", "created"},
    Column{"trial", "device_id"},
    Column{"trial", "problem_id"},
    Column{"trial", "environment_id"},
    Column{"winner", "evidence"},
    Column{"winner", "family"},
    Column{"winner", "config"},
    Column{"winner", "source_hash"},
    Column{"winner", "median_us"},
    Column{"winner", "search"},
    Column{"winner", "candidates"},
    Column{"winner", "decided"},
    Column{"winner", "device_id"},
    Column{"winner", "problem_id"},
    Column{"compiled", "nvrtc"},
    Column{"trial", "memory_clock_mhz"},
    Column{"trial", "throttle"},
    Column{"trial", "co_tenants"},
    Column{"trial", "disturbed"},
    Column{"trial", "clock_limit_mhz"},
    Column{"trial", "power_limit_w"},
    Column{"attempt", "device_id"},
    Column{"attempt", "problem_id"},
    Column{"attempt", "family"},
    Column{"attempt", "config"},
    Column{"attempt", "source_hash"},
    Column{"attempt", "environment_id"},
    Column{"attempt", "boot"},
    Column{"attempt", "killed"},
    Column{"attempt", "started"},
};

void exec(sqlite3* handle, const std::string& sql) {
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
  fuzz::require(code == SQLITE_OK, fmt::format("{}: {}", sql, sqlite3_errmsg(handle)));
}

/// Opens the file as anybody could who may write it; types and NOT NULL do not bind them.
sqlite3* open_raw(const std::string& path) {
  sqlite3* handle = nullptr;
  fuzz::require(sqlite3_open(path.c_str(), &handle) == SQLITE_OK, "the copy opens");
  exec(handle, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
  return handle;
}

/// kColumns has every column of the schema but the ids that SQLite numbers rows with.
void check_columns(sqlite3* handle) {
  constexpr std::string_view kSql =
      "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name <> "
      "'id'";
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(handle, kSql.data(), -1, &statement, nullptr);
  const auto text = [&](int column) {
    return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, column)));
  };
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const bool listed = std::any_of(kColumns.begin(), kColumns.end(), [&](const Column& column) {
      return text(0) == column.table && text(1) == column.name;
    });
    fuzz::require(listed, fmt::format("{}.{} stands in kColumns", text(0), text(1)));
  }
  sqlite3_finalize(statement);
}

void loosen(const std::string& path) {
  sqlite3* handle = open_raw(path);
  check_columns(handle);
  exec(handle,
       "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '');"
       "UPDATE sqlite_schema SET sql = replace(sql, ') , WITHOUT', ') WITHOUT');"
       "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')");
  sqlite3_close(handle);
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

void set_column(sqlite3* handle, std::string_view line) {
  if (line.size() < 2) return;
  const Column& column = kColumns[(static_cast<unsigned char>(line[0]) - '!' + 256U) % kColumns.size()];
  // Keys that would repeat stay as they are.
  const auto sql = fmt::format("UPDATE OR IGNORE {} SET {} = ?1", column.table, column.name);
  sqlite3_stmt* statement = nullptr;
  fuzz::require(sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK, sql);
  bind_cell(statement, line[1], std::string(line.substr(2)));
  sqlite3_step(statement);
  sqlite3_finalize(statement);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::DatabaseCopy database;
  [[maybe_unused]] static const bool loosened = [] {
    loosen(database.path());
    database.keep();
    return true;
  }();
  database.write(database.original());
  sqlite3* handle = open_raw(database.path());
  exec(handle, "BEGIN");
  auto lines = fuzz::text_of(data, size);
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    set_column(handle, lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  exec(handle, "COMMIT");
  sqlite3_close(handle);
  fuzz::use_database(database);
  return 0;
}
