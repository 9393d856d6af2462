// Candidates that one cannot rely on, which are the fastest ones here: wrong now and then, or with other bits every
// time. And a tuner that is killed when only the decision is left to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/faults_fixture.h"
#include "tuner/race/race.h"

namespace mmtune::test {
namespace {

using testing::Contains;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Faults : public FaultsTest {};

TEST_F(Faults, WithDeterministicOnlyTheSameBitsEveryTimeWin) {
  run(options(), "");
  const std::vector<std::string> by_time = ranking();
  ASSERT_GE(by_time.size(), 2U);
  ASSERT_EQ(winner(), by_time[0]);

  start_from_nothing();
  const std::string faults = "varies@" + by_time[0] + ";log@" + path("log");
  SessionOptions strict = options();
  strict.deterministic = true;
  EXPECT_EQ(run(options(), faults).tuned, 1);
  EXPECT_EQ(winner(), by_time[0]);
  EXPECT_EQ(run(strict, faults).tuned, 1) << "it took a decision that allows all kernels";
  EXPECT_EQ(winner(), by_time[1]);
  EXPECT_THAT(lines("log"), SizeIs(by_time.size())) << "what is known ran again";
  EXPECT_EQ(run(strict, faults).known, 1);
  EXPECT_EQ(run(options(), faults).tuned, 1) << "it took a decision that leaves kernels out";
  EXPECT_EQ(winner(), by_time[0]);

  start_from_nothing();
  EXPECT_EQ(run(strict, faults).tuned, 1);
  EXPECT_EQ(winner(), by_time[1]);
}

TEST_F(Faults, WithDeterministicNothingWinsWhereAllVary) {
  SessionOptions strict = options();
  strict.deterministic = true;
  EXPECT_EQ(run(strict, "varies@*").failed, 1);
  EXPECT_EQ(winner(), "");
  EXPECT_EQ(run(options(), "").tuned, 1);
  EXPECT_NE(winner(), "");
}

TEST_F(Faults, ACandidateWrongInTheRaceIsStoredSoAndTheNextFastestWins) {
  run(options(), "");
  const std::vector<std::string> by_time = ranking();
  ASSERT_GE(by_time.size(), 2U);

  start_from_nothing();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(options(), "race_incorrect@" + by_time[0]).tuned, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(by_time[0] + ": unstable: a test"));
  EXPECT_EQ(winner(), by_time[1]);
  for (const auto& [candidate, outcome] : outcomes()) {
    EXPECT_EQ(outcome, candidate == by_time[0] ? "unstable" : "ok") << candidate;
  }
  EXPECT_TRUE(suspects().empty()) << "it ended nothing";

  SessionOptions other_search = options();
  other_search.seed = 2;
  EXPECT_EQ(run(other_search, "log@" + path("log")).tuned, 1);
  EXPECT_EQ(winner(), by_time[1]);
  EXPECT_TRUE(lines("log").empty()) << "it got another chance";
}

TEST_F(Faults, ACandidateTooSlowBesideAWrongOneIsTriedAgain) {
  run(options(), "");
  const std::vector<std::string> by_time = ranking();
  ASSERT_GE(by_time.size(), 2U);
  int too_late = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    start_from_nothing();
    std::filesystem::remove(path("log"));
    SessionOptions shuffled = options();
    shuffled.strategy = "random";
    shuffled.seed = seed;
    const std::string faults = "impatient@*;log@" + path("log");
    EXPECT_EQ(run(shuffled, faults + ";race_incorrect@" + by_time[0]).tuned, 1);
    EXPECT_EQ(winner(), by_time[1]) << "seed " << seed;
    EXPECT_EQ(outcomes()[by_time[1]], "ok");
    const std::vector<std::string> tried = lines("log");
    too_late += std::count(tried.begin(), tried.end(), by_time[1]) > 1 ? 1 : 0;
  }
  EXPECT_GT(too_late, 0) << "no seed tried the second fastest after the fastest";
}

TEST_F(Faults, ACandidateTooSlowBesideAnotherFamilyMayBeTheBestWithoutIt) {
  run(options(), "");
  const std::string best_tiled = winner();
  start_from_nothing();
  SessionOptions both = options();
  both.families = {"naive", "tiled"};
  run(both, "impatient@*");
  ASSERT_EQ(outcomes()[best_tiled], "too_slow");
  const std::string decided = winner();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(options(), "impatient@*").not_beaten, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the best of this search is " + best_tiled));
  EXPECT_EQ(outcomes()[best_tiled], "ok");
  EXPECT_EQ(winner(), decided);
}

TEST_F(Faults, AWinnerThatBecomesWrongLosesItsPlace) {
  run(options(), "");
  const std::string first = winner();
  SessionOptions refresh = options();
  refresh.mode = SessionMode::refresh();
  EXPECT_EQ(run(refresh, "race_incorrect@" + first).tuned, 1);
  EXPECT_EQ(outcomes()[first], "unstable");
  EXPECT_EQ(winner(), ranking().front());
  EXPECT_NE(winner(), first);
}

TEST_F(Faults, WhereAllAreWrongInTheRaceNoneWins) {
  EXPECT_EQ(run(options(), "race_incorrect@*").failed, 1);
  EXPECT_EQ(winner(), "");
  for (const auto& [candidate, outcome] : outcomes()) EXPECT_EQ(outcome, "unstable") << candidate;
}

TEST_F(Faults, TheOnlyCandidateIsLookedAtAgainToo) {
  SessionOptions one = options();
  one.only = only("TILE=16 UNROLL=4");
  EXPECT_EQ(run(one, "race_incorrect@*").failed, 1);
  EXPECT_EQ(outcomes(),
            (std::map<std::string, std::string>{{candidate_text("tiled", "TILE=16 UNROLL=4"), "unstable"}}));
}

TEST_F(Faults, ACandidateThatVariesInTheRaceWinsOnlyWhereThatIsAllowed) {
  run(options(), "");
  const std::vector<std::string> by_time = ranking();
  ASSERT_GE(by_time.size(), 2U);
  for (const bool strict : {false, true}) {
    start_from_nothing();
    SessionOptions options = this->options();
    options.deterministic = strict;
    EXPECT_EQ(run(options, "race_varies@" + by_time[0]).tuned, 1);
    EXPECT_EQ(winner(), by_time[strict ? 1 : 0]);
    for (const Trial& trial : trials()) EXPECT_EQ(trial.deterministic, name_of(trial) != by_time[0]) << name_of(trial);
  }
}

TEST_F(Faults, EveryFifthIsWrongIn500Candidates) {
  SessionOptions many = options();
  many.families = {"naive"};
  many.only = parse_restriction("MAPPING=1,2,3 UNROLL=1,2,4,8");
  const std::string faults = "sometimes_wrong@*;log@" + path("log");
  EXPECT_EQ(run(many, faults).tuned, 1);
  const std::vector<std::string> right = ranking();
  const std::vector<Trial> all = trials();
  EXPECT_GE(all.size(), 500U);
  const auto wrong = std::count_if(all.begin(), all.end(), [](const Trial& trial) {
    return trial.outcome == Outcome::wrong_result && trial.note == "a test's bad luck";
  });
  EXPECT_EQ(right.size() + static_cast<std::size_t>(wrong), all.size());
  EXPECT_GT(static_cast<double>(wrong), 0.1 * static_cast<double>(all.size()));
  EXPECT_LT(static_cast<double>(wrong), 0.3 * static_cast<double>(all.size()));
  EXPECT_THAT(right, Contains(winner()));
  EXPECT_LE(pretended_us(winner()), kWorthLess * pretended_us(right.front()));

  const std::size_t ran = lines("log").size();
  EXPECT_EQ(run(many, faults).known, 1);
  EXPECT_THAT(lines("log"), SizeIs(ran)) << "a wrong candidate got another chance";
}

TEST_F(Faults, AKillInTheRaceLeavesOnlyTheRaceToDo) {
  const std::string logs = "log@" + path("log") + ";race_log@" + path("races");
  be_killed("race_hang@*;" + logs, [this] { return !lines("races").empty(); });
  ASSERT_THAT(lines("races"), SizeIs(1)) << "more than the first ran";
  const std::vector<std::string> by_time = ranking();
  EXPECT_THAT(lines("log"), SizeIs(by_time.size()));
  EXPECT_EQ(winner(), "");

  EXPECT_EQ(run(options(), logs).tuned, 1);
  EXPECT_EQ(winner(), by_time.front());
  EXPECT_THAT(lines("log"), SizeIs(by_time.size())) << "a candidate ran again";
  EXPECT_THAT(lines("races"), SizeIs(Gt(1U)));
  EXPECT_TRUE(suspects().empty()) << "a kill blames no candidate";
}

TEST_F(Faults, APartOfARunDecidesByTheTimesThatThereAre) {
  SessionOptions part = options();
  part.is_part = true;
  EXPECT_EQ(run(part, "race_log@" + path("races")).tuned, 1);
  EXPECT_THAT(lines("races"), IsEmpty());
  EXPECT_EQ(winner(), ranking().front());

  EXPECT_EQ(run(options(), "race_log@" + path("races")).tuned, 1) << "the race is still to come";
  EXPECT_THAT(lines("races"), Not(IsEmpty()));
}

}  // namespace
}  // namespace mmtune::test
