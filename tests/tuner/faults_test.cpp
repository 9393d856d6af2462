// Candidates that one cannot rely on, which are the fastest ones here: wrong now and then, or with other bits every
// time. And a tuner that is killed when only the decision is left to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/faults_fixture.h"
#include "tuner/race.h"

namespace mmtune::test {
namespace {

using testing::Contains;
using testing::Gt;
using testing::SizeIs;

class Faults : public FaultsTest {
 protected:
  /// The candidates whose outcome is ok, the fastest first.
  std::vector<std::string> ranking() const {
    std::vector<std::string> names;
    for (const Trial& trial : trials()) {
      if (trial.outcome == Outcome::ok) names.push_back(name_of(trial));
    }
    std::sort(names.begin(), names.end(),
              [](const auto& x, const auto& y) { return pretended_us(x) < pretended_us(y); });
    return names;
  }

  void start_from_nothing() const { std::filesystem::remove(path("test.db")); }
};

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
  EXPECT_THAT(lines("log"), SizeIs(ran)) << "who was wrong got another chance";
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
  EXPECT_TRUE(suspects().empty()) << "a kill blames nobody";
}

}  // namespace
}  // namespace mmtune::test
