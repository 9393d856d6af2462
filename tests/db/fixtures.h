// A temporary directory, comparisons of rows, and processes of other users.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "db/store.h"
#include "runtime/base/temporary_directory.h"
#include "tests/db/raw_sql.h"
#include "tests/db/samples.h"

namespace mmtune::test {

class StoreTest : public ::testing::Test {
 protected:
  Store open(OpenMode mode = OpenMode::read_write) const { return Store::open(path_, mode); }

  TemporaryDirectory temporary_directory_;
  const std::filesystem::path directory_ = temporary_directory_.path();
  const std::string path_ = directory_ / "mmtune.db";
};

/// Expects them to be equal in all fields.
template <Record T>
void expect_equal(const T& a, const T& b) {
  T::fields([&](std::string_view name, auto member, const auto&...) {
    if constexpr (Record<decltype(value_type(member))>) {
      expect_equal(a.*member, b.*member);
    } else {
      EXPECT_EQ(a.*member, b.*member) << name;
    }
  });
}

/// Runs SQL by run_raw() where the schema binds no value: its types and NOT NULL are gone meanwhile.
inline void run_unbound(const std::string& path, const std::string& sql) {
  run_raw(path,
          "CREATE TEMP TABLE kept AS SELECT name, sql FROM sqlite_schema; PRAGMA writable_schema = ON;"
          "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT', ''), ') , WITHOUT', ') WITHOUT'),"
          " 'NOT NULL', ''); PRAGMA writable_schema = RESET;" +
              sql +
              "; PRAGMA writable_schema = ON;"
              "UPDATE sqlite_schema SET sql = (SELECT k.sql FROM kept k WHERE k.name = sqlite_master.name)");
}

/// Runs `body` in a child; it succeeds by returning without an exception.
inline pid_t in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
    _exit(1);
  }
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

/// Root may do everything: where root runs the tests, a child becomes this user and owns what was handed over.
inline constexpr uid_t kOrdinaryUser = 65534;

inline void hand_over(const std::filesystem::path& path) {
  if (geteuid() != 0) return;
  EXPECT_EQ(chown(path.c_str(), kOrdinaryUser, kOrdinaryUser), 0);
}

inline void become_ordinary_user() {
  if (geteuid() != 0) return;
  EXPECT_EQ(setgid(kOrdinaryUser) + setuid(kOrdinaryUser), 0);
}

inline int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace mmtune::test
