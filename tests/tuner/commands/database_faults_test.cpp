// What is wrong with the file or its surroundings, seen from outside: the program refuses with exit code 5 and one line
// that names the file, and leaves it as it is; the library goes on with its fallback and one warning.
#include "tests/tuner/database_faults.h"

#include <sys/stat.h>
#include <unistd.h>

#include "test_paths.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(DatabaseFaults, SoundFileIsServed) {
  EXPECT_EQ(on_file("show").code, 0);
  EXPECT_EQ(on_file("db check").code, 0);
  expect_decision(served());
}

TEST_F(DatabaseFaults, EmptyFileIsADatabaseToBe) {
  fs::resize_file(file(), 0);
  expect_refused("show", "empty");
  expect_fallback(served(), "empty");
}

TEST_F(DatabaseFaults, Garbage) {
  write_bytes(file(), std::string(9000, 'x'));
  expect_unusable("not an SQLite database");
}

TEST_F(DatabaseFaults, AnotherApplicationsFile) {
  test::run_raw(file(), "PRAGMA application_id = 42");
  expect_unusable("of another application");
}

TEST_F(DatabaseFaults, FileFromTheFuture) {
  test::run_raw(file(), "PRAGMA user_version = 999");
  expect_unusable("newer mmtune");
}

TEST_F(DatabaseFaults, TriggersViewsAndStrangeTables) {
  const std::string sound = bytes_of(file());
  for (const char* sql : {"CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM winner; END",
                          "CREATE VIEW v AS SELECT 1", "CREATE TABLE extra (a)"}) {
    write_bytes(file(), sound);
    test::run_raw(file(), sql);
    expect_unusable("which no mmtune writes");
  }
}

TEST_F(DatabaseFaults, NamesFromTheFileDoNotSteerTheTerminal) {
  test::run_raw(file(), "CREATE TABLE \"\033[2Jextra\" (a)");
  expect_refused("show", "which no mmtune writes");
  EXPECT_EQ(on_file("show").err.find('\033'), std::string::npos);
}

TEST_F(DatabaseFaults, SymbolicLink) {
  fs::rename(file(), path("elsewhere.db"));
  fs::create_symlink(path("elsewhere.db"), file());
  expect_unusable("symbolic link");
}

TEST_F(DatabaseFaults, DirectoryOrPipeInItsPlace) {
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  expect_unusable("no regular file");
  fs::remove(file());
  fs::create_directory(file());
  expect_unusable("not the name of a file");
}

TEST_F(DatabaseFaults, FileOrDirectoryThatEverybodyMayWrite) {
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  expect_unusable("written by all users");
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(path("place"), fs::perms::all);
  expect_unusable("written by all users");
}

TEST_F(DatabaseFaults, FileOrDirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(file().c_str(), 4242, 4242), 0);
  expect_unusable("belongs to another user");
  ASSERT_EQ(chown(file().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(path("place").c_str(), 4242, 4242), 0);
  expect_unusable("belongs to another user");
}

TEST_F(DatabaseFaults, HostileValuesAreAbsentForEveryVerb) {
  const char* settings = "1;}\n#include \"/etc/passwd\"";
  const auto set = [&](const std::string& column, const std::string& value) {
    test::run_raw(file(), fmt::format("UPDATE trial SET {} = {} WHERE id = 1", column, value));
  };
  test::run_raw(file(), fmt::format("UPDATE kernel SET settings = '{}'", settings));
  set("note", "hex(zeroblob(5000000))");
  set("samples", "-9223372036854775807");
  set("smem_bytes", "9223372036854775807");
  const Result check = on_file("db check");
  EXPECT_EQ(check.code, 5);
  EXPECT_THAT(check.err, AllOf(HasSubstr("trial 1: "), HasSubstr("these count as absent; restore a copy, or tune")));
  const Result show = on_file("show --format csv");
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_THAT(show.out, ::testing::Not(HasSubstr("passwd")));
  expect_fallback(served(), "has no kernels for NVIDIA H200");
}

TEST_F(DatabaseFaults, FilesAndDirectoriesArePrivateWhateverTheMask) {
  const Result result = shell(fmt::format("umask 000; '{}' {} --db '{}'", MMTUNE_BINARY, kTune, path("new/deep/m.db")));
  if (result.code == 3) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(fs::status(path("new/deep/m.db")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(path("new")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path("new/deep")).permissions(), fs::perms::owner_all);
}

TEST_F(DatabaseFaults, WithoutAHomeThereIsNoPlace) {
  for (const char* environment : {"-u HOME -u XDG_DATA_HOME", "-u HOME XDG_DATA_HOME=relative/path"}) {
    for (const auto verb : {std::string_view("show"), kTune}) {
      const Result result =
          shell(fmt::format("cd '{}' && env -u MMTUNE_DB {} '{}' {}", path("."), environment, MMTUNE_BINARY, verb));
      EXPECT_EQ(result.code, 5) << environment << result.err;
      EXPECT_THAT(result.err, HasSubstr("no place for the database"));
      EXPECT_FALSE(fs::exists(path("relative")));
    }
  }
}

TEST_F(DatabaseFaults, ARelativeXdgPathIsIgnored) {
  const auto command = "cd '{0}' && env -u MMTUNE_DB HOME='{0}/home' XDG_DATA_HOME=relative '{1}' {2}";
  const Result result = shell(fmt::format(fmt::runtime(command), path(""), MMTUNE_BINARY, kTune));
  if (result.code == 3) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(path("home/.local/share/mmtune/mmtune.db")));
  EXPECT_FALSE(fs::exists(path("relative")));
}

/// The same shell line as an ordinary user, to whom the directory belongs.
TEST_F(DatabaseFaults, ReadOnlyDirectory) {
  const bool root = geteuid() == 0;
  if (root && shell("setpriv --reuid 65534 --clear-groups true").code != 0) GTEST_SKIP() << "no setpriv";
  const std::string user = root ? "setpriv --reuid 65534 --regid 65534 --clear-groups" : "";
  if (shell(fmt::format("{} '{}' --version", user, MMTUNE_BINARY)).code != 0) GTEST_SKIP() << "others cannot run it";
  for (const auto& each : {file(), path("place"), path("")}) {
    ASSERT_EQ(root ? chown(each.c_str(), 65534, 65534) : 0, 0);
  }
  fs::permissions(path("place"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto run = [&](std::string_view verb) {
    return shell(fmt::format("{} '{}' {} --db '{}'", user, MMTUNE_BINARY, verb, file()));
  };
  EXPECT_EQ(run("show").code, 0);
  EXPECT_EQ(run("db check").code, 0);
  const Result tune = run(kTune);
  if (tune.code == 3) GTEST_SKIP() << tune.err;
  EXPECT_EQ(tune.code, 5);
  EXPECT_THAT(tune.err, AllOf(HasSubstr("mmtune.db"), HasSubstr("permission")));
  EXPECT_EQ(run("show").code, 0);
}

}  // namespace
}  // namespace mmtune
