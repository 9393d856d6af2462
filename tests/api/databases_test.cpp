// The user's database and the one that was shipped with an application.
#include "runtime/call/databases.h"

#include <gmock/gmock.h>

#include <cctype>
#include <clocale>
#include <cstdlib>
#include <fstream>

#include "db/sqlite.h"
#include "runtime/base/log.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using test::Decision;
using testing::HasSubstr;
using testing::Not;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

class Databases : public test::ApiTest {
 protected:
  static Problem square(std::int64_t size) { return packed_problem(Precision::fp32, Layout::nn, size, size, size); }
  static Gemm call(std::int64_t size) { return {.m = size, .n = size, .k = size}; }

  std::string shipped() const { return directory_.file("shipped.db"); }

  test::ScopedEnv system_{"MMTUNE_SYSTEM_DB", shipped().c_str()};
};

TEST(TuneCommand, CanBeGivenToAShell) {
  EXPECT_EQ(tune_command("512", "my results.db"), "mmtune --device auto --sizes 512 --db 'my results.db'");
  EXPECT_EQ(tune_command("512", ""), "mmtune --device auto --sizes 512") << "there is no place for one";
}

TEST_F(Databases, ShippedResultsServeAtOnce) {
  offer(shipped(), Decision{square(64), "naive", "", 5});
  CaptureStderr();
  Library library = Library::open();
  EXPECT_EQ(library.plan(call(64)).match, Match::exact);
  const auto a = test::numbers<float>(64 * 64, 1), b = test::numbers<float>(64 * 64, 2);
  std::vector<float> c(64 * 64);
  const Gemm product{
      .m = 64, .n = 64, .k = 64, .a = a.data(), .lda = 64, .b = b.data(), .ldb = 64, .c = c.data(), .ldc = 64};
  library.enqueue(product, nullptr);
  EXPECT_EQ(c, test::expected(product, c)) << "machine code comes from there too";
  EXPECT_EQ(GetCapturedStderr(), "") << "nothing is wrong: the user has tuned nothing yet";
}

TEST_F(Databases, AreReadInEveryLocale) {
  const std::string make =
      "localedef -i tr_TR -f UTF-8 '" + directory_.file("tr_TR.UTF-8") + "' > '" + directory_.file("said") + "' 2>&1";
  const bool is_made = std::system(make.c_str()) == 0;
  const test::ScopedEnv place("LOCPATH", directory_.file("").c_str());
  if (!is_made || std::setlocale(LC_ALL, "tr_TR.UTF-8") == nullptr)
    GTEST_SKIP() << "no Turkish locale can be made here";
  const struct Restored {
    ~Restored() { std::setlocale(LC_ALL, "C"); }
  } restored;
  ASSERT_NE(std::toupper('i'), 'I');
  offer(database(), Decision{square(64), "naive", "", 5});
  // The name of one of its kernels has an `i`.
  offer(database(),
        Decision{packed_problem(Precision::fp32_emulated, Layout::nn, 256, 256, 256), "wgmma_bf16x3", "", 5});
  const Library library = Library::open();
  EXPECT_EQ(library.plan(call(64)).match, Match::exact) << library.plan(call(64)).why;
}

TEST_F(Databases, TheUsersResultsWin) {
  offer(shipped(), Decision{square(64), "naive", "", 5});
  offer(shipped(), Decision{square(128), "naive", "", 6});
  offer(database(), Decision{square(64), "naive", "", 7});
  const Library library = Library::open();
  EXPECT_EQ(library.plan(call(64)).expected_us, 7);
  EXPECT_EQ(library.plan(call(128)).expected_us, 6);
}

TEST_F(Databases, OneThatIsDamagedOrMissingLeavesTheOther) {
  const test::ScopedEnv loud("MMTUNE_LOG", "warning");
  log::set_level(log::Level::warning);
  offer(database(), Decision{square(64), "naive", "", 7});
  const auto serves_with_one_warning = [&](const std::string& about) {
    CaptureStderr();
    EXPECT_EQ(Library::open().plan(call(64)).expected_us, 7);
    const std::string said = GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(about));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  };
  serves_with_one_warning("shipped.db");
  std::ofstream(shipped()) << "this is no database, however long one looks at it";
  serves_with_one_warning("shipped.db");

  std::filesystem::rename(database(), directory_.file("good.db"));
  std::ofstream(database()) << "this is no database either";
  const test::ScopedEnv good("MMTUNE_SYSTEM_DB", directory_.file("good.db").c_str());
  serves_with_one_warning("test.db");
  log::set_level(log::Level::silent);
}

TEST_F(Databases, OneThatCannotBeOpenedNamesTheRemedyAlone) {
  const test::ScopedEnv loud("MMTUNE_LOG", "warning");
  log::set_level(log::Level::warning);
  const auto warning = [] {
    CaptureStderr();
    Library::open();
    return GetCapturedStderr();
  };
  EXPECT_THAT(warning(), HasSubstr("shipped.db"));
  const test::ScopedEnv none("MMTUNE_SYSTEM_DB", "");
  EXPECT_THAT(warning(), HasSubstr("does not exist; nothing that is tuned runs; run `mmtune --device auto"));
  offer(database(), Decision{square(64), "naive", "", 5});
  Database(database(), OpenMode::read_write).exec("PRAGMA user_version = 1000");
  const std::string newer = warning();
  EXPECT_THAT(newer, HasSubstr("update mmtune, or name another file; nothing that is tuned runs\n"));
  EXPECT_THAT(newer, Not(HasSubstr("--sizes"))) << "tuning into it is refused";
  log::set_level(log::Level::silent);
}

TEST_F(Databases, AreThoseOfTheDirectoryThatTheLibraryWasOpenedIn) {
  offer(database(), Decision{square(64), "naive", "UNROLL=8", 5});
  offer(shipped(), Decision{square(32), "naive", "UNROLL=2", 5});
  const test::ScopedEnv record("MMTUNE_RECORD", "calls.csv");
  const test::ScopedEnv relative("MMTUNE_SYSTEM_DB", "shipped.db");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.file(""));
  {
    Library library = Library::open({.database = "test.db"});
    std::filesystem::current_path(before);
    std::vector<float> a(64 * 64), c(64 * 64);
    for (const std::int64_t size : {64, 32}) {
      const Gemm product{.m = size, .n = size, .k = size, .a = a.data(), .b = a.data(), .c = c.data()};
      EXPECT_EQ(library.gemm(product, nullptr).match, Match::exact) << size;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(directory_.file("calls.csv")));
}

TEST_F(Databases, OneThatIsLockedIsWaitedForBriefly) {
  offer(shipped(), Decision{square(64), "naive", "", 5});
  offer(database(), Decision{square(64), "naive", "", 7});
  Database other(database(), OpenMode::read_write);
  other.exec("BEGIN EXCLUSIVE");
  const Library library = Library::open();
  EXPECT_EQ(library.plan(call(64)).expected_us, 5);
  EXPECT_THAT(library.plan(call(64)).why, HasSubstr("locked by another process"));
}

}  // namespace
}  // namespace mmtune
