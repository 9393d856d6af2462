// How much of a disk a tuned size takes.
#include <random>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

class DatabaseSize : public StoreTest {
 protected:
  std::string hash() { return fmt::format("{:016x}{:016x}", random_(), random_()); }
  double number(double most) { return std::uniform_real_distribution<double>(0, most)(random_); }
  int draw(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  /// A trial as the search of one size leaves it, with texts and numbers as long as real ones.
  Trial measured_trial(int size) {
    Trial trial = sample_trial();
    trial.key.problem = {Precision::fp32, Layout::nn, 384 * size, 384 * size, 384 * size, {16, 16, 16}};
    trial.key.config = fmt::format(
        "BM={} BN={} BK={} TM=8 TN=8 LANES_N=4 LOAD={} STAGES={} UNROLL=16 ORDER={} GROUP=8 MIN_BLOCKS={} PACK=0"
        " SPLIT={} REDUCE=0 STREAM=0",
        32 << draw(4), 32 << draw(4), 8 << draw(3), draw(4), 2 + draw(3), draw(3), 1 + draw(4), 1 + draw(16));
    trial.key.source_hash = hash();
    trial.note = "";
    trial.binary_hash = hash();
    const double us = 20'000 + number(100);
    trial.timing = {
        us, us - number(1), us + number(1), us - 1 - number(1), 31, 7, 1980, 0, 0, {"graph", 2619, 0, 1980, 700}};
    trial.error_share = number(0.1);
    trial.occupancy = 0.1875;
    trial.created = "2031-04-05T06:07:08Z";
    return trial;
  }

  std::mt19937_64 random_{5};
};

/// One of these programs, as that of a candidate of another size.
void run_again(const std::vector<Trial>& trials, Trial& trial) {
  const Trial& other = trials[trials.size() / 2];
  trial.key.config = other.key.config;
  trial.key.source_hash = other.key.source_hash;
  trial.binary_hash = other.binary_hash;
}

// A whole search tries about 171 candidates (bench/results/nvidia-h200/database_size.csv), nine programs for ten of
// them (whole_run.txt there).
TEST_F(DatabaseSize, OfATrialAndWhatItNamesIsAtMost270Bytes) {
  constexpr int kSizes = 16, kCandidates = 171, kNew = 9, kOf = 10;
  constexpr std::uintmax_t kMostBytes = 270;
  Store store = open();
  std::vector<Trial> before;
  for (int size = 1; size <= kSizes; ++size) {
    std::vector<Trial> trials;
    std::vector<Binary> binaries;
    for (int i = 0; i < kCandidates; ++i) {
      trials.push_back(measured_trial(size));
      if (i % kOf >= kNew && !before.empty()) {
        run_again(before, trials.back());
        before.erase(before.begin() + static_cast<std::ptrdiff_t>(before.size() / 2));
        continue;
      }
      Binary facts = sample_binary();
      facts.hash = trials.back().binary_hash;
      facts.cubin.clear();
      facts.compile_ms = 800 + draw(2000);
      binaries.push_back(facts);
    }
    store.put(trials, binaries);
    store.put_winner(trials.front().key, hash(), kCandidates);
    before.insert(before.end(), trials.begin() + 1, trials.end());
  }
  store.prune({.losing_code = true});
  EXPECT_TRUE(store.check().faults.empty());
  EXPECT_EQ(store.trials().size(), std::size_t{kSizes * kCandidates});
  EXPECT_LE(std::filesystem::file_size(path_) / (kSizes * kCandidates), kMostBytes);
}

TEST_F(DatabaseSize, ShrinksWhenMostOfItIsFreeAndOnlyThen) {
  Store store = open();
  Binary binary = sample_binary();
  std::string code;
  while (code.size() < 400'000) code += hash();  // half of that compressed
  set_code(binary, code);
  store.put_compiled("source", binary);
  const auto before = std::filesystem::file_size(path_);
  store.shrink();
  EXPECT_EQ(std::filesystem::file_size(path_), before);
  run_raw(path_, "UPDATE binary SET cubin = NULL");
  store.shrink();
  EXPECT_LT(std::filesystem::file_size(path_), before / 2);
  EXPECT_TRUE(store.check().faults.empty());
}

}  // namespace
}  // namespace mmtune::test
