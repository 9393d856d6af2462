// Rows that no mmtune writes, put there behind the store's back: skipped one by one and reported by check().
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include "db/sqlite.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HostileRowsTest : public StoreTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HostileRowsTest, IsSkippedAndReported) {
  {
    Store store = open();
    store.put({sample_trial(0), sample_trial(1)}, {sample_binary(0), sample_binary(1)});
    store.put_winner(sample_trial(0).key, "search", 1);
  }
  // Types of columns do not bind a program that can write the file.
  run_unbound(path_, GetParam());
  Store store = open();
  EXPECT_FALSE(store.find(sample_trial(0).key));
  const auto trials = store.trials();
  ASSERT_EQ(trials.size(), 1U);
  expect_equal(trials[0], sample_trial(1));
  EXPECT_TRUE(store.winners().empty());
  EXPECT_FALSE(store.check().faults.empty());

  Store clean = Store::open(directory_ / "clean.db", OpenMode::read_write);
  const MergeReport report = clean.merge_from({path_});
  EXPECT_EQ(report.trials_added, 1);
  EXPECT_GE(report.rejected, 1);
  EXPECT_TRUE(clean.check().faults.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Values, HostileRowsTest,
    ::testing::Values(
        "UPDATE trial SET outcome = 77 WHERE id = 1", "UPDATE trial SET outcome = -1 WHERE id = 1",
        "UPDATE trial SET samples = 9223372036854775807 WHERE id = 1",
        "UPDATE trial SET samples = -9223372036854775807 WHERE id = 1",
        "UPDATE trial SET samples = 'many' WHERE id = 1", "UPDATE trial SET deterministic = 2 WHERE id = 1",
        "UPDATE trial SET median_us = 0.0 WHERE id = 1", "UPDATE trial SET median_us = -1.5 WHERE id = 1",
        "UPDATE trial SET median_us = 9e999 WHERE id = 1", "UPDATE trial SET median_us = 0.0 / 0.0 WHERE id = 1",
        "UPDATE trial SET median_us = 'fast' WHERE id = 1", "UPDATE trial SET error_share = 5.0 WHERE id = 1",
        "UPDATE trial SET throttle = 1 WHERE id = 1", "UPDATE trial SET disturbed = samples + 1 WHERE id = 1",
        "INSERT INTO conditions SELECT 9, mode, memory_clock_mhz, -2, clock_limit_mhz, power_limit_w FROM conditions;"
        "UPDATE trial SET conditions_id = 9 WHERE id = 1",
        "INSERT INTO conditions SELECT 9, mode, memory_clock_mhz, co_tenants, -1, power_limit_w FROM conditions;"
        "UPDATE trial SET conditions_id = 9 WHERE id = 1",
        "INSERT INTO conditions SELECT 9, mode, memory_clock_mhz, co_tenants, clock_limit_mhz, 'high' FROM conditions;"
        "UPDATE trial SET conditions_id = 9 WHERE id = 1",
        "UPDATE trial SET occupancy = -0.5 WHERE id = 1", "UPDATE trial SET note = x'00ff' WHERE id = 1",
        "UPDATE trial SET note = NULL WHERE id = 1", "UPDATE trial SET created = '' WHERE id = 1",
        "UPDATE trial SET created = -1 WHERE id = 1", "UPDATE trial SET created = 9223372036854775807 WHERE id = 1",
        "UPDATE trial SET binary_hash = '../../etc' WHERE id = 1", "UPDATE trial SET binary_hash = x'00' WHERE id = 1",
        "UPDATE trial SET binary_hash = lower(hex(binary_hash)) WHERE id = 1",
        "UPDATE kernel SET settings = hex(zeroblob(5000000)) WHERE id = 1",
        "UPDATE kernel SET settings = '1; rm -rf' WHERE id = 1", "UPDATE kernel SET settings = '128' WHERE id = 1",
        "UPDATE kernel SET settings = '128 1 1' WHERE id = 1", "UPDATE kernel SET settings = '128  1' WHERE id = 1",
        "UPDATE kernel SET settings = '128 99999999999999999999' WHERE id = 1",
        "UPDATE kernel SET settings = '128 1' WHERE id = 1", "UPDATE kernel SET settings = x'8001' WHERE id = 1",
        "UPDATE kernel SET settings = x'0181' WHERE id = 1",
        "UPDATE kernel SET settings = x'01ffffffffff7f' WHERE id = 1", "UPDATE kernel SET family_id = 9 WHERE id = 1",
        "UPDATE trial SET kernel_id = 9 WHERE id = 1",
        "INSERT INTO family VALUES (9, '#include \"/etc/shadow\"', 'BM BN');"
        "UPDATE kernel SET family_id = 9 WHERE id = 1",
        "INSERT INTO family VALUES (9, 'simt', 'BM BM'); UPDATE kernel SET family_id = 9 WHERE id = 1",
        "INSERT INTO family VALUES (9, 'simt', 'BM;BN'); UPDATE kernel SET family_id = 9 WHERE id = 1",
        "UPDATE kernel SET source_hash = '' WHERE id = 1", "UPDATE trial SET evidence = 9 WHERE id = 1",
        "INSERT INTO problem SELECT 9, 99, layout, m, n, k, 16, 16, 16, invariant FROM problem LIMIT 1;"
        "UPDATE trial SET problem_id = 9 WHERE id = 1",
        "INSERT INTO problem SELECT 9, precision, layout, -5, n, k, 16, 16, 16, invariant FROM problem LIMIT 1;"
        "UPDATE trial SET problem_id = 9 WHERE id = 1",
        "INSERT INTO problem SELECT 9, precision, layout, m, n, k, 3, 16, 16, invariant FROM problem LIMIT 1;"
        "UPDATE trial SET problem_id = 9 WHERE id = 1",
        "INSERT INTO device SELECT 9, name, 90, -1, 0 FROM device LIMIT 1;"
        "UPDATE trial SET device_id = 9 WHERE id = 1",
        "UPDATE trial SET device_id = 1234 WHERE id = 1", "UPDATE trial SET environment_id = 1234 WHERE id = 1",
        "UPDATE trial SET conditions_id = 1234 WHERE id = 1"));

TEST_F(StoreTest, SpoiltBinariesAreNotServed) {
  Store store = open();
  const Binary binary = sample_binary();
  store.put(sample_trial(), &binary);
  run_raw(path_, "UPDATE binary SET registers = -4");
  EXPECT_FALSE(store.find_binary(binary.hash));
  EXPECT_FALSE(store.find_compiled(sample_trial().key.source_hash, "sm_90a"));
  EXPECT_FALSE(store.check().faults.empty());
  store.put(sample_trial(), &binary);
  expect_equal(*store.find_binary(binary.hash), binary);
}

/// What an attempt to read the code of sample_binary(0) finds, and what check() says of it.
void expect_no_code(Store& store) {
  const Binary binary = sample_binary();
  EXPECT_FALSE(store.find_binary(binary.hash));
  EXPECT_FALSE(store.find_compiled(sample_trial().key.source_hash, binary.target));
  const auto faults = store.check().faults;
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.front(), AllOf(HasSubstr("binary " + binary.hash), HasSubstr("not that of its machine code")));
}

TEST_F(StoreTest, MachineCodeThatHasRottedIsAbsentAndReported) {
  Store store = open();
  const Binary binary = sample_binary();
  store.put(sample_trial(), &binary);
  for (const char* rot :
       {"x'00'", "cubin || x'00'", "zeroblob(length(cubin))", "substr(cubin, 1, length(cubin) - 1)"}) {
    run_raw(path_, fmt::format("UPDATE binary SET cubin = CAST({} AS BLOB)", rot));
    expect_no_code(store);
    store.put(sample_trial(), &binary);
    EXPECT_TRUE(store.find_binary(binary.hash)) << "compiled again";
    EXPECT_TRUE(store.check().faults.empty());
  }
}

TEST_F(StoreTest, MachineCodeOfAnotherKernelIsAbsentAndReported) {
  Store store = open();
  store.put({sample_trial(0), sample_trial(1)}, {sample_binary(1), sample_binary(0)});
  const std::string other = sample_binary(1).hash;
  run_raw(path_, fmt::format("UPDATE binary SET cubin = (SELECT b.cubin FROM binary b WHERE b.hash = x'{}')", other));
  EXPECT_TRUE(store.find_binary(other));
  EXPECT_FALSE(store.find_binary(sample_binary(0).hash));
  EXPECT_EQ(store.check().faults.size(), 1U);
}

TEST_F(StoreTest, MachineCodeThatIsNotThatOfItsHashIsNotMerged) {
  {
    Store store = open();
    const Binary binary = sample_binary();
    store.put(sample_trial(), &binary);
  }
  run_raw(path_, "UPDATE binary SET cubin = x'01020304'");
  Store clean = Store::open(directory_ / "clean.db", OpenMode::read_write);
  const MergeReport report = clean.merge_from({path_});
  EXPECT_EQ(report.trials_added, 1);
  EXPECT_GE(report.rejected, 1);
  EXPECT_FALSE(clean.find_binary(sample_binary().hash));
  EXPECT_TRUE(clean.check().faults.empty());
}

TEST_F(StoreTest, MachineCodeThatIsNotThatOfItsHashIsNotStored) {
  Store store = open();
  Binary binary = sample_binary();
  binary.cubin += "more";
  EXPECT_THROW(store.put(sample_trial(), &binary), DatabaseError);
  EXPECT_THROW(store.put_compiled("source", binary), DatabaseError);
}

TEST_F(StoreTest, ADecisionHasTheCodeOfItsSourceWhateverItsTrialNames) {
  Store store = open();
  Trial other = sample_trial(1);
  other.key.source_hash = "other";
  store.put({sample_trial(0), other}, {sample_binary(0), sample_binary(1)});
  store.put_winner(sample_trial(0).key, "search", 1);
  run_raw(path_, fmt::format("UPDATE trial SET binary_hash = x'{}'", sample_binary(1).hash));
  ASSERT_EQ(store.winners().size(), 1U);
  EXPECT_EQ(store.winners()[0].binary.hash, sample_binary(0).hash);
  run_raw(path_, "DELETE FROM compiled");
  EXPECT_EQ(store.winners()[0].binary.hash, "") << "its source is to be compiled again";
}

TEST_F(StoreTest, ASpoiltCompilerSpoilsWhatItCompiled) {
  Store store = open();
  store.put_compiled("source", sample_binary());
  EXPECT_EQ(store.find_compiled("source", "sm_90a")->nvrtc, "13.0");
  run_raw(path_, "UPDATE compiled SET nvrtc = 'a' || char(10) || 'b'");
  EXPECT_FALSE(store.find_compiled("source", "sm_90a"));
}

TEST_F(StoreTest, ASourceIsNotServedTheCodeOfAnotherTarget) {
  Store store = open();
  store.put_compiled("source", sample_binary());
  run_raw(path_, "UPDATE compiled SET target = 'sm_80'");
  EXPECT_FALSE(store.find_compiled("source", "sm_80"));
}

TEST_F(StoreTest, SchemaCannotCallFunctionsOrLoadExtensions) {
  open();
  Database database(path_, OpenMode::read_write);
  EXPECT_THROW(database.exec("SELECT load_extension('x')"), DatabaseError);
  EXPECT_THROW(database.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"), DatabaseError);
}

}  // namespace
}  // namespace mmtune::test
