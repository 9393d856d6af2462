// SQLite behind the store's back.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace mmtune::test {

/// Runs SQL as any user with a shell could. The rows that it gives, each with a '|' behind every cell and a line break.
inline std::string run_raw(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  std::string rows;
  const auto add_row = [](void* to, int count, char** values, char**) {
    std::string& text = *static_cast<std::string*>(to);
    for (int i = 0; i < count; ++i) text.append(values[i] != nullptr ? values[i] : "NULL").append("|");
    text += '\n';
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), add_row, &rows, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
  return rows;
}

}  // namespace mmtune::test
