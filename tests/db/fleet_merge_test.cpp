// Merging the databases of a fleet: whatever the order and the grouping, the same rows with the same numbers.
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <random>

#include "db/settle.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FleetMerge : public StoreTest {
 protected:
  /// All rows of all tables in the order in which they lie in the file, with their numbers.
  static std::string dump(const std::string& path) {
    std::string text;
    for (const auto* table : {"device", "problem", "environment", "family", "kernel", "binary", "compiled", "trial",
                              "attempt", "lost_compile", "winner", "rival"}) {
      // Values are quoted, since hashes are bytes.
      const auto list = fmt::format("SELECT group_concat('quote(' || name || ')') FROM pragma_table_info('{}')", table);
      const std::string columns = run_raw(path, list);
      const auto select = fmt::format("SELECT {} FROM {}", columns.substr(0, columns.rfind('|')), table);
      text += fmt::format("{}\n{}", table, run_raw(path, select));
    }
    return text;
  }

  /// A node's database: of three problems some, with some of four candidates each and a decision for one of them.
  std::string make_node(const std::string& name, std::mt19937& random) const {
    const std::string path = directory_ / name;
    Store store = Store::open(path, OpenMode::read_write);
    const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    for (int size = 1; size <= 3; ++size) {
      if (draw(3) == 0) continue;
      std::vector<Trial> right;
      for (int number = 0; number < 4; ++number) {
        if (draw(4) == 0) continue;
        Trial trial = sample_trial(number);
        trial.key.source_hash = std::string(32, static_cast<char>('a' + number));
        trial.key.problem.m = 100 * size;
        trial.outcome = draw(5) == 0 ? Outcome::wrong_result : Outcome::ok;
        trial.timing.median_us = 10 + 0.02 * draw(8);
        trial.timing.samples = 20 + 10 * draw(3);
        trial.environment.device_uuid = fmt::format("GPU-{}", name);
        trial.created = fmt::format("2031-04-0{}T06:07:08Z", 1 + draw(3));
        Binary binary = sample_binary(number);
        binary.compile_ms = 100 + draw(4);
        if (draw(3) == 0) binary.cubin.clear();
        store.put(trial, &binary);
        if (trial.outcome == Outcome::ok) right.push_back(trial);
      }
      if (right.empty()) continue;
      const TrialKey& key = right[static_cast<std::size_t>(draw(static_cast<int>(right.size())))].key;
      store.put_winner(key, name, draw(3));
      if (draw(2) == 0) store.put_cublas_ratio(key, 1 + draw(3));
    }
    run_raw(path, fmt::format("UPDATE winner SET decided = strftime('%s', '2031-04-0{}')", 1 + draw(3)));
    return path;
  }

  std::string merged(const std::string& name, const std::vector<std::vector<std::string>>& commands) const {
    const std::string path = directory_ / name;
    std::filesystem::remove(path);
    Store store = Store::open(path, OpenMode::read_write);
    for (const auto& files : commands) store.merge_from(files);
    EXPECT_THAT(store.check().faults, IsEmpty());
    return path;
  }

  /// A database with a decision for this candidate of one problem.
  std::string decided(const std::string& name, int number, double median_us, int samples) const {
    Trial trial = sample_trial(number);
    trial.timing.median_us = median_us;
    trial.timing.q1_us = median_us - 0.1;
    trial.timing.q3_us = median_us + 0.1;
    trial.timing.samples = samples;
    const std::string path = directory_ / name;
    Store store = Store::open(path, OpenMode::read_write);
    const Binary binary = sample_binary(number);
    store.put(trial, &binary);
    store.put_winner(trial.key, name, 1);
    return path;
  }
};

TEST_F(FleetMerge, AnyOrderAndAnyGroupingGiveTheSameDump) {
  std::mt19937 random(1);
  for (int round = 0; round < 25; ++round) {
    std::vector<std::string> nodes;
    for (const auto* name : {"a", "b", "c", "d", "e"}) {
      std::filesystem::remove(directory_ / name);
      nodes.push_back(make_node(name, random));
    }
    const std::string expected = dump(merged("all", {nodes}));
    std::shuffle(nodes.begin(), nodes.end(), random);
    EXPECT_EQ(dump(merged("shuffled", {nodes})), expected) << round;
    EXPECT_EQ(dump(merged("one by one", {{nodes[0]}, {nodes[1]}, {nodes[2]}, {nodes[3]}, {nodes[4]}})), expected);
    const std::string left = merged("left", {{nodes[1], nodes[3]}}), right = merged("right", {{nodes[4], nodes[0]}});
    EXPECT_EQ(dump(merged("tree", {{left}, {nodes[2], right}})), expected) << round;
    EXPECT_EQ(dump(merged("again", {nodes, {nodes[2]}, {left, nodes[0], nodes[0]}})), expected) << round;
    if (HasFailure()) return;
  }
}

TEST_F(FleetMerge, ManyNodesAtOnce) {
  constexpr int kNodes = 40;
  std::vector<std::string> files;
  for (int node = 0; node < kNodes; ++node) {
    files.push_back(directory_ / fmt::format("shard-{}.db", node));
    Store store = Store::open(files.back(), OpenMode::read_write);
    std::vector<Trial> trials;
    for (int number = 0; number < 20; ++number) {
      trials.push_back(sample_trial(number));
      trials.back().key.problem.n = 8 * (node + 1);
    }
    store.put(trials, {sample_binary(0), sample_binary(1)});
    store.put_winner(trials.front().key, "search", 20);
  }
  Store store = open();
  const MergeReport report = store.merge_from(files);
  EXPECT_EQ(report.trials_added, 20 * kNodes);
  EXPECT_EQ(report.winners_changed, kNodes);
  EXPECT_EQ(store.winners().size(), std::size_t{kNodes});
  EXPECT_EQ(store.check().binaries, 2);
  EXPECT_THAT(store.check().faults, IsEmpty());
}

TEST_F(FleetMerge, SamplesSettleWhichDecisionHolds) {
  const auto slower = decided("slower", 0, 10.5, 31), faster = decided("faster", 1, 10, 31);
  for (const auto& order : {std::array{slower, faster}, std::array{faster, slower}}) {
    std::filesystem::remove(path_);
    Store store = open();
    const MergeReport report = store.merge_from({order[0], order[1]});
    EXPECT_EQ(report.settled, 1);
    EXPECT_THAT(report.near_ties, IsEmpty());
    EXPECT_EQ(report.winners_changed, 1);
    EXPECT_EQ(store.winners().at(0).search, "faster");
    EXPECT_EQ(store.winners().at(0).near_ties, 0);
  }
}

TEST_F(FleetMerge, WhatSamplesLeaveOpenIsKeptToBeRaced) {
  const auto few = decided("few", 0, 10, 31), many = decided("many", 1, 10.02, 200), far = decided("far", 2, 11, 31);
  Store store = open();
  const MergeReport report = store.merge_from({few, many, far});
  const Problem problem = sample_trial().key.problem;
  EXPECT_THAT(report.near_ties, ElementsAre(problem));
  EXPECT_EQ(report.settled, 0);
  const Winner winner = store.winners().at(0);
  EXPECT_EQ(winner.search, "many") << "the better verified one is served meanwhile";
  EXPECT_EQ(winner.near_ties, 1);
  const auto keys = store.near_ties({winner.trial.key.device, problem, Evidence::measured});
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].config, sample_trial(0).key.config);
  EXPECT_THAT(store.near_ties({winner.trial.key.device, problem, Evidence::predicted}), IsEmpty());

  store.export_winners(directory_ / "winners.db");
  EXPECT_EQ(Store::open(directory_ / "winners.db", OpenMode::read_only).winners().at(0).near_ties, 0);

  store.put_winner(keys[0], "raced", 5);
  EXPECT_EQ(store.winners().at(0).near_ties, 0);
  EXPECT_EQ(store.winners().at(0).search, "raced");
}

TEST_F(FleetMerge, MoreSamplesLeaveLessOpen) {
  EXPECT_TRUE(
      is_near_tie({.median_us = 10, .q1_us = 9.9, .q3_us = 10.1, .samples = 10, .conditions = {.mode = "graph"}},
                  {.median_us = 10.1, .q1_us = 10, .q3_us = 10.2, .samples = 10, .conditions = {.mode = "graph"}}));
  EXPECT_FALSE(
      is_near_tie({.median_us = 10, .q1_us = 9.9, .q3_us = 10.1, .samples = 100, .conditions = {.mode = "graph"}},
                  {.median_us = 10.1, .q1_us = 10, .q3_us = 10.2, .samples = 100, .conditions = {.mode = "graph"}}));
  EXPECT_TRUE(is_near_tie(
      {.median_us = 10, .q1_us = 10, .q3_us = 10, .samples = 100, .conditions = {.mode = "graph"}},
      {.median_us = 10.02, .q1_us = 10.02, .q3_us = 10.02, .samples = 100, .conditions = {.mode = "graph"}}))
      << "runs differ by as much";
}

TEST_F(FleetMerge, PredictedTimesAreNotRaced) {
  std::vector<std::string> files;
  for (const int number : {0, 1}) {
    Trial trial = sample_trial(number);
    trial.key.evidence = Evidence::predicted;
    trial.timing = {
        .median_us = 10, .q1_us = 10, .q3_us = 10, .min_us = 10, .samples = 1, .conditions = {.mode = "model"}};
    files.push_back(directory_ / fmt::format("model{}", number));
    Store store = Store::open(files.back(), OpenMode::read_write);
    store.put(trial);
    store.put_winner(trial.key, "search", 1);
  }
  const MergeReport report = open().merge_from(files);
  EXPECT_THAT(report.near_ties, IsEmpty());
  EXPECT_EQ(report.settled, 1);
}

TEST_F(FleetMerge, IsAllOrNothing) {
  const auto good = decided("good", 0, 10, 31);
  Store store = open();
  const std::string before = dump(path_);
  run_raw(directory_ / "bad", "CREATE TABLE other (x)");
  EXPECT_THROW(store.merge_from({good, directory_ / "bad"}), DatabaseError);
  EXPECT_EQ(dump(path_), before);
  EXPECT_EQ(store.merge_from({good}).trials_added, 1);
}

TEST_F(FleetMerge, KeepsLaunchesThatRun) {
  const auto other = decided("other", 0, 10, 31);
  Store store = open();
  const Trial trial = sample_trial(3);
  store.begin({{trial.key, trial.environment, "boot"}});
  store.merge_from({other});
  EXPECT_THAT(store.settle("GPU-1234", "another boot"), ::testing::SizeIs(1));
  EXPECT_THAT(store.check().faults, IsEmpty());
}

TEST_F(FleetMerge, KillsAndLostCompilesOfOtherMachinesStayThere) {
  const auto other = decided("other", 0, 10, 31);
  {
    Store theirs = Store::open(other, OpenMode::read_write);
    Trial killer = sample_trial(3);
    killer.outcome = Outcome::crashed;
    theirs.begin({{killer.key, killer.environment, "boot"}});
    theirs.put(killer);
    theirs.put_lost_compile({"0123abcd", "sm_90a", "13.0", "simt", "BM=128", Outcome::timed_out, 7, 1000, ""});
    ASSERT_THAT(theirs.suspects(), ::testing::SizeIs(1));
  }
  Store store = open();
  EXPECT_EQ(store.merge_from({other}).trials_added, 2);
  EXPECT_THAT(store.suspects(), IsEmpty());
  EXPECT_THAT(store.lost_compiles(), IsEmpty());
}

TEST_F(FleetMerge, IntoADamagedDatabaseDeletesNothing) {
  const auto other = decided("other", 0, 10, 31);
  open().put(sample_trial(3));
  run_raw(path_, "UPDATE trial SET environment_id = 99");
  const std::string before = dump(path_);
  Store store = open();
  EXPECT_THROW(store.merge_from({other}), DatabaseError);
  EXPECT_EQ(dump(path_), before);
}

TEST_F(FleetMerge, PruningAWinnersRivalsTrialsForgetsThem) {
  const auto few = decided("few", 0, 10, 31), many = decided("many", 1, 10.02, 200);
  Store store = open();
  store.merge_from({few, many});
  store.prune({.stale_sources = true, .live_sources = {}});
  EXPECT_THAT(store.check().faults, IsEmpty());
  EXPECT_THAT(store.winners(), IsEmpty());
}

}  // namespace
}  // namespace mmtune::test
