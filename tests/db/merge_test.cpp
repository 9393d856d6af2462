// Merging: idempotent, independent of order, and careful with what others wrote.
#include <gmock/gmock.h>
#include <mmtune/error.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

class MergeTest : public StoreTest {
 protected:
  std::string make(const std::string& name, const std::vector<Trial>& trials, int winner) const {
    const std::string path = directory_ / name;
    Store store = Store::open(path, OpenMode::read_write);
    std::vector<Binary> binaries;
    for (int number = 0; number < 8; ++number) binaries.push_back(sample_binary(number));
    store.put(trials, binaries);
    store.put_winner(trials[static_cast<std::size_t>(winner)].key, name, 5);
    return path;
  }

  /// Everything in a database, as text in a fixed order.
  static std::string contents(const std::string& path) {
    Store store = Store::open(path, OpenMode::read_only);
    std::vector<std::string> lines;
    for (const Trial& t : store.trials()) {
      lines.push_back(fmt::format("{} {} {} {} {}", t.key.config, static_cast<int>(t.outcome), t.timing.median_us,
                                  t.timing.samples, t.binary_hash));
    }
    std::sort(lines.begin(), lines.end());
    for (const Winner& w : store.winners()) {
      lines.push_back(fmt::format("winner {} {} {}", w.trial.key.config, w.search, w.candidates));
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  std::string merged(const std::string& name, const std::vector<std::string>& sources) const {
    const std::string path = directory_ / name;
    Store store = Store::open(path, OpenMode::read_write);
    for (const std::string& source : sources) store.merge_from({source});
    EXPECT_TRUE(store.check().faults.empty());
    return contents(path);
  }
};

TEST_F(MergeTest, AnyOrderAndAnyRepetitionGiveTheSame) {
  Trial better = sample_trial(0);
  better.timing.samples = 100;
  better.timing.median_us = 12;
  Trial wrong = sample_trial(2);
  wrong.outcome = Outcome::wrong_result;
  const std::string a = make("a", {sample_trial(0), sample_trial(1)}, 0);
  const std::string b = make("b", {better, sample_trial(2)}, 1);
  const std::string c = make("c", {sample_trial(1), sample_trial(3), wrong}, 0);
  const std::string expected = merged("abc", {a, b, c});
  EXPECT_EQ(merged("acb", {a, c, b}), expected);
  EXPECT_EQ(merged("bac", {b, a, c}), expected);
  EXPECT_EQ(merged("cba", {c, b, a}), expected);
  EXPECT_EQ(merged("again", {a, b, c, a, b, c, c}), expected);
  EXPECT_EQ(merged("tree", {std::string(directory_ / "acb"), a, std::string(directory_ / "cba")}), expected);
}

TEST_F(MergeTest, CountsWhatItDid) {
  const std::string a = make("a", {sample_trial(0), sample_trial(1)}, 1);
  const std::string b = make("b", {sample_trial(0), sample_trial(2)}, 0);
  Store store = Store::open(a, OpenMode::read_write);
  MergeReport report = store.merge_from({b});
  EXPECT_EQ(report.trials_added, 1);
  EXPECT_EQ(report.trials_kept, 1);
  EXPECT_EQ(report.winners_changed, 1);
  EXPECT_EQ(report.rejected, 0);
  report = store.merge_from({b});
  EXPECT_EQ(report.trials_added, 0);
  EXPECT_EQ(report.winners_changed, 0);
}

TEST_F(MergeTest, KeepsTheFasterDecisionAndTheBetterVerifiedTrial) {
  Trial fewer = sample_trial(0);
  fewer.timing.samples = 3;
  fewer.timing.median_us = 1;
  Trial lost = sample_trial(1);
  lost.outcome = Outcome::timed_out;
  const std::string ours = make("ours", {sample_trial(0), sample_trial(1)}, 0);
  const std::string theirs = make("theirs", {fewer, lost, sample_trial(5)}, 2);
  Store store = Store::open(ours, OpenMode::read_write);
  store.merge_from({theirs});
  expect_equal(*store.find(fewer.key), sample_trial(0));
  expect_equal(*store.find(lost.key), sample_trial(1));
  EXPECT_EQ(store.winners().at(0).search, "ours");
}

TEST_F(MergeTest, AFaultFoundElsewhereWithdrawsTheWinner) {
  Trial faulty = sample_trial(0);
  faulty.outcome = Outcome::guard_violation;
  const std::string ours = make("ours", {sample_trial(0)}, 0);
  const std::string theirs = make("theirs", {faulty, sample_trial(7)}, 1);
  Store store = Store::open(ours, OpenMode::read_write);
  store.merge_from({theirs});
  EXPECT_EQ(store.find(faulty.key)->outcome, Outcome::guard_violation);
  EXPECT_TRUE(store.winners().empty());
}

TEST_F(MergeTest, OwnBinariesComeAlong) {
  const std::string theirs = make("theirs", {sample_trial()}, 0);
  Store store = open();
  store.merge_from({theirs});
  EXPECT_EQ(store.find_binary(sample_binary().hash)->cubin, sample_binary().cubin);
  EXPECT_TRUE(store.find_compiled(sample_trial().key.source_hash, "sm_90a"));
}

TEST_F(MergeTest, OneCompilersCodeIsKeptWhateverTheOrder) {
  const auto compiled_by = [this](const std::string& name, const std::string& nvrtc, int number) {
    Binary binary = sample_binary(number);
    binary.nvrtc = nvrtc;
    Store::open(directory_ / name, OpenMode::read_write).put_compiled("source", binary);
    return (directory_ / name).string();
  };
  const std::string older = compiled_by("older", "12.9", 1), newer = compiled_by("newer", "13.0", 0);
  for (const auto& order : {std::pair(older, newer), std::pair(newer, older)}) {
    std::filesystem::remove(path_);
    Store store = open();
    store.merge_from({order.first});
    store.merge_from({order.second});
    const auto binary = store.find_compiled("source", "sm_90a");
    ASSERT_TRUE(binary);
    EXPECT_EQ(binary->nvrtc, "13.0");
    EXPECT_EQ(binary->hash, sample_binary(0).hash);
  }
}

TEST_F(MergeTest, MachineCodeOfAnotherUserStaysOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string theirs = make("theirs", {sample_trial()}, 0);
  ASSERT_EQ(chown(theirs.c_str(), 4242, 4242), 0);
  EXPECT_THROW(Store::open(theirs, OpenMode::read_only), DatabaseError);
  Store store = open();
  EXPECT_EQ(store.merge_from({theirs}).trials_added, 1);
  EXPECT_FALSE(store.find_binary(sample_binary().hash));
  EXPECT_EQ(run_raw(path_, "SELECT * FROM compiled"), "");
  ASSERT_EQ(store.winners().size(), 1U);
  EXPECT_TRUE(store.winners()[0].trial.binary_hash.empty()) << "a name of code is as good as code";
}

TEST_F(MergeTest, MachineCodeOfAnotherUserIsTakenIfAskedFor) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string theirs = make("theirs", {sample_trial()}, 0);
  ASSERT_EQ(chown(theirs.c_str(), 4242, 4242), 0);
  Store store = open();
  store.merge_from({theirs}, ForeignCode::take);
  EXPECT_TRUE(store.find_binary(sample_binary().hash));
  EXPECT_EQ(store.winners().at(0).binary.hash, sample_binary().hash);
}

TEST_F(MergeTest, AForeignDecisionTakesThePlaceOfNoneThatCanRun) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Trial faster = sample_trial(1);
  faster.key.source_hash = "theirs";
  faster.timing.median_us = 1;
  const std::string ours = make("ours", {sample_trial(0)}, 0);
  const std::string theirs = make("theirs", {faster}, 0);
  ASSERT_EQ(chown(theirs.c_str(), 4242, 4242), 0);
  EXPECT_THAT(merged("first", {ours, theirs}), ::testing::HasSubstr("winner BM=128 BN=1 ours"));
  EXPECT_EQ(merged("last", {theirs, ours}), merged("again", {ours, theirs, ours, theirs}));
  EXPECT_THAT(merged("alone", {theirs}), ::testing::HasSubstr("winner BM=128 BN=2 theirs"));
}

TEST_F(MergeTest, RejectsSpoiltRowsAndTakesTheOthers) {
  const std::string theirs = make("theirs", {sample_trial(0), sample_trial(1), sample_trial(2)}, 0);
  run_raw(theirs,
          "UPDATE kernel SET settings = '1; rm' WHERE id = 2; UPDATE trial SET median_us = -1 WHERE id = 3;"
          "UPDATE winner SET candidates = -1");
  Store store = open();
  const MergeReport report = store.merge_from({theirs});
  EXPECT_EQ(report.trials_added, 1);
  EXPECT_EQ(report.rejected, 3);
  EXPECT_TRUE(store.check().faults.empty());
}

TEST_F(MergeTest, TimesBeyondPhysicsAndRowsOfTheFutureAreRefusedWithTheReason) {
  const std::string theirs = make("theirs", {sample_trial(0), sample_trial(1), sample_trial(2)}, 0);
  run_raw(theirs,
          "UPDATE trial SET median_us = 1e-6 WHERE id = 2; UPDATE trial SET created = strftime('%s', '2999-01-01')"
          " WHERE id = 3; UPDATE winner SET decided = strftime('%s', '2999-01-01')");
  Store store = open();
  const MergeReport report = store.merge_from({theirs});
  EXPECT_EQ(report.trials_added, 1);
  EXPECT_EQ(report.rejected, 3);
  EXPECT_EQ(report.reasons, (std::map<std::string, std::int64_t>{
                                {"trial: median_us: faster than the GPU can compute or move what it multiplies", 1},
                                {"trial: created: more than a day in the future", 1},
                                {"winner: decided: more than a day in the future", 1}}));
}

TEST_F(MergeTest, ADecisionThatIsNotServedTakesThePlaceOfNoneThatIs) {
  Trial forged = sample_trial(1);  // the same source, another configuration
  forged.timing.median_us = 0.1;
  forged.timing.samples = 1'000'000'000;
  const std::string ours = make("ours", {sample_trial(0)}, 0);
  const std::string theirs = make("theirs", {forged}, 0);
  const auto makes = [](const TrialKey& decision, const Binary& code) {
    return decision.config == sample_trial(0).key.config && code.hash != "";
  };
  for (const auto& files : {std::vector{ours, theirs}, std::vector{theirs, ours}}) {
    Store store = Store::open(directory_ / files[0].substr(files[0].size() - 3), OpenMode::read_write);
    store.merge_from(files, ForeignCode::take, makes);
    EXPECT_EQ(store.winners().at(0).trial.key.config, sample_trial(0).key.config);
  }
}

TEST_F(MergeTest, RefusesItself) {
  const std::string path = make("a", {sample_trial()}, 0);
  Store store = Store::open(path, OpenMode::read_write);
  EXPECT_THROW(store.merge_from({path}), DatabaseError);
  EXPECT_THROW(store.merge_from({directory_ / "missing"}), DatabaseError);
}

}  // namespace
}  // namespace mmtune::test
