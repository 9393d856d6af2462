#include <gmock/gmock.h>
#include <mmtune/mmtune.h>

#include <array>
#include <fstream>

#include "templates/gpu_catalog.h"
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

  test::ScopedDirectory directory_;
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
  EXPECT_THAT(error_of({.precision = static_cast<Precision>(9), .m = 2}), HasSubstr("precision = 9"));
  EXPECT_THAT(error_of({.layout = static_cast<Layout>(-1), .m = 2}), HasSubstr("layout = -1"));
  const auto odd = reinterpret_cast<void*>(std::uintptr_t{0x1002});
  EXPECT_THAT(error_of({.m = 2, .n = 3, .k = 8, .c = odd}), HasSubstr("c = 0x1002: not aligned to the 4 bytes"));
  EXPECT_EQ(error_of({.precision = Precision::fp16, .m = 2, .n = 3, .k = 8, .c = odd}), "");
}

TEST_F(LibraryPlan, EmptyOutputNeedsNothing) {
  const Library library = open();
  EXPECT_EQ(library.plan({.m = 0, .n = 5, .k = 5}).family, "");
  EXPECT_EQ(library.workspace_bytes({.m = 5, .n = 0, .k = 5}), 0u);
}

}  // namespace
}  // namespace mmtune
