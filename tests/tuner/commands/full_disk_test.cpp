// A disk that is full ends the run, which loses nothing of what it had stored.
#include <set>

#include "test_paths.h"
#include "tests/tuner/database_faults.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FullDisk : public DatabaseFaults {
 protected:
  static constexpr std::string_view kMany =
      "tune --device model:h200 --sizes 8..32:8 --family tiled --strategy exhaustive";

  FullDisk() { std::filesystem::remove(file()); }

  const std::string others_ = test::others_at_default("tiled", {"TILE", "UNROLL"});

  std::string many() const {
    return fmt::format("'{}' {} --only '{}' --db '{}'", MMTUNE_BINARY, kMany, others_, file());
  }

  /// What is stored of each trial.
  static std::set<std::string> trials_of(const std::string& database) {
    std::set<std::string> found;
    for (const Trial& trial : Store::open(database, OpenMode::read_only).trials()) {
      found.insert(fmt::format("{} {} {} {}: {} us, {}", to_string(trial.key.problem), trial.key.family,
                               trial.key.config, to_string(trial.outcome), trial.timing.median_us, trial.created));
    }
    return found;
  }

  /// A run that was stopped had stored some of its trials, and the one after it kept them as they were.
  void expect_kept(const std::set<std::string>& before, const std::set<std::string>& after) const {
    EXPECT_GT(before.size(), 0U);
    EXPECT_LT(before.size(), after.size());
    EXPECT_THAT(after, ::testing::IsSupersetOf(before));
    EXPECT_EQ(after.size(), 4 * test::candidate_count("tiled", others_));
  }

  static void expect_stopped(const Result& result, const std::string& remedy) {
    EXPECT_EQ(result.code, 5) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("mmtune.db: "), HasSubstr(remedy)));
  }
};

TEST_F(FullDisk, EndsTheRunAndKeepsWhatIsThere) {
  const std::string mount = fmt::format("mount -t tmpfs -o size=128k,mode=700 none '{}'", path("place"));
  if (shell(fmt::format("unshare -m sh -c \"{}\"", mount)).code != 0) GTEST_SKIP() << "tmpfs cannot be mounted";
  write_bytes(path("script"), fmt::format("{0} || exit 99\n{1} || exit $?\n", mount, many()));
  const Result stopped = shell(fmt::format("unshare -m sh '{}'", path("script")));
  if (stopped.code == 3) GTEST_SKIP() << stopped.err;
  expect_stopped(stopped, "the disk is full; free some space");

  write_bytes(path("script"),
              fmt::format("{0} || exit 99\n{1}\n'{2}' db check --db '{3}' || exit 98\n"
                          "cp '{3}' '{5}' && mount -o remount,size=40m '{4}' && {1} && cp '{3}' '{6}'\n",
                          mount, many(), MMTUNE_BINARY, file(), path("place"), path("before.db"), path("after.db")));
  const Result resumed = shell(fmt::format("unshare -m sh '{}'", path("script")));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  expect_kept(trials_of(path("before.db")), trials_of(path("after.db")));
}

TEST_F(FullDisk, ALimitOnFileSizesIsAnErrorToo) {
  const Result stopped = shell("ulimit -f 200; " + many());
  if (stopped.code == 3) GTEST_SKIP() << stopped.err;
  expect_stopped(stopped, "the limit on file sizes");
  EXPECT_EQ(on_file("db check").code, 0);
  const auto before = trials_of(file());
  EXPECT_EQ(shell(many()).code, 0);
  expect_kept(before, trials_of(file()));
}

}  // namespace
}  // namespace mmtune
