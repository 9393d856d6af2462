// The trials of listed candidates until they are stored, and what is lost of them where the run is killed.
#include "tuner/tune/launches.h"

#include <gtest/gtest.h>

#include "tests/db/samples.h"
#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

class Launches : public FaultsTest {};

TEST_F(Launches, ABatchStoresWhatIsLeftAndAnImageWithTheFirstThatKeepsIt) {
  Store store = Store::open(path("test.db"), OpenMode::read_write);
  const Binary binary = sample_binary();
  Binary dropped = binary;
  dropped.cubin.clear();
  Trial failed = sample_trial(), next = failed;
  failed.outcome = Outcome::wrong_result;
  next.key.problem.m = 200;
  {
    TrialBatch batch(store);
    batch.add(failed, &dropped);
    batch.add(next, &binary);
    EXPECT_EQ(batch.trials().size(), 2U);
    EXPECT_EQ(store.trials().size(), 0U);
  }
  EXPECT_EQ(store.trials().size(), 2U);
  EXPECT_TRUE(store.find_compiled(next.key.source_hash, binary.target));
}

TEST_F(Launches, ARunThatIsKilledHasStoredTheListedCandidatesOfTheSizesBefore) {
  SessionOptions session = listed();
  session.in_order = true;
  session.problems.clear();
  for (const std::int64_t m : {64, 96, 128, 160})
    session.problems.push_back(packed_problem(Precision::fp32, {}, m, 64, 64));
  const std::string faults = "begin_hang@" + to_string(session.problems[2]) + ";samples_log@" + path("begun");
  be_killed(session, faults, [this] { return lines("begun").size() == 3 && trials().size() == 2 * candidates(); });
  run(session, "log@" + path("ran"));
  EXPECT_EQ(lines("ran").size(), 2 * candidates());
  EXPECT_EQ(trials().size(), 4 * candidates());
}

}  // namespace
}  // namespace mmtune::test
