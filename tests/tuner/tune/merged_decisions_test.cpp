// Decisions that were merged from another user's database: they become usable here by compiling them, and take nothing
// away from those that are.
#include <unistd.h>

#include "tests/tuner/database_faults.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

class MergedDecisions : public Cli {
 protected:
  static constexpr std::string_view kRun = "tune --device model:h200 --sizes 64 --family tiled --only";

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    const Result tuned = mmtune(fmt::format("{} 'TILE=16 UNROLL=4' --db '{}'", kRun, path("theirs.db")));
    if (tuned.code == 3) GTEST_SKIP() << tuned.err;
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    std::filesystem::copy_file(path("theirs.db"), path("same_user.db"));
  }

  /// The other user's database, with this as the time of its decision.
  void give_away(double median_us) const {
    test::run_raw(path("theirs.db"),
                  fmt::format("UPDATE winner SET median_us = {0:f}; UPDATE trial SET median_us = {0:f}"
                              " WHERE kernel_id IN (SELECT id FROM kernel WHERE settings = '16 4')",
                              median_us));
    ASSERT_EQ(chown(path("theirs.db").c_str(), 4242, 4242), 0);
  }

  Result merge(const std::string& more = "") const {
    return mmtune(fmt::format("db merge '{}' {}", path("theirs.db"), more));
  }

  /// What the library says of the tuned size.
  Answer planned() const {
    ::testing::internal::CaptureStderr();
    Answer answer = Library::open({.database = path("default.db"), .model = "h200"}).plan({.m = 64, .n = 64, .k = 64});
    ::testing::internal::GetCapturedStderr();
    return answer;
  }

  std::string shown() const { return mmtune("show --format csv").out; }
};

TEST_F(MergedDecisions, AreCompiledByTheSameCommandAndThenServed) {
  give_away(1);
  ASSERT_EQ(merge().code, 0);
  EXPECT_EQ(planned().match, Match::fallback);
  EXPECT_THAT(shown(), HasSubstr(",wrong,its machine code is not stored here: tune again,"));

  const Result tuned = mmtune(fmt::format("{} 'TILE=16 UNROLL=4'", kRun));
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  const Answer answer = planned();
  EXPECT_EQ(answer.match, Match::exact) << answer.why;
  EXPECT_EQ(answer.config, "TILE=16 UNROLL=4");
  EXPECT_GT(answer.expected_us, 1) << "their time is no reason to believe it";
  EXPECT_THAT(shown(), HasSubstr(",current,"));
}

TEST_F(MergedDecisions, NeverDisableTheOwnDecision) {
  ASSERT_EQ(mmtune(fmt::format("{} 'TILE=8 UNROLL=8'", kRun)).code, 0);
  const std::string before = shown();
  give_away(0.001);
  ASSERT_EQ(merge().code, 0);
  EXPECT_EQ(shown(), before);
  EXPECT_EQ(planned().match, Match::exact);
  EXPECT_EQ(planned().config, "TILE=8 UNROLL=8");
}

// Rows with the hash of a known source beside another configuration: no kernel is made of them.
TEST_F(MergedDecisions, WithTheHashOfAnotherKernelTakeNothingAwayAndAreTunedAgain) {
  const std::string tune = fmt::format("{} 'TILE=16 UNROLL=4'", kRun);
  test::run_raw(
      path("same_user.db"),
      "UPDATE trial SET median_us = median_us / 2, samples = 1000000000 WHERE kernel_id IN (SELECT kernel_id FROM "
      "winner);"
      "UPDATE kernel SET settings = x'2004' WHERE id IN (SELECT kernel_id FROM winner);"
      "UPDATE winner SET median_us = median_us / 2");
  const std::string merge_forged = fmt::format("db merge '{}'", path("same_user.db"));

  ASSERT_EQ(mmtune(merge_forged).code, 0);
  EXPECT_EQ(planned().match, Match::fallback);
  EXPECT_THAT(mmtune(tune).err, HasSubstr("1 predicted, 0 known before"));
  EXPECT_EQ(planned().match, Match::exact);
  EXPECT_EQ(planned().config, "TILE=16 UNROLL=4");

  ASSERT_EQ(mmtune(merge_forged).code, 0);
  EXPECT_EQ(planned().match, Match::exact);
  EXPECT_EQ(planned().config, "TILE=16 UNROLL=4");
  EXPECT_THAT(mmtune(tune).err, HasSubstr("0 predicted, 1 known before"));
}

TEST_F(MergedDecisions, AreServedAtOnceWhereTheCodeOfOthersIsAccepted) {
  give_away(1);
  ASSERT_EQ(merge("--with-code").code, 0);
  EXPECT_EQ(planned().match, Match::exact);
  EXPECT_EQ(planned().config, "TILE=16 UNROLL=4");
}

TEST_F(MergedDecisions, OfTheSameUserAreServedAtOnce) {
  ASSERT_EQ(mmtune(fmt::format("db merge '{}'", path("same_user.db"))).code, 0);
  EXPECT_EQ(planned().match, Match::exact);
}

}  // namespace
}  // namespace mmtune
