// What a run leaves of the machine code of candidates that lost.
#include "tests/tuner/database_faults.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

class LosingCodeOfARun : public Cli {
 protected:
  static constexpr std::string_view kTune =
      "tune --device model:h200 --sizes 64 --family tiled --strategy exhaustive --only 'TILE=8,16,32 UNROLL=1,4'";

  void SetUp() override {
    const Result tuned = mmtune(std::string(kTune));
    if (tuned.code == 3) GTEST_SKIP() << tuned.err;
    ASSERT_EQ(tuned.code, 0) << tuned.err;
  }

  Store store() const { return Store::open(path("default.db"), OpenMode::read_only); }

  /// Trials whose machine code is stored.
  int with_code() const {
    int count = 0;
    Store opened = store();
    for (const Trial& trial : opened.trials()) count += opened.find_binary(trial.binary_hash) ? 1 : 0;
    return count;
  }

  std::string served() const {
    ::testing::internal::CaptureStderr();
    const Answer answer =
        Library::open({.database = path("default.db"), .model = "h200"}).plan({.m = 64, .n = 64, .k = 64});
    ::testing::internal::GetCapturedStderr();
    return answer.match == Match::exact ? answer.config : answer.why;
  }
};

TEST_F(LosingCodeOfARun, IsNotKeptAndTheDecisionIsServed) {
  EXPECT_GT(store().trials().size(), 3U);
  EXPECT_LE(with_code(), 2) << "the winner's, and the fallback's if it was tried";
  EXPECT_EQ(served(), store().winners().at(0).trial.key.config);
  EXPECT_THAT(mmtune(std::string(kTune)).err, HasSubstr("0 predicted, 1 known before"));
}

TEST_F(LosingCodeOfARun, IsMadeAgainWhereACandidateMayWinAfterAll) {
  const std::string winner = served();
  const auto trials = store().trials().size();
  // Another search of the same candidates decides anew.
  const Result again = mmtune(std::string(kTune) + " --seed 2");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(served(), winner);
  EXPECT_EQ(store().trials().size(), trials);
  EXPECT_LE(with_code(), 2);
  EXPECT_EQ(mmtune("refresh --device model:h200 --all").code, 0);
  EXPECT_EQ(served(), winner);
  EXPECT_LE(with_code(), 2);
}

TEST_F(LosingCodeOfARun, IsPrunedOnlyWithAYes) {
  EXPECT_THAT(mmtune("db prune").err, HasSubstr("--code"));
  EXPECT_EQ(mmtune("db prune --code").code, 0);
  EXPECT_EQ(mmtune("db prune --code --yes").code, 0);
  EXPECT_EQ(served(), store().winners().at(0).trial.key.config);
  EXPECT_THAT(mmtune(std::string(kTune)).err, HasSubstr("0 predicted, 1 known before"));
}

}  // namespace
}  // namespace mmtune
