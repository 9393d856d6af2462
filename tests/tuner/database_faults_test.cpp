// What is wrong with the file or its surroundings, seen from outside: the program refuses with exit code 5 and one line
// that names the file, and leaves it as it is; the library goes on with its fallback and one warning.
#include <gmock/gmock.h>
#include <mmtune/mmtune.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "db/store.h"
#include "runtime/log.h"
#include "tests/db/samples.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTune = "tune --device model:h200 --sizes 64 --family tiled --only TILE=8";

std::string bytes_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

class DatabaseFaults : public Cli {
 protected:
  DatabaseFaults() {
    fs::create_directory(path("place"));
    Store store = Store::open(file(), OpenMode::read_write);
    std::vector<Trial> trials;
    trials.reserve(100);
    for (int number = 0; number < 100; ++number) trials.push_back(testing::sample_trial(number));
    store.put(trials, {});
    store.put_winner(trials[0].key, "search", 100);
  }
  ~DatabaseFaults() override {
    std::error_code ignored;
    fs::permissions(path("place"), fs::perms::owner_all, ignored);
  }

  std::string file() const { return path("place/mmtune.db"); }

  /// A verb on that file, ended where it hangs.
  Result on_file(std::string_view verb) const {
    return shell(fmt::format("timeout 100 '{}' {} --db '{}'", MMTUNE_BINARY, verb, file()));
  }

  void expect_refused(std::string_view verb, const std::string& cause) const {
    const std::string before = bytes_of(file());
    const Result result = on_file(verb);
    EXPECT_EQ(result.code, 5) << verb << ": " << result.err;
    EXPECT_EQ(result.out, "") << verb;
    const std::string last = result.err.substr(result.err.rfind("mmtune: "));
    EXPECT_THAT(last, AllOf(HasSubstr(path("place")), HasSubstr(cause), HasSubstr("; "))) << verb;
    EXPECT_EQ(last.find('\n'), last.size() - 1) << last;
    EXPECT_EQ(bytes_of(file()), before) << verb;
  }

  /// Nothing but the fallback, and one line that says why.
  void expect_fallback(const std::string& cause) const {
    log::set_level(log::Level::warning);
    ::testing::internal::CaptureStderr();
    const Library library = Library::open({.database = file(), .model = "h200"});
    const Answer answer = library.plan({.m = 512, .n = 512, .k = 512});
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(answer.match, Match::fallback);
    EXPECT_THAT(answer.why, HasSubstr(cause));
    EXPECT_THAT(warnings, AllOf(StartsWith("mmtune: "), HasSubstr(cause)));
    EXPECT_EQ(warnings.find('\n'), warnings.size() - 1) << warnings;
  }

  /// All of them refuse.
  void expect_unusable(const std::string& cause) const {
    expect_refused("show", cause);
    expect_refused("db check", cause);
    expect_refused(kTune, cause);
    expect_fallback(cause);
  }
};

TEST_F(DatabaseFaults, SoundFileIsServed) {
  EXPECT_EQ(on_file("show").code, 0);
  EXPECT_EQ(on_file("db check").code, 0);
}

TEST_F(DatabaseFaults, EmptyFileIsADatabaseToBe) {
  fs::resize_file(file(), 0);
  expect_refused("show", "empty");
  expect_fallback("empty");
}

TEST_F(DatabaseFaults, Garbage) {
  write_bytes(file(), std::string(9000, 'x'));
  expect_unusable("not an SQLite database");
}

TEST_F(DatabaseFaults, AnotherApplicationsFile) {
  run_sql(file(), "PRAGMA application_id = 42");
  expect_unusable("of another application");
}

TEST_F(DatabaseFaults, FileFromTheFuture) {
  run_sql(file(), "PRAGMA user_version = 999");
  expect_unusable("newer mmtune");
}

TEST_F(DatabaseFaults, TriggersViewsAndStrangeTables) {
  const std::string sound = bytes_of(file());
  for (const char* sql : {"CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM winner; END",
                          "CREATE VIEW v AS SELECT 1", "CREATE TABLE extra (a)"}) {
    write_bytes(file(), sound);
    run_sql(file(), sql);
    expect_unusable("which no mmtune writes");
  }
}

TEST_F(DatabaseFaults, NamesFromTheFileDoNotSteerTheTerminal) {
  run_sql(file(), "CREATE TABLE \"\033[2Jextra\" (a)");
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
  expect_unusable("written by everybody");
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(path("place"), fs::perms::all);
  expect_unusable("written by everybody");
}

TEST_F(DatabaseFaults, FileOrDirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(file().c_str(), 4242, 4242), 0);
  expect_unusable("belongs to another user");
  ASSERT_EQ(chown(file().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(path("place").c_str(), 4242, 4242), 0);
  expect_unusable("belongs to another user");
}

TEST_F(DatabaseFaults, DamageIsFoundByCheckAndNeverCrashesOrHangs) {
  const std::string sound = bytes_of(file());
  std::mt19937 random(5);
  for (int seed = 0; seed < 8; ++seed) {
    std::string damaged = sound;
    for (int page = 0; page < 8; ++page) {
      const std::size_t start = 4096 + random() % (damaged.size() - 4096 - 600);
      for (std::size_t i = 0; i < 600; ++i) damaged[start + i] = static_cast<char>(random());
    }
    if (seed % 4 == 3) damaged.resize(damaged.size() / 2);
    write_bytes(file(), damaged);
    EXPECT_EQ(on_file("db check").code, 5) << seed;
    EXPECT_THAT(on_file("show").code, AnyOf(0, 5)) << seed;
    ::testing::internal::CaptureStderr();
    const Library library = Library::open({.database = file(), .model = "h200"});
    EXPECT_EQ(library.plan({.m = 512, .n = 512, .k = 512}).match, Match::fallback);
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(warnings.find('\n'), warnings.size() - 1) << warnings;
    EXPECT_EQ(bytes_of(file()), damaged) << "reading changes nothing";
    EXPECT_THAT(on_file(kTune).code, AnyOf(0, 3, 5)) << seed;
  }
}

TEST_F(DatabaseFaults, HostileValuesAreAbsentForEveryVerb) {
  // Types bind nobody who can write the schema.
  run_sql(file(),
          "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '');"
          "UPDATE sqlite_schema SET sql = replace(sql, ') , WITHOUT', ') WITHOUT')");
  const char* config = "1;}\n#include \"/etc/passwd\"";
  const auto set = [&](const std::string& column, const std::string& value) {
    run_sql(file(), fmt::format("UPDATE trial SET {} = {} WHERE id = 1", column, value));
  };
  run_sql(file(), fmt::format("PRAGMA foreign_keys = OFF; UPDATE trial SET config = '{}' WHERE id = 1", config));
  run_sql(file(), fmt::format("PRAGMA foreign_keys = OFF; UPDATE winner SET config = '{}'", config));
  set("note", "hex(zeroblob(5000000))");
  set("samples", "-9223372036854775807");
  set("smem_bytes", "9223372036854775807");
  const Result check = on_file("db check");
  EXPECT_EQ(check.code, 5);
  EXPECT_THAT(check.err, HasSubstr("trial 1: "));
  const Result show = on_file("show --format csv");
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_THAT(show.out, ::testing::Not(HasSubstr("passwd")));
  expect_fallback("has no kernels for NVIDIA H200");
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

class FullDisk : public DatabaseFaults {
 protected:
  static constexpr std::string_view kMany =
      "tune --device model:h200 --sizes 8..32:8 --family tiled --strategy exhaustive";

  FullDisk() { fs::remove(file()); }

  std::string many() const { return fmt::format("'{}' {} --db '{}'", MMTUNE_BINARY, kMany, file()); }

  static void expect_stopped(const Result& result, const std::string& remedy) {
    EXPECT_EQ(result.code, 5) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("mmtune.db: "), HasSubstr(remedy)));
  }
};

TEST_F(FullDisk, EndsTheRunAndKeepsWhatIsThere) {
  const std::string mount = fmt::format("mount -t tmpfs -o size=240k,mode=700 none '{}'", path("place"));
  if (shell(fmt::format("unshare -m sh -c \"{}\"", mount)).code != 0) GTEST_SKIP() << "tmpfs cannot be mounted";
  write_bytes(path("script"), fmt::format("{0} || exit 99\n{1} || exit $?\n", mount, many()));
  const Result stopped = shell(fmt::format("unshare -m sh '{}'", path("script")));
  if (stopped.code == 3) GTEST_SKIP() << stopped.err;
  expect_stopped(stopped, "the disk is full; free some space");

  write_bytes(path("script"), fmt::format("{0} || exit 99\n{1}\n'{2}' db check --db '{3}' || exit 98\n"
                                          "mount -o remount,size=40m '{4}' && {1}\n",
                                          mount, many(), MMTUNE_BINARY, file(), path("place")));
  const Result resumed = shell(fmt::format("unshare -m sh '{}'", path("script")));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(FullDisk, ALimitOnFileSizesIsAnErrorToo) {
  const Result stopped = shell("ulimit -f 300; " + many());
  if (stopped.code == 3) GTEST_SKIP() << stopped.err;
  expect_stopped(stopped, "the limit on file sizes");
  EXPECT_EQ(on_file("db check").code, 0);
  EXPECT_EQ(shell(many()).code, 0);
}

}  // namespace
}  // namespace mmtune
