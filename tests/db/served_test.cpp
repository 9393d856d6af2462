// What an application reads of a database, whichever of the two ways reads it: a look-up for each decision where most
// trials are of none, else whole tables.
#include <gmock/gmock.h>

#include <random>
#include <vector>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

template <Record T>
void expect_all_equal(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_equal(a[i], b[i]);
}

void expect_same(const ServedDecisions& a, const ServedDecisions& b) {
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].family, b.kernels[i].family);
    EXPECT_EQ(a.kernels[i].config, b.kernels[i].config);
    EXPECT_EQ(a.kernels[i].source_hash, b.kernels[i].source_hash);
    expect_equal(a.kernels[i].binary, b.kernels[i].binary);
  }
  ASSERT_EQ(a.sizes.size(), b.sizes.size());
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    expect_equal(a.sizes[i].problem, b.sizes[i].problem);
    EXPECT_EQ(a.sizes[i].evidence, b.sizes[i].evidence);
    EXPECT_EQ(a.sizes[i].median_us, b.sizes[i].median_us);
    EXPECT_EQ(a.sizes[i].kernel, b.sizes[i].kernel);
    EXPECT_EQ(a.sizes[i].cublas_ratio, b.sizes[i].cublas_ratio);
  }
  ASSERT_EQ(a.times.size(), b.times.size());
  for (std::size_t i = 0; i < a.times.size(); ++i) {
    expect_equal(a.times[i].problem, b.times[i].problem);
    EXPECT_EQ(a.times[i].median_us, b.times[i].median_us);
    EXPECT_EQ(a.times[i].kernel, b.times[i].kernel);
  }
}

class Served : public StoreTest {
 protected:
  /// A trial of one of some kernels, whose time tells it from others.
  Trial any_trial() {
    const auto draw = [&](unsigned below) { return static_cast<int>(random_() % below); };
    Trial trial = sample_trial(draw(7));
    const int align = 4 << draw(2);
    trial.key.source_hash = fmt::format("{:032x}", draw(5));  // several configurations may have one source
    trial.key.problem = {draw(4) == 0 ? Precision::fp16 : Precision::fp32,
                         Layout::nn,
                         8 + draw(40),
                         8,
                         8 + draw(3),
                         {align, align, align}};
    trial.key.evidence = draw(4) == 0 ? Evidence::predicted : Evidence::measured;
    if (draw(9) == 0) trial.key.device.name = "another GPU";
    if (draw(9) == 0) trial.binary_hash = draw(2) == 0 ? "" : sample_binary(draw(7)).hash;
    trial.outcome = draw(5) == 0 ? Outcome::too_slow : draw(7) == 0 ? Outcome::wrong_result : Outcome::ok;
    trial.timing.median_us = ++time_us_;
    return trial;
  }

  /// Decisions, most of which are served, and hardly more trials.
  void fill(Store& store) {
    const std::vector<Binary> binaries = {sample_binary(0), sample_binary(1), sample_binary(2), sample_binary(3),
                                          sample_binary(4), sample_binary(5), sample_binary(6)};
    for (int i = 0; i < 5; ++i) store.put_compiled(fmt::format("{:032x}", i), binaries[static_cast<std::size_t>(i)]);
    std::vector<Trial> trials;
    for (int i = 0; i < 600; ++i) trials.push_back(any_trial());
    store.put(trials, binaries);
    for (const Trial& trial : store.trials()) {
      if (trial.outcome == Outcome::ok) store.put_winner(trial.key, "", 1);
      if (random_() % 2 == 0) store.put_cublas_ratio(trial.key, 0.5 + static_cast<double>(random_() % 8) / 8);
    }
    // Found to be wrong or slower, measured anew or of other code since.
    std::vector<Trial> later;
    for (Trial trial : store.trials()) {
      const unsigned change = random_() % 16;
      if (change == 0) trial.outcome = Outcome::wrong_result;
      if (change == 1) trial.outcome = Outcome::too_slow;
      if (change == 2) trial.timing.median_us = ++time_us_;
      if (change == 3) trial.binary_hash = sample_binary(6).hash;
      if (change < 4) later.push_back(trial);
    }
    store.put(later, {});
  }

  /// Trials of another GPU, so many that whole tables are not worth reading.
  static void crowd(Store& store) {
    std::vector<Trial> trials;
    for (int i = 0; i < 4000; ++i) {
      trials.push_back(sample_trial());
      trials.back().key.device.name = "a third GPU";
      trials.back().key.problem.m = 8 + i;
    }
    store.put(trials, {});
  }

  std::mt19937 random_{11};
  int time_us_ = 0;
};

TEST_F(Served, IsTheSameWhicheverWayItIsRead) {
  Store store = Store::open_image("", OpenMode::read_write);
  fill(store);
  const DeviceKey device = sample_trial().key.device;
  const ServedDecisions from_tables = store.served(device);
  crowd(store);
  const ServedDecisions by_look_ups = store.served(device);
  EXPECT_GT(from_tables.sizes.size(), 50U);
  EXPECT_GT(from_tables.kernels.size(), 20U);
  EXPECT_GT(from_tables.times.size(), 50U);
  expect_same(from_tables, by_look_ups);
}

TEST_F(Served, ACrowdHidesNoDecision) {
  Store store = Store::open_image("", OpenMode::read_write);
  fill(store);
  crowd(store);
  const DeviceKey device = sample_trial().key.device;
  RowFilter mine;
  mine.device = device;
  std::vector<double> times;
  for (const Winner& winner : store.winners(mine)) times.push_back(winner.trial.timing.median_us);
  std::vector<double> served;
  for (const ServedSize& size : store.served(device).sizes) served.push_back(size.median_us);
  EXPECT_THAT(served, ::testing::UnorderedElementsAreArray(times));
}

TEST_F(Served, ARatioToCublasIsThatOfTheDecidedKernel) {
  Store store = Store::open_image("", OpenMode::read_write);
  Trial other = sample_trial(1);
  other.key.problem = sample_trial().key.problem;
  store.put({sample_trial(), other}, {});
  const auto ratio = [&] { return store.served(other.key.device).sizes.at(0).cublas_ratio; };
  store.put_winner(other.key, "", 1);
  EXPECT_EQ(ratio(), 0);
  EXPECT_FALSE(store.put_cublas_ratio(sample_trial().key, 3)) << "another kernel is decided for";
  EXPECT_TRUE(store.put_cublas_ratio(other.key, 1.25));
  store.put_winner(other.key, "again", 2);
  EXPECT_EQ(ratio(), 1.25);
  store.put_winner(sample_trial().key, "", 1);
  EXPECT_EQ(ratio(), 0);
}

TEST_F(Served, AnUnknownGpuGetsNothing) {
  Store store = Store::open_image("", OpenMode::read_write);
  fill(store);
  DeviceKey other = sample_trial().key.device;
  other.sm_count -= 1;
  EXPECT_TRUE(store.served(other).sizes.empty());
  EXPECT_TRUE(store.served(other).kernels.empty());
}

TEST_F(Served, RowsWithValuesThatNoMmtuneWritesAreLeftOut) {
  std::size_t all = 0;
  {
    Store store = Store::open_image("", OpenMode::read_write);
    fill(store);
    store.export_to(path_);
    all = store.served(sample_trial().key.device).sizes.size();
  }
  run_raw(path_,
          "UPDATE trial SET median_us = -1 WHERE id % 10 = 0; UPDATE trial SET evidence = 7 WHERE id % 10 = 1;"
          "UPDATE problem SET align_a = 3 WHERE id % 10 = 2; UPDATE kernel SET settings = '1' WHERE id = 4");
  Store store = open(OpenMode::read_only);
  const ServedDecisions served = store.served(sample_trial().key.device);
  EXPECT_LT(served.sizes.size(), all);
  EXPECT_GT(served.sizes.size(), all / 3);
  for (const ServedSize& size : served.sizes) {
    EXPECT_GT(size.median_us, 0);
    EXPECT_NE(size.problem.align.a, 3);
  }
}

}  // namespace
}  // namespace mmtune::test
