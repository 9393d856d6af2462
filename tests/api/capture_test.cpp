// Calls while a stream is captured: nothing is loaded then.
#include <cuda.h>
#include <gmock/gmock.h>

#include <array>

#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

class Capture : public test::ApiTest {
 protected:
  static Gemm call(std::int64_t size, void* memory) {
    return {.m = size, .n = size, .k = size, .a = memory, .b = memory, .c = memory};
  }

  std::vector<float> memory_ = std::vector<float>(100 * 100);
};

TEST_F(Capture, WhatIsNotLoadedIsRefusedBeforeAnythingIsDone) {
  offer(Precision::fp32, Layout::nn);
  Library library = Library::open();
  test::fake_cuda().is_capturing = true;
  const int loaded = test::fake_cuda().loaded_programs, launched = test::fake_cuda().launches;
  try {
    library.enqueue(call(5, memory_.data()), CU_STREAM_PER_THREAD);
    FAIL() << "nothing was loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("prepare()"));
  }
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
  EXPECT_EQ(test::fake_cuda().launches, launched);
}

TEST_F(Capture, OfAnotherStreamOutlivesWhatIsLoadedAndUnloadedMeanwhile) {
  offer(Precision::fp32, Layout::nn);
  int other = 0;
  test::fake_cuda().captured_stream = &other;
  test::fake_cuda().is_capturing = true;
  Library library = Library::open();
  EXPECT_EQ(library.gemm(call(5, memory_.data()), CU_STREAM_PER_THREAD).match, Match::nearest);
}

TEST_F(Capture, OfAnotherStreamLeavesTheDefaultOneNothing) {
  offer(Precision::fp32, Layout::nn);
  Library library = Library::open();
  test::fake_cuda().is_capturing = true;
  EXPECT_THROW(library.enqueue(call(5, memory_.data()), nullptr), DeviceError) << "to try would end the capture";
}

TEST_F(Capture, AKernelThatIsLoadedRunsOtherSizes) {
  offer(Precision::fp32, Layout::nn);
  Library library = Library::open();
  library.enqueue(call(5, memory_.data()), CU_STREAM_PER_THREAD);
  test::fake_cuda().is_capturing = true;
  EXPECT_EQ(library.gemm(call(6, memory_.data()), CU_STREAM_PER_THREAD).match, Match::nearest);
}

TEST_F(Capture, OtherwiseTheFallbackRunsThatPreparingHasLoaded) {
  const auto size = [](std::int64_t extent) {
    return packed_problem(Precision::fp32, Layout::nn, extent, extent, extent);
  };
  offer(Precision::fp32, Layout::nn);
  offer(database(), {size(8), "naive", "MAPPING=0", 1});
  offer(database(), {size(64), "naive", "MAPPING=1", 1});
  Library library = Library::open();
  library.prepare(std::array{call(8, memory_.data())});
  test::fake_cuda().is_capturing = true;
  const Answer answer = library.gemm(call(64, memory_.data()), CU_STREAM_PER_THREAD);
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_THAT(answer.why, HasSubstr("captured"));
  test::fake_cuda().is_capturing = false;
  EXPECT_EQ(library.gemm(call(64, memory_.data()), CU_STREAM_PER_THREAD).match, Match::exact)
      << "the next call does better";
}

}  // namespace
}  // namespace mmtune
