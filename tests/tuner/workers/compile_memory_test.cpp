// A source that makes its compiler ask for more and more memory costs that one source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/support.h"
#include "tests/tuner/faults_fixture.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune::test {
namespace {

using testing::AnyOf;

class CompileMemory : public FaultsTest {
 protected:
  /// The bad one comes first, to the one worker that there is.
  void expect_only_the_bad_one_fails(const Source& bad) const {
    CompilePool pool(TemplateFiles::embedded(), options_);
    CompileQueue queue(pool);
    queue.submit(0, bad, target_);
    queue.submit(1, source("TILE=16 UNROLL=2"), target_);
    const auto first = queue.next();
    const auto second = queue.next();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->ticket, 0U);
    EXPECT_THAT(first->outcome, AnyOf(Outcome::compile_failed, Outcome::crashed)) << to_string(first->outcome);
    EXPECT_NE(first->compilation.log, "");
    EXPECT_EQ(second->outcome, Outcome::ok) << second->compilation.log;
  }

  CompilePoolOptions options_{.jobs = 1, .memory_bytes = std::int64_t{1} << 30};
};

TEST_F(CompileMemory, IsBoundedForEachSource) {
  const std::string faults = "compile_memory@" + candidate_text("tiled", "TILE=8 UNROLL=1");
  const ScopedEnv scope("MMTUNE_TEST_FAULTS", faults.c_str());
  expect_only_the_bad_one_fails(source("TILE=8 UNROLL=1"));
}

TEST_F(CompileMemory, IsRefusedToNvrtc) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  Source greedy = source("TILE=8 UNROLL=1");
  greedy.text = "__device__ unsigned char table[1u << 29] = {1};\n";  // NVRTC keeps eight bytes for each
  greedy.hash = "greedy";
  expect_only_the_bad_one_fails(greedy);
}

}  // namespace
}  // namespace mmtune::test
