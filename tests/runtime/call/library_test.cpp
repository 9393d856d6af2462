#include <gmock/gmock.h>
#include <mmtune/mmtune.h>

#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>

#include "db/sqlite.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A library that only plans, for a database in a temporary directory.
class LibraryPlan : public testing::Test {
 protected:
  Library open() const { return Library::open({.database = directory_.file("test.db"), .model = "h200"}); }

  TemporaryDirectory directory_;
  test::ScopedEnv quiet_{"MMTUNE_LOG", "silent"};
};

constexpr Gemm kSquare{.m = 512, .n = 512, .k = 512};

std::string error_of(const Gemm& call) {
  const Library library = Library::open({.database = "/nonexistent/none.db", .model = "h200"});
  try {
    library.plan(call);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST_F(LibraryPlan, AnswersFromTheDatabase) {
  const DeviceSpec device = catalog_gpu("h200");
  const test::Decision decision{packed_problem(Precision::fp32, Layout::nn, 512, 512, 512), "tiled", "", 55};
  const CompileTarget target = compile_target(device, {90});
  const Source source = test::source_of(decision, device, target.compute_capability);
  {
    Store store = Store::open(directory_.file("test.db"), OpenMode::read_write);
    test::put(store, device, decision, source.hash, test::pretended_binary(source, target));
  }
  const Library library = open();
  const Answer answer = library.plan(kSquare);
  EXPECT_EQ(answer.match, Match::exact);
  EXPECT_EQ(answer.family, "tiled");
  EXPECT_EQ(answer.config, test::config_of(decision, device).text());
  EXPECT_EQ(answer.expected_us, 55);
  EXPECT_TRUE(answer.measured);
  EXPECT_THAT(answer.why, Not(HasSubstr("database")));
  EXPECT_EQ(library.workspace_bytes(kSquare), 0u);
  EXPECT_EQ(library.plan({.m = 600, .n = 500, .k = 512}).match, Match::nearest);
}

TEST_F(LibraryPlan, MissingDatabaseLeavesTheFallbackAndSaysSo) {
  const Answer answer = open().plan(kSquare);
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_EQ(answer.family, "naive");
  EXPECT_THAT(answer.why, HasSubstr("does not exist"));
}

TEST_F(LibraryPlan, DamagedDatabaseLeavesTheFallbackAndSaysSo) {
  std::ofstream(directory_.file("test.db")) << "this is no database, however long one looks at it";
  const Answer answer = open().plan(kSquare);
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_THAT(answer.why, HasSubstr("test.db"));
  EXPECT_TRUE(std::filesystem::exists(directory_.file("test.db")));
}

TEST_F(LibraryPlan, ADatabaseThatIsLockedIsWaitedForBrieflyAndSaidSo) {
  Store::open(directory_.file("test.db"), OpenMode::read_write);
  Database other(directory_.file("test.db"), OpenMode::read_write);
  other.exec("BEGIN EXCLUSIVE");
  const auto start = std::chrono::steady_clock::now();
  const Answer answer = open().plan(kSquare);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLockPatience / 2) << "as long as a program waits";
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_THAT(answer.why, HasSubstr("locked by another process"));
}

TEST_F(LibraryPlan, NoPlaceForADatabaseLeavesTheFallbackAndSaysSo) {
  const test::ScopedEnv no_db("MMTUNE_DB", nullptr), relative("XDG_DATA_HOME", "data"), homeless("HOME", nullptr);
  const Answer answer = Library::open({.model = "h200"}).plan(kSquare);
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_THAT(answer.why, HasSubstr("set MMTUNE_DB=FILE"));
}

TEST_F(LibraryPlan, DatabaseOfAnotherGpuIsNamed) {
  Store::open(directory_.file("test.db"), OpenMode::read_write);
  EXPECT_THAT(open().plan(kSquare).why, HasSubstr("has no kernels for NVIDIA H200"));
}

TEST_F(LibraryPlan, CannotRunOnAModel) {
  Library library = open();
  float c = 0;
  EXPECT_THROW(library.gemm({.m = 1, .n = 1, .k = 0, .c = &c}, nullptr), DeviceError);
  EXPECT_THROW(library.prepare(std::array{kSquare}), DeviceError);
  EXPECT_THROW(Library::open({.model = "nothing"}), UsageError);
}

TEST_F(LibraryPlan, NamesTheArgumentThatIsWrong) {
  EXPECT_THAT(error_of({.m = -1, .n = 2, .k = 3}), HasSubstr("m = -1"));
  EXPECT_THAT(error_of({.m = 1, .n = 2, .k = -3}), HasSubstr("k = -3"));
  EXPECT_THAT(error_of({.m = 2, .n = 3, .k = 8, .lda = 7}), HasSubstr("lda = 7: less than the 8 elements"));
  EXPECT_THAT(error_of({.layout = Layout::nt, .m = 2, .n = 3, .k = 8, .ldb = 7}), HasSubstr("ldb = 7"));
  EXPECT_THAT(error_of({.m = 2, .n = 3, .k = 8, .ldc = -3}), HasSubstr("ldc = -3"));
  EXPECT_THAT(error_of({.precision = static_cast<Precision>(99), .m = 2}), HasSubstr("precision = 99"));
  EXPECT_THAT(error_of({.layout = static_cast<Layout>(-1), .m = 2}), HasSubstr("layout = -1"));
  const auto odd = reinterpret_cast<void*>(std::uintptr_t{0x1002});
  EXPECT_THAT(error_of({.m = 2, .n = 3, .k = 8, .c = odd}), HasSubstr("c = 0x1002: not aligned to the 4 bytes"));
  EXPECT_EQ(error_of({.precision = Precision::fp16, .m = 2, .n = 3, .k = 8, .c = odd}), "");
}

/// What may come from a caller by mistake: signs, ends of integer types, and what a Problem may just be.
constexpr std::array<std::int64_t, 11> kExtremes{std::numeric_limits<std::int64_t>::min(),
                                                 -1,
                                                 0,
                                                 1,
                                                 3,
                                                 std::int64_t{1} << 31,
                                                 Problem::kMostExtent,
                                                 Problem::kMostExtent + 1,
                                                 std::int64_t{1} << 62,
                                                 std::numeric_limits<std::int64_t>::max() - 1,
                                                 std::numeric_limits<std::int64_t>::max()};

/// Plans the call, which is refused or answered; the sanitizers see overflows. Whether it was answered.
bool is_planned(const Library& library, const Gemm& call) {
  try {
    const Answer answer = library.plan(call);
    EXPECT_TRUE(std::isfinite(answer.expected_us) && answer.expected_us >= 0) << answer.expected_us;
    EXPECT_LT(library.workspace_bytes(call), std::size_t{1} << 62);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

TEST_F(LibraryPlan, ExtremeExtentsAreRefusedOrPlanned) {
  const DeviceSpec device = catalog_gpu("h200");
  const CompileTarget target = compile_target(device, {90});
  {
    Store store = Store::open(directory_.file("test.db"), OpenMode::read_write);
    for (const char* family : {"tiled", "simt", "skinny"}) {
      const test::Decision decision{packed_problem(Precision::fp32, Layout::nn, 512, 512, 512), family, "", 55};
      const Source source = test::source_of(decision, device, target.compute_capability);
      test::put(store, device, decision, source.hash, test::pretended_binary(source, target));
    }
  }
  const Library library = open();
  int planned = 0;
  for (const auto m : kExtremes) {
    for (const auto n : kExtremes) {
      for (const auto k : kExtremes) planned += is_planned(library, {.m = m, .n = n, .k = k}) ? 1 : 0;
    }
  }
  EXPECT_GT(planned, 50);
  EXPECT_FALSE(is_planned(library, {.m = Problem::kMostExtent + 1, .n = 1, .k = 1}));
  EXPECT_FALSE(is_planned(library, {.m = Problem::kMostExtent, .n = Problem::kMostExtent, .k = 1}));
}

TEST_F(LibraryPlan, ExtremeLeadingDimensionsAreRefusedOrPlanned) {
  const Library library = open();
  for (const auto layout : kAllLayouts) {
    for (const auto ld : kExtremes) {
      for (const int operand : {0, 1, 2}) {
        Gemm call{.precision = Precision::fp64, .layout = layout, .m = 512, .n = 300, .k = 270};
        (operand == 0 ? call.lda : operand == 1 ? call.ldb : call.ldc) = ld;
        EXPECT_EQ(is_planned(library, call), ld == 0 || ld == std::int64_t{1} << 31) << ld;
      }
    }
  }
}

TEST_F(LibraryPlan, EmptyOutputNeedsNothing) {
  const Library library = open();
  EXPECT_EQ(library.plan({.m = 0, .n = 5, .k = 5}).family, "");
  EXPECT_EQ(library.workspace_bytes({.m = 5, .n = 0, .k = 5}), 0u);
}

}  // namespace
}  // namespace mmtune
