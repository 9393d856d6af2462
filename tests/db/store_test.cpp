// What is put comes back; how rows are replaced, listed and pruned.
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/tables.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A predicted result for the same problem and GPU.
Trial predicted(Trial trial) {
  trial.key.evidence = Evidence::predicted;
  trial.timing = {.median_us = 9, .conditions = {.mode = "model"}};
  return trial;
}

TEST_F(StoreTest, TrialComesBackInEveryField) {
  open().put(sample_trial());
  const auto found = open(OpenMode::read_only).find(sample_trial().key);
  ASSERT_TRUE(found);
  expect_equal(*found, sample_trial());
}

TEST(StoredSettings, NumbersAreBytesAndOtherTextsStay) {
  EXPECT_EQ(settings_bytes("0 127 128 256 2147483647"), std::string("\0\x7f\x81\0\x82\0\x87\xff\xff\xff\x7f", 11));
  for (const char* text : {"0", "0 127 128 256 2147483647", "16384 1 16383"}) {
    EXPECT_EQ(settings_text(settings_bytes(text).value_or("")), text);
  }
  for (const char* text : {"", " ", "1 ", "1  2", "01", "-1", "1.5", "x", "2147483648", "99999999999999999999"}) {
    EXPECT_FALSE(settings_bytes(text)) << text;
  }
}

TEST_F(StoreTest, EveryOutcomeComesBack) {
  Store store = open();
  for (int outcome = 0; outcome <= 9; ++outcome) {
    Trial trial = sample_trial(outcome);
    trial.outcome = static_cast<Outcome>(outcome);
    store.put(trial);
    EXPECT_EQ(parse_outcome(to_string(trial.outcome)), trial.outcome);
    EXPECT_EQ(store.find(trial.key)->outcome, trial.outcome);
  }
  EXPECT_FALSE(parse_outcome("unknown"));
  EXPECT_FALSE(parse_evidence("unknown"));
}

TEST_F(StoreTest, BinaryComesBack) {
  Store store = open();
  const Trial trial = sample_trial();
  Binary binary = sample_binary();
  store.put(trial, &binary);
  ASSERT_TRUE(store.find_binary(binary.hash));
  expect_equal(*store.find_binary(binary.hash), binary);
  expect_equal(*store.find_compiled(trial.key.source_hash, "sm_90a"), binary);
  EXPECT_FALSE(store.find_compiled(trial.key.source_hash, "sm_80"));
  EXPECT_FALSE(store.find_compiled("other", "sm_90a"));
}

TEST_F(StoreTest, ImageIsWrittenAgainOnlyWhereItIsDamaged) {
  Store store = open();
  Binary binary = sample_binary();
  set_code(binary, std::string(20'000, 'c'));  // long enough to be compressed
  Trial trial = sample_trial();
  trial.binary_hash = binary.hash;
  store.put(trial, &binary);
  const auto store_plain = [&](int size) {
    run_raw(path_, fmt::format("UPDATE binary SET cubin = CAST(printf('%.*c', {}, 'c') AS BLOB)", size));
  };
  store_plain(20'000);
  store.put(trial, &binary);
  EXPECT_EQ(run_raw(path_, "SELECT length(cubin) FROM binary"), "20000|\n");
  store_plain(19'999);
  store.put(trial, &binary);
  EXPECT_EQ(store.find_binary(binary.hash)->cubin, binary.cubin);
}

TEST_F(StoreTest, BinaryWithoutImageIsKnownButNotServed) {
  Store store = open();
  Binary binary = sample_binary();
  const std::string image = std::exchange(binary.cubin, "");
  store.put_compiled("source", binary);
  EXPECT_EQ(run_raw(path_, "SELECT count(*) FROM compiled"), "1|\n");
  EXPECT_FALSE(store.find_compiled("source", "sm_90a"));
  EXPECT_FALSE(store.find_binary(binary.hash));
  binary.cubin = image;
  store.put_compiled("source", binary);
  binary.cubin.clear();
  store.put_compiled("source", binary);
  EXPECT_EQ(store.find_binary(binary.hash)->cubin, image) << "a binary without image must not drop the stored one";
}

TEST_F(StoreTest, SameKeyReplaces) {
  Store store = open();
  Trial trial = sample_trial();
  store.put(trial);
  store.put_winner(trial.key, "search", 1);
  trial.timing.median_us = 5;
  trial.environment.driver = "590";
  store.put(trial);
  EXPECT_EQ(store.trials().size(), 1U);
  EXPECT_EQ(store.find(trial.key)->timing.median_us, 5);
  EXPECT_EQ(store.find_winner({trial.key.device, trial.key.problem, Evidence::measured})->trial.timing.median_us, 5);
}

TEST_F(StoreTest, EveryPartOfTheKeyTellsRowsApart) {
  Store store = open();
  std::vector<Trial> trials(9, sample_trial());
  trials[1].key.device.sm_count = 78;
  trials[2].key.problem.k = 1;
  trials[3].key.problem.align.c = 1;
  trials[4].key.family = "wgmma";
  trials[5].key.config = "BM=64";
  trials[6].key.source_hash = "edited";
  trials[7].key.evidence = Evidence::predicted;
  trials[8].key.problem.precision = Precision::bf16;
  store.put(trials, {});
  EXPECT_EQ(store.trials().size(), trials.size());
  for (const Trial& trial : trials) expect_equal(*store.find(trial.key), trial);
  EXPECT_EQ(store.devices().size(), 2U);
}

TEST_F(StoreTest, TwoConnectionsSeeEachOther) {
  Store writer = open();
  Store reader = open(OpenMode::read_only);
  EXPECT_FALSE(reader.find(sample_trial().key));
  writer.put(sample_trial());
  EXPECT_TRUE(reader.find(sample_trial().key));
  EXPECT_THROW(reader.put(sample_trial()), DatabaseError);
}

TEST_F(StoreTest, FillsInTheTimeOfCreation) {
  Store store = open();
  Trial trial = sample_trial();
  trial.created.clear();
  store.put(trial);
  EXPECT_THAT(store.find(trial.key)->created, ::testing::MatchesRegex("2...-..-..T..:..:..Z"));
}

TEST_F(StoreTest, NaNErrorBecomesInfinite) {
  Store store = open();
  Trial trial = sample_trial();
  trial.outcome = Outcome::wrong_result;
  trial.error_share = std::nan("");
  store.put(trial);
  EXPECT_EQ(store.find(trial.key)->error_share, std::numeric_limits<double>::infinity());
}

TEST_F(StoreTest, CutsEndlessNotes) {
  Store store = open();
  Trial trial = sample_trial();
  trial.note.assign(10 << 20, 'x');
  store.put(trial);
  EXPECT_EQ(store.find(trial.key)->note.size(), std::size_t{1} << 20);
}

TEST_F(StoreTest, RefusesWhatItWouldNotReadBack) {
  Store store = open();
  const auto refused = [&](const char* field, const std::function<void(Trial&)>& spoil) {
    Trial trial = sample_trial();
    spoil(trial);
    try {
      store.put(trial);
      ADD_FAILURE() << field << " was accepted";
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
      EXPECT_THAT(error.what(), HasSubstr(field));
    }
  };
  refused("median_us", [](Trial& t) { t.timing.median_us = 0; });
  refused("median_us", [](Trial& t) { t.timing.median_us = std::nan(""); });
  refused("q1_us", [](Trial& t) { t.timing.q1_us = -1; });
  refused("samples", [](Trial& t) { t.timing.samples = -1; });
  refused("error_share", [](Trial& t) { t.error_share = 2; });
  refused("config", [](Trial& t) { t.key.config = "BM=1; rm"; });
  refused("config", [](Trial& t) { t.key.config = "BM=1\n#include"; });
  refused("family", [](Trial& t) { t.key.family = "../simt"; });
  refused("source_hash", [](Trial& t) { t.key.source_hash = ""; });
  refused("problem.m", [](Trial& t) { t.key.problem.m = 0; });
  refused("problem.m", [](Trial& t) { t.key.problem.m = std::numeric_limits<std::int64_t>::max(); });
  refused("precision", [](Trial& t) { t.key.problem.precision = static_cast<Precision>(99); });
  refused("outcome", [](Trial& t) { t.outcome = static_cast<Outcome>(10); });
  refused("created", [](Trial& t) { t.created = "yesterday"; });
  refused("device.name", [](Trial& t) { t.key.device.name = "\x1b[2J"; });
  EXPECT_EQ(store.trials().size(), 0U);
}

TEST_F(StoreTest, PutsAllOrNothing) {
  Store store = open();
  std::vector<Trial> trials{sample_trial(0), sample_trial(1)};
  trials[1].timing.median_us = -1;
  EXPECT_THROW(store.put(trials, {sample_binary()}), DatabaseError);
  EXPECT_FALSE(store.find(trials[0].key));
  EXPECT_FALSE(store.find_binary(sample_binary().hash));
}

TEST_F(StoreTest, TwinsAreMeasuredRightAndOfTheSamePlace) {
  Store store = open();
  Trial twin = sample_trial(1);
  Trial second = sample_trial(5);
  second.binary_hash = twin.binary_hash;
  second.timing.samples = twin.timing.samples + 1;
  Trial failed = sample_trial(2);
  failed.binary_hash = twin.binary_hash;
  failed.outcome = Outcome::crashed;
  Trial elsewhere = sample_trial(3);
  elsewhere.key.problem.m = 7;
  store.put({twin, second, failed, elsewhere, predicted(sample_trial(4))}, {});
  const TrialKey key = sample_trial().key;
  const std::vector<Trial> twins = store.find_twins(key, twin.binary_hash);
  ASSERT_EQ(twins.size(), 2U);
  expect_equal(twins[0], second);
  expect_equal(twins[1], twin);
  EXPECT_TRUE(store.find_twins(key, elsewhere.binary_hash).empty());
  EXPECT_TRUE(store.find_twins(key, sample_trial(4).binary_hash).empty());
  EXPECT_TRUE(store.find_twins(key, "").empty());
}

TEST_F(StoreTest, WinnerNeedsARightTrialAndStandsByItsPlace) {
  Store store = open();
  Trial trial = sample_trial();
  EXPECT_THROW(store.put_winner(trial.key, "search", 3), DatabaseError);
  const Binary binary = sample_binary();
  store.put(trial, &binary);
  store.put_winner(trial.key, "search", 3);
  const auto winner = store.find_winner({trial.key.device, trial.key.problem, Evidence::measured});
  ASSERT_TRUE(winner);
  expect_equal(winner->trial, trial);
  EXPECT_EQ(winner->search, "search");
  EXPECT_EQ(winner->candidates, 3);
  EXPECT_EQ(winner->binary.registers, binary.registers);
  EXPECT_TRUE(winner->binary.cubin.empty());
  EXPECT_FALSE(store.find_winner({trial.key.device, trial.key.problem, Evidence::predicted}));

  trial.outcome = Outcome::wrong_result;
  store.put(trial);
  EXPECT_FALSE(store.find_winner({trial.key.device, trial.key.problem, Evidence::measured})) << "its kernel is wrong";
  EXPECT_THROW(store.put_winner(trial.key, "search", 3), DatabaseError);
}

TEST_F(StoreTest, ListsWinnersInOrderMeasuredFirst) {
  Store store = open();
  std::vector<Trial> trials(4, sample_trial());
  trials[0].key.problem.m = 10;
  trials[1] = predicted(trials[1]);
  trials[3].key.problem.precision = Precision::fp32;
  store.put(trials, {});
  for (const Trial& trial : trials) store.put_winner(trial.key, "", 1);
  std::vector<std::pair<std::string, Evidence>> listed;
  for (const Winner& winner : store.winners()) {
    listed.emplace_back(to_string(winner.trial.key.problem), winner.trial.key.evidence);
  }
  const std::string middle = to_string(trials[2].key.problem);
  EXPECT_THAT(listed, ElementsAre(std::pair(to_string(trials[3].key.problem), Evidence::measured),
                                  std::pair(to_string(trials[0].key.problem), Evidence::measured),
                                  std::pair(middle, Evidence::measured), std::pair(middle, Evidence::predicted)));
}

TEST_F(StoreTest, FiltersByEveryMember) {
  Store store = open();
  Trial other = sample_trial(1);
  other.key.device.name = "NVIDIA T4";
  other.key.problem = {Precision::fp32, Layout::nn, 1, 2, 3, {}};
  other.key.family = "tiled";
  other.key.evidence = Evidence::predicted;
  store.put({sample_trial(), other}, {});
  std::vector<RowFilter> filters(6);
  filters[0].device = other.key.device;
  filters[1].precision = other.key.problem.precision;
  filters[2].layout = other.key.problem.layout;
  filters[3].problem = other.key.problem;
  filters[4].evidence = other.key.evidence;
  filters[5].family = other.key.family;
  for (const RowFilter& filter : filters) {
    const auto found = store.trials(filter);
    ASSERT_EQ(found.size(), 1U);
    expect_equal(found[0], other);
  }
  filters[0].family = "simt";
  EXPECT_TRUE(store.trials(filters[0]).empty());
}

TEST_F(StoreTest, PrunesByRuleWithWinnersAndBinaries) {
  Store store = open();
  Trial failed = sample_trial(1);
  failed.outcome = Outcome::compile_failed;
  Trial stale = sample_trial(2);
  stale.key.source_hash = "stale";
  store.put({sample_trial(), failed, stale, predicted(sample_trial(3))},
            {sample_binary(0), sample_binary(2), sample_binary(9)});
  store.put_winner(stale.key, "", 1);
  PruneRules rules;
  rules.failed = rules.predicted = rules.stale_sources = true;
  rules.live_sources = {sample_trial().key.source_hash};
  EXPECT_EQ(Store::open(path_, OpenMode::read_only).count_prunable(rules).trials, 3);
  const PruneReport report = store.prune(rules);
  EXPECT_EQ(report.trials, 3);
  EXPECT_EQ(report.winners, 1);
  EXPECT_EQ(report.binaries, 2);
  ASSERT_EQ(store.trials().size(), 1U);
  EXPECT_TRUE(store.find_binary(sample_binary(0).hash));
  EXPECT_EQ(run_raw(path_, "SELECT count(*) FROM compiled"), "1|\n");
  EXPECT_TRUE(store.check().faults.empty());
}

TEST_F(StoreTest, ExportsACompleteCopyOnce) {
  Store store = open();
  const Binary binary = sample_binary();
  store.put(sample_trial(), &binary);
  const std::string target = directory_ / "copy.db";
  store.export_to(target);
  EXPECT_THROW(store.export_to(target), DatabaseError);
  Store copy = Store::open(target, OpenMode::read_only);
  expect_equal(*copy.find(sample_trial().key), sample_trial());
  expect_equal(*copy.find_binary(binary.hash), binary);
  EXPECT_EQ(std::filesystem::status(target).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(StoreTest, OfAKernelsManyTimesTheLatestAreServed) {
  Store store = open();
  const Binary binary = sample_binary();
  std::vector<Trial> trials;
  for (int i = 0; i < 600; ++i) {
    trials.push_back(sample_trial());
    trials.back().key.problem.m = 8 * (1 + i * 7 % 600);  // The order is another than that of storing.
    trials.back().timing.median_us = i + 1;
    if (i == 590) trials.back().outcome = Outcome::wrong_result;
  }
  store.put(trials, {binary});
  store.put_winner(trials.front().key, "", 1);
  const ServedDecisions served = store.served(trials.front().key.device);
  ASSERT_EQ(served.times.size(), 512U);
  std::vector<double> times;
  for (const ServedTime& time : served.times) times.push_back(time.median_us);
  EXPECT_EQ(*std::min_element(times.begin(), times.end()), 600 - 512);
  EXPECT_THAT(times, ::testing::Not(::testing::Contains(591)));
}

TEST_F(StoreTest, ChecksAndCounts) {
  Store store = open();
  const Binary binary = sample_binary();
  store.put(sample_trial(), &binary);
  store.put_winner(sample_trial().key, "", 1);
  const CheckReport report = store.check();
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(report.trials, 1);
  EXPECT_EQ(report.binaries, 1);
  EXPECT_EQ(report.winners, 1);
}

}  // namespace
}  // namespace mmtune::test
