// A temporary directory, comparisons of rows, and SQLite behind the store's back.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "db/store.h"
#include "tests/db/samples.h"

namespace mmtune::testing {

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mmtune_db_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "mmtune.db";
  }
  ~StoreTest() override { std::filesystem::remove_all(directory_); }

  Store open(OpenMode mode = OpenMode::read_write) const { return Store::open(path_, mode); }

  std::filesystem::path directory_;
  std::string path_;
};

inline void expect_equal(const Trial& a, const Trial& b) {
  EXPECT_EQ(a.key.device, b.key.device);
  EXPECT_EQ(a.key.problem, b.key.problem);
  EXPECT_EQ(a.key.family, b.key.family);
  EXPECT_EQ(a.key.config, b.key.config);
  EXPECT_EQ(a.key.source_hash, b.key.source_hash);
  EXPECT_EQ(a.key.evidence, b.key.evidence);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.binary_hash, b.binary_hash);
  EXPECT_EQ(a.timing.median_us, b.timing.median_us);
  EXPECT_EQ(a.timing.q1_us, b.timing.q1_us);
  EXPECT_EQ(a.timing.q3_us, b.timing.q3_us);
  EXPECT_EQ(a.timing.min_us, b.timing.min_us);
  EXPECT_EQ(a.timing.samples, b.timing.samples);
  EXPECT_EQ(a.timing.calls_per_sample, b.timing.calls_per_sample);
  EXPECT_EQ(a.timing.mode, b.timing.mode);
  EXPECT_EQ(a.timing.sm_clock_mhz, b.timing.sm_clock_mhz);
  EXPECT_EQ(a.timing.memory_clock_mhz, b.timing.memory_clock_mhz);
  EXPECT_EQ(a.timing.throttle, b.timing.throttle);
  EXPECT_EQ(a.timing.co_tenants, b.timing.co_tenants);
  EXPECT_EQ(a.timing.disturbed, b.timing.disturbed);
  EXPECT_EQ(a.timing.clock_limit_mhz, b.timing.clock_limit_mhz);
  EXPECT_EQ(a.timing.power_limit_w, b.timing.power_limit_w);
  EXPECT_EQ(a.error_share, b.error_share);
  EXPECT_EQ(a.deterministic, b.deterministic);
  EXPECT_EQ(a.occupancy, b.occupancy);
  EXPECT_EQ(a.smem_bytes, b.smem_bytes);
  EXPECT_EQ(a.environment.driver, b.environment.driver);
  EXPECT_EQ(a.environment.nvrtc, b.environment.nvrtc);
  EXPECT_EQ(a.environment.commit, b.environment.commit);
  EXPECT_EQ(a.environment.device_uuid, b.environment.device_uuid);
  EXPECT_EQ(a.created, b.created);
}

inline void expect_equal(const Binary& a, const Binary& b) {
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.exact_target, b.exact_target);
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.registers, b.registers);
  EXPECT_EQ(a.spill_bytes, b.spill_bytes);
  EXPECT_EQ(a.stack_bytes, b.stack_bytes);
  EXPECT_EQ(a.static_smem_bytes, b.static_smem_bytes);
  EXPECT_EQ(a.compile_ms, b.compile_ms);
}

/// Runs SQL as anybody with a shell could.
inline void run_raw(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
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

/// Root may do everything: where root runs the tests, a child becomes this user, who owns what was handed over.
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

}  // namespace mmtune::testing
