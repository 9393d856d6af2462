// A search whose times are the model's own.
#include <gtest/gtest.h>

#include "db/store.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

class Predictions : public Cli {};

TEST_F(Predictions, CompileOneWhereItIsAsFastAsExpected) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  const Result tuned = mmtune("tune --device model:h200 --sizes 96,128 --family tiled");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(Store::open(path("default.db"), OpenMode::read_only).trials().size(), 2U) << tuned.err;
}

}  // namespace
}  // namespace mmtune
