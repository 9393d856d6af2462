// Compilers that gave no answer, by source.
#include <mmtune/error.h>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

LostCompile sample(double limit_ms, Outcome outcome = Outcome::timed_out) {
  return {"0123abcd", "sm_90a", "13.0", "simt", "BM=128", outcome, 7, limit_ms, ""};
}

TEST_F(StoreTest, LossesOfASourceAreCountedWithTheirLargestLimit) {
  Store store = open();
  EXPECT_FALSE(store.find_lost_compile("0123abcd", "sm_90a", "13.0"));
  store.put_lost_compile(sample(2000));
  store.put_lost_compile(sample(1000, Outcome::crashed));
  const auto lost = store.find_lost_compile("0123abcd", "sm_90a", "13.0");
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->losses, 2);
  EXPECT_EQ(lost->limit_ms, 2000);
  EXPECT_EQ(lost->outcome, Outcome::crashed);
  EXPECT_FALSE(is_worth_another_try(*lost, 2000));
  EXPECT_TRUE(is_worth_another_try(*lost, 2001));
  EXPECT_FALSE(store.find_lost_compile("0123abcd", "sm_90a", "13.1")) << "another compiler may be faster";
  EXPECT_FALSE(store.find_lost_compile("0123abcd", "sm_100", "13.0"));
  EXPECT_EQ(store.lost_compiles().size(), 1U);
}

TEST_F(StoreTest, ALossThatNoMmtuneWritesIsAbsentAndReported) {
  Store store = open();
  EXPECT_THROW(store.put_lost_compile(sample(-1)), DatabaseError);
  store.put_lost_compile(sample(1));
  run_raw(path_, "UPDATE lost_compile SET losses = -1");
  EXPECT_TRUE(store.lost_compiles().empty());
  EXPECT_EQ(store.check().faults.size(), 1U);
}

}  // namespace
}  // namespace mmtune::test
