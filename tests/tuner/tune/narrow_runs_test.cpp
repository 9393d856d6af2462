// A run that searches less than the one before takes nothing away from it.
#include <gmock/gmock.h>

#include "db/store.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NarrowRuns : public Cli {
 protected:
  static constexpr std::string_view kWide = "--family tiled,simt --only 'BM=32 BN=32' --effort quick";
  static constexpr std::string_view kNarrow = "--family tiled --only 'TILE=16 UNROLL=4'";

  Result tune(std::string_view options) const {
    return mmtune(fmt::format("tune --device model:h200 --sizes 64 {}", options));
  }

  void SetUp() override {
    if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  }

  void search_widely() const {
    const Result wide = tune(kWide);
    ASSERT_EQ(wide.code, 0) << wide.err;
  }

  Store store() const { return Store::open(path("default.db"), OpenMode::read_only); }

  /// "simt BM=…": the only decision there is.
  std::string decided() const {
    const std::vector<Winner> winners = store().winners();
    EXPECT_EQ(winners.size(), 1U);
    return winners.at(0).trial.key.family + ' ' + winners.at(0).trial.key.config;
  }
};

TEST_F(NarrowRuns, NeverReplaceAFasterDecision) {
  search_widely();
  const std::string before = decided();
  ASSERT_THAT(before, Not(HasSubstr("tiled")));
  const Result narrow = tune(kNarrow);
  EXPECT_EQ(narrow.code, 0) << narrow.err;
  EXPECT_EQ(decided(), before);
  EXPECT_THAT(narrow.err, HasSubstr("the best of this search is tiled TILE=16 UNROLL=4 with "));
  EXPECT_THAT(narrow.err, HasSubstr(before + " with "));
  EXPECT_THAT(narrow.err, HasSubstr("0 predicted, 0 known before, 1 not beaten, 0 failed"));
  RowFilter tiled;
  tiled.family = "tiled";
  EXPECT_FALSE(store().trials(tiled).empty()) << "what it tried is stored";
}

TEST_F(NarrowRuns, LeaveTheWiderSearchKnown) {
  search_widely();
  tune(kNarrow);
  EXPECT_THAT(tune(kWide).err, HasSubstr("0 predicted, 1 known before, 0 failed"));
}

TEST_F(NarrowRuns, ReplaceWhatTheyBeat) {
  ASSERT_EQ(tune("--family naive").code, 0);
  const Result faster = tune(kNarrow);
  EXPECT_EQ(decided(), "tiled TILE=16 UNROLL=4") << faster.err;
  EXPECT_THAT(faster.err, HasSubstr("1 predicted, 0 known before, 0 failed"));
}

TEST_F(NarrowRuns, AreReplacedByAWiderOne) {
  search_widely();
  const std::string best = decided();
  std::filesystem::remove(path("default.db"));
  ASSERT_EQ(tune(kNarrow).code, 0);
  ASSERT_EQ(decided(), "tiled TILE=16 UNROLL=4");
  search_widely();
  EXPECT_EQ(decided(), best);
}

}  // namespace
}  // namespace mmtune
