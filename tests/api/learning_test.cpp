// LibraryOptions::learn, on a GPU that says how long kernels take.
#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "runtime/learn/call_race.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kSize = 5;               // a size that is not tuned
constexpr std::int64_t kManyCalls = 2'000'000;  // more than any size needs, however long loading took

Problem fp32(std::int64_t size) { return packed_problem(Precision::fp32, Layout::nn, size, size, size); }

/// Operands of a call, and what it must leave in C.
class Matrices {
 public:
  Gemm call(std::int64_t size = kSize) {
    return {.m = size,
            .n = size,
            .k = size,
            .a = a_.data(),
            .lda = size,
            .b = b_.data(),
            .ldb = size,
            .c = c_.data(),
            .ldc = size};
  }

  /// Whether C is the product; then it no longer is.
  bool is_right(const Gemm& call) {
    const bool agrees = c_ == test::expected(call, empty_);
    c_ = empty_;
    return agrees;
  }

 private:
  std::vector<float> a_ = test::numbers<float>(1000, 1), b_ = test::numbers<float>(1000, 2),
                     empty_ = std::vector<float>(1000), c_ = empty_;
};

class LearningCalls : public test::ApiTest {
 protected:
  void TearDown() override {
    test::FakeCuda& fake = test::fake_cuda();
    EXPECT_EQ(fake.events, 0) << "left by a library that was closed";
    fake.is_behind = false;
    fake.reused_handles = 0;
    fake.noise = fake.launch_fails_us = 0;
  }

  /// Two kernels for sizes that were not tuned. Of those around kSize the first is expected to be the faster one.
  void offer_two(double first_us, double second_us) const {
    offer(database(), {fp32(8), "naive", "UNROLL=4", 10}, first_us);
    offer(database(), {fp32(64), "naive", "UNROLL=2", 20}, second_us);
  }

  static Library open() { return Library::open({.learn = true}); }

  static bool has_learnt(const Library& library, const Gemm& call) {
    return library.plan(call).why.find("learnt from calls") != std::string::npos;
  }

  /// Calls until the size has learnt. Each must be right.
  int call_until_learnt(Library& library, void* stream = nullptr) {
    Gemm call = operands_.call();
    for (int calls = 0; calls < kManyCalls; ++calls) {
      if (calls % 64 == 0 && has_learnt(library, call)) return calls;
      library.enqueue(call, stream);
      if (calls % 8 == 0 && !operands_.is_right(call)) ADD_FAILURE() << "call " << calls;
    }
    ADD_FAILURE() << "the size has learnt nothing";
    return 0;
  }

  Matrices operands_;
};

TEST_F(LearningCalls, FindTheFasterKernelThoughItIsExpectedToBeTheSlowerOne) {
  offer_two(100, 60);
  test::fake_cuda().noise = 0.1;
  Library library = open();
  const Gemm call = operands_.call();
  EXPECT_EQ(library.plan(call).config, library.gemm(call, nullptr).config);
  EXPECT_THAT(library.plan(call).config, HasSubstr("UNROLL=4"));
  call_until_learnt(library);
  for (const Answer& answer : {library.plan(call), library.gemm(call, nullptr)}) {
    EXPECT_THAT(answer.config, HasSubstr("UNROLL=2"));
    EXPECT_THAT(answer.why, StartsWith("learnt from calls: 1."));
    EXPECT_THAT(answer.why, HasSubstr("UNROLL=4"));
    EXPECT_NEAR(answer.expected_us, 63, 3);
    EXPECT_TRUE(answer.measured);
  }
  const int recorded = test::fake_cuda().recorded_events;
  for (int i = 0; i < 5000; ++i) library.enqueue(call, nullptr);
  EXPECT_EQ(test::fake_cuda().recorded_events, recorded) << "what was learnt stays";
  EXPECT_THAT(library.plan(call).config, HasSubstr("UNROLL=2"));
}

TEST_F(LearningCalls, KeepTheKernelThatIsTheFastest) {
  offer_two(60, 100);
  Library library = open();
  call_until_learnt(library);
  const Answer answer = library.gemm(operands_.call(), nullptr);
  EXPECT_THAT(answer.config, HasSubstr("UNROLL=4"));
  EXPECT_EQ(answer.match, Match::nearest);
  EXPECT_THAT(answer.why, HasSubstr("learnt from calls: none of 1 other kernels is clearly faster"));
}

TEST_F(LearningCalls, TakeAtMostTheirShareWhereOtherKernelsAreTenTimesSlower) {
  offer_two(100, 1000);
  Library library = open();
  const Gemm call = operands_.call();
  const double before = test::fake_cuda().busy_us;
  double most_us = 0;
  for (int calls = 1; calls < kManyCalls; ++calls) {
    library.enqueue(call, nullptr);
    const double decided_us = 100.0 * calls;
    const double extra_us = test::fake_cuda().busy_us - before - decided_us;
    ASSERT_LE(extra_us, CallRace::kShare * decided_us) << "call " << calls;
    most_us = std::max(most_us, extra_us);
    if (calls % 64 == 0 && has_learnt(library, call)) break;
  }
  EXPECT_TRUE(has_learnt(library, call));
  EXPECT_NEAR(most_us, 3 * 900, 1) << "tried three times";
  EXPECT_THAT(library.plan(call).config, HasSubstr("UNROLL=4"));
}

TEST_F(LearningCalls, AreNotAskedForUnlessOneSaysSo) {
  offer_two(100, 60);
  Library library = Library::open();
  const int loaded = test::fake_cuda().loaded_programs, recorded = test::fake_cuda().recorded_events;
  const Gemm call = operands_.call();
  for (int i = 0; i < 5'000; ++i) library.enqueue(call, nullptr);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded + 1);
  EXPECT_EQ(test::fake_cuda().recorded_events, recorded);
  EXPECT_EQ(test::fake_cuda().events, 0);
}

TEST_F(LearningCalls, LeaveATunedSizeAlone) {
  offer_two(100, 60);
  Library library = open();
  const Gemm call = operands_.call(8);
  const int loaded = test::fake_cuda().loaded_programs, recorded = test::fake_cuda().recorded_events;
  for (int i = 0; i < 5'000; ++i) library.enqueue(call, nullptr);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded + 1);
  EXPECT_EQ(test::fake_cuda().recorded_events, recorded);
  EXPECT_EQ(library.plan(call).match, Match::exact);
}

TEST_F(LearningCalls, DoNothingWhileTheStreamIsCaptured) {
  offer_two(100, 60);
  Library library = open();
  const Gemm call = operands_.call();
  library.prepare(std::array{call});
  EXPECT_GT(test::fake_cuda().events, 0) << "made before a capture needs them";
  test::fake_cuda().is_capturing = true;
  const double before = test::fake_cuda().busy_us;
  const int recorded = test::fake_cuda().recorded_events, loaded = test::fake_cuda().loaded_programs;
  for (int i = 0; i < 5'000; ++i) library.enqueue(call, CU_STREAM_PER_THREAD);
  EXPECT_EQ(test::fake_cuda().recorded_events, recorded);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
  EXPECT_NEAR(test::fake_cuda().busy_us - before, 5'000 * 100, 1) << "no other kernel ran";
  test::fake_cuda().is_capturing = false;
  call_until_learnt(library);
  test::fake_cuda().is_capturing = true;
  EXPECT_THAT(library.gemm(call, CU_STREAM_PER_THREAD).config, HasSubstr("UNROLL=2"))
      << "a capture gets what was learnt before";
}

TEST_F(LearningCalls, DoNotBreakTheCaptureOfAnotherStream) {
  offer_two(100, 60);
  Library library = open();
  int captured = 0;
  test::fake_cuda().captured_stream = &captured;
  library.prepare(std::array{operands_.call()});
  test::fake_cuda().is_capturing = true;
  call_until_learnt(library, CU_STREAM_PER_THREAD);
}

TEST_F(LearningCalls, NeverWaitForAGpuThatIsBehind) {
  offer_two(100, 60);
  Library library = open();
  const Gemm call = operands_.call();
  test::fake_cuda().is_behind = true;
  const int recorded = test::fake_cuda().recorded_events;
  for (int i = 0; i < 10'000; ++i) library.enqueue(call, nullptr);
  EXPECT_EQ(test::fake_cuda().recorded_events, recorded + 2) << "one call is timed at a time";
  test::fake_cuda().is_behind = false;
  call_until_learnt(library);
  EXPECT_THAT(library.plan(call).config, HasSubstr("UNROLL=2"));
}

TEST_F(LearningCalls, AreRightWhereAnotherKernelCannotBeLaunched) {
  offer_two(100, 60);
  test::fake_cuda().launch_fails_us = 60;
  Library library = open();
  call_until_learnt(library);
  EXPECT_THAT(library.gemm(operands_.call(), nullptr).config, HasSubstr("UNROLL=4"));
}

TEST_F(LearningCalls, ChangeNothingForBatchesAndOthersThatDoNotLearn) {
  offer_two(100, 60);
  Library library = open();
  call_until_learnt(library);
  Gemm call = operands_.call();
  call.batch = 2;
  call.stride_c = 200;
  EXPECT_THAT(library.plan(call).config, HasSubstr("UNROLL=4"));
  EXPECT_THAT(library.gemm(call, nullptr).config, HasSubstr("UNROLL=4"));
  call = operands_.call();
  call.alpha = 0;
  EXPECT_THAT(library.gemm(call, nullptr).config, HasSubstr("UNROLL=4"));
  alignas(256) char workspace[256];
  call = operands_.call();
  call.workspace = workspace;
  call.workspace_bytes = sizeof(workspace);
  EXPECT_THAT(library.gemm(call, nullptr).config, HasSubstr("UNROLL=4"));
}

TEST_F(LearningCalls, OfManySizesLearnSideBySide) {
  offer_two(100, 60);
  Library library = open();
  test::fake_cuda().is_behind = true;  // More calls are then timed at once than there are events.
  std::vector<Gemm> calls;
  for (std::int64_t k = 1; k <= 24; ++k) {
    calls.push_back(operands_.call(4));
    calls.back().k = k;
    calls.back().lda = 32;
  }
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      for (const Gemm& call : calls) library.enqueue(call, nullptr);
    }
  };
  run(1000);
  test::fake_cuda().is_behind = false;
  const auto all_learnt = [&] {
    return std::all_of(calls.begin(), calls.end(), [&](const Gemm& call) { return has_learnt(library, call); });
  };
  for (int i = 0; i < 1000 && !all_learnt(); ++i) run(100);
  EXPECT_TRUE(all_learnt());
}

TEST_F(LearningCalls, OfManyThreadsAndStreamsAreRight) {
  offer_two(100, 30);
  Library library = open();
  constexpr int kThreads = 4;
  std::array<Matrices, kThreads> operands;
  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Gemm call = operands.at(thread).call();
      for (int i = 0; i < kManyCalls; ++i) {
        if (i % 256 == 0 && has_learnt(library, call)) break;
        library.enqueue(call, &operands.at(thread % 2));
        if (i % 16 != 0) continue;
        if (!operands.at(thread).is_right(call)) ++wrong.at(thread);
        // A thread that sleeps between two events times all that others run meanwhile: they let it go on soon.
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, kThreads>{}));
  // On a busy machine times of four threads may leave the order open; those of one do not.
  const Gemm call = operands_.call();
  for (int i = 0; i < kManyCalls && !has_learnt(library, call); ++i) library.enqueue(call, &operands_);
  EXPECT_TRUE(has_learnt(library, call));
}

/// The second kernel needs a workspace.
class LearningWorkspaces : public LearningCalls {
 protected:
  void SetUp() override {
    offer_program(database(), {fp32(64), "simt", "", 10}, std::string(test::kIdleProgram) + "100");
    offer_program(database(), {fp32(256), "simt", "PACK=1 LOAD=1", 5}, std::string(test::kIdleProgram) + "30");
  }

  Gemm call() { return {.m = 80, .n = 80, .k = 80, .a = memory_.data(), .b = memory_.data(), .c = memory_.data()}; }

  std::vector<float> memory_ = std::vector<float>(6400);
};

TEST_F(LearningWorkspaces, AreAllocatedByTheFirstCall) {
  Library library = open();
  int stream = 0, other = 0;
  EXPECT_EQ(library.workspace_bytes(call()), 0u);
  library.enqueue(call(), &stream);
  const int allocations = test::fake_cuda().allocations;
  for (int i = 0; i < kManyCalls && !has_learnt(library, call()); ++i) library.enqueue(call(), &stream);
  EXPECT_THAT(library.gemm(call(), &stream).config, HasSubstr("PACK=1"));
  EXPECT_EQ(test::fake_cuda().allocations, allocations);
  EXPECT_EQ(library.workspace_bytes(call()), 0u) << "who brings a workspace gets what was decided";

  test::fake_cuda().is_capturing = true;
  for (void* captured : {&stream, &other}) {
    EXPECT_THAT(library.gemm(call(), captured).config, HasSubstr("PACK=1")) << "graphs get workspaces of their own";
  }
  EXPECT_EQ(test::fake_cuda().allocations, allocations + 2);
}

TEST_F(LearningWorkspaces, AreNotThoseOfADestroyedStreamWithTheSameHandle) {
  Library library = open();
  int stream = 0;
  for (int i = 0; i < kManyCalls && !has_learnt(library, call()); ++i) library.enqueue(call(), &stream);
  const int allocations = test::fake_cuda().allocations;
  library.enqueue(call(), &stream);
  EXPECT_EQ(test::fake_cuda().allocations, allocations);
  test::fake_cuda().reused_handles = 1;
  for (int i = 0; i < 2; ++i) library.enqueue(call(), &stream);
  EXPECT_EQ(test::fake_cuda().allocations, allocations + 1) << "work of the stream before may still use its own";
}

TEST_F(LearningWorkspaces, AreAllocatedByPreparing) {
  Library library = open();
  int stream = 0;
  library.prepare(std::array{call()}, &stream);
  const int allocations = test::fake_cuda().allocations;
  EXPECT_GT(allocations, 0);
  for (int i = 0; i < kManyCalls && !has_learnt(library, call()); ++i) library.enqueue(call(), &stream);
  EXPECT_EQ(test::fake_cuda().allocations, allocations);
}

}  // namespace
}  // namespace mmtune
