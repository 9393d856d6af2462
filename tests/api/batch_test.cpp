// Strided batches: how many launches they are, when their programs are compiled, and what they need. What such programs
// compute is tested in tests/shim and on GPUs.
#include <gmock/gmock.h>
#include <mmtune/blas.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A batch of square products, which nothing computes.
Gemm batch_of(std::int64_t products, std::int64_t size = 64) {
  static std::array<float, 4> memory;
  return {.m = size,
          .n = size,
          .k = size,
          .a = memory.data(),
          .b = memory.data(),
          .c = memory.data(),
          .batch = products,
          .stride_a = size * size,
          .stride_c = size * size};
}

struct Launched {
  int launches = 0;
  unsigned layers = 0;  ///< the layers of blocks of the last launch

  friend bool operator==(const Launched&, const Launched&) = default;
  friend void PrintTo(const Launched& of, std::ostream* out) { *out << of.launches << " by " << of.layers; }
};

Launched launched_by(Library& library, const Gemm& call) {
  const int before = test::fake_cuda().launches;
  library.enqueue(call, CU_STREAM_PER_THREAD);
  return {test::fake_cuda().launches - before, test::fake_cuda().last_layers};
}

class Batches : public test::ApiTestWith<test::NvrtcTest> {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    tuned("naive", "");
  }

  /// Offers a kernel as the one that won the size of batch_of().
  void tuned(std::string_view family, const char* settings, Precision precision = Precision::fp32,
             Layout layout = Layout::nn, std::int64_t size = 64) const {
    offer_program(database(), {packed_problem(precision, layout, size, size, size), std::string(family), settings, 1},
                  "an idle program");
  }
};

TEST_F(Batches, AreALaunchForEachProductUntilTheyArePrepared) {
  Library library = Library::open();
  const Gemm call = batch_of(3);
  EXPECT_EQ(launched_by(library, call), (Launched{3, 1}));
  const Answer before = library.gemm(call, nullptr);
  EXPECT_THAT(before.why, HasSubstr("each product is a launch of its own"));
  EXPECT_THAT(before.why, HasSubstr("prepare()"));
  EXPECT_EQ(library.plan(call).why, before.why);

  library.prepare(std::array{call});
  EXPECT_EQ(launched_by(library, call), (Launched{1, 3}));
  const Answer after = library.gemm(call, nullptr);
  EXPECT_EQ(after.match, Match::exact);
  EXPECT_THAT(after.why, HasSubstr("compiled with batched launches"));
  EXPECT_FALSE(after.measured);
  EXPECT_EQ(library.plan(call).why, after.why);
  EXPECT_EQ(launched_by(library, batch_of(4)), (Launched{1, 4})) << "a batch of similar size";
  EXPECT_EQ(launched_by(library, batch_of(100)), (Launched{1, 100})) << "the same program";
  EXPECT_EQ(launched_by(library, batch_of(1)), (Launched{1, 1}));
  EXPECT_THAT(library.gemm(batch_of(1), nullptr).why, Not(HasSubstr("batch")));
}

TEST_F(Batches, ThatAreLargerThanAGridTakeSeveralLaunches) {
  Library library = Library::open();
  const Gemm call = batch_of(65535 + 465);
  library.prepare(std::array{call});
  EXPECT_EQ(launched_by(library, call), (Launched{2, 465}));
}

TEST_F(Batches, NothingIsLoadedOrAllocatedAfterPreparing) {
  tuned("simt", "BM=32 BN=32 TM=4 TN=4 SPLIT=4", Precision::fp32, Layout::nn, 128);
  Library library = Library::open();
  const Gemm call = batch_of(9, 128);
  library.prepare(std::array{call}, CU_STREAM_PER_THREAD);
  const int loaded = test::fake_cuda().loaded_programs, allocated = test::fake_cuda().allocations;
  test::fake_cuda().is_capturing = true;
  library.enqueue(call, CU_STREAM_PER_THREAD);
  EXPECT_EQ(test::fake_cuda().last_layers, 9u);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
  EXPECT_EQ(test::fake_cuda().allocations, allocated);
}

TEST_F(Batches, WhileAStreamIsCapturedWhatIsLoadedRuns) {
  Library library = Library::open({.compile_missing = true});
  library.prepare(std::array{batch_of(1)});
  test::fake_cuda().is_capturing = true;
  EXPECT_EQ(launched_by(library, batch_of(3)), (Launched{3, 1}));
  test::fake_cuda().is_capturing = false;
  EXPECT_EQ(launched_by(library, batch_of(3)), (Launched{1, 3})) << "the next call compiles";
}

TEST_F(Batches, ACallCompilesIfAllowed) {
  Library library = Library::open({.compile_missing = true});
  EXPECT_THAT(library.plan(batch_of(3)).why, HasSubstr("compiled with batched launches"));
  EXPECT_EQ(launched_by(library, batch_of(3)), (Launched{1, 3}));
  const int loaded = test::fake_cuda().loaded_programs;
  EXPECT_EQ(launched_by(library, batch_of(2)), (Launched{1, 2}));
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
}

TEST_F(Batches, WithoutACompilerAreALaunchForEachProduct) {
  const test::ScopedEnv no_compiler("MMTUNE_NVRTC", "/nowhere/libnvrtc.so");
  Library library = Library::open({.compile_untuned = true});
  library.prepare(std::array{batch_of(3)});
  EXPECT_EQ(launched_by(library, batch_of(3)), (Launched{3, 1}));
  const Answer answer = library.gemm(batch_of(3), nullptr);
  EXPECT_THAT(answer.why, HasSubstr("MMTUNE_NVRTC"));
  EXPECT_EQ(library.plan(batch_of(3)).why, answer.why);
}

TEST_F(Batches, WithoutACompilerManyThreadsPrepareAndRunTheSameOnes) {
  const test::ScopedEnv no_compiler("MMTUNE_NVRTC", "/nowhere/libnvrtc.so");
  Library library = Library::open();
  library.enqueue(batch_of(1), nullptr);
  constexpr int kThreads = 4, kSizes = 500, kProducts = 3;
  const int before = test::fake_cuda().launches;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  const auto start = [&](const auto& what) {
    threads.emplace_back([&failures, what] {
      try {
        for (int size = 1; size <= kSizes; ++size) what(batch_of(kProducts, size));
      } catch (const Error&) {
        ++failures;
      }
    });
  };
  for (int i = 0; i < kThreads; ++i) {
    start([&library](const Gemm& call) { library.prepare(std::array{call}); });
    start([&library](const Gemm& call) { library.enqueue(call, nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(test::fake_cuda().launches - before, kThreads * kSizes * kProducts);
}

TEST_F(Batches, WithAnEpilogueAreOneLaunchToo) {
  Library library = Library::open();
  Gemm call = batch_of(3);
  call.epilogue.activation = Activation::relu;
  library.prepare(std::array{call});
  EXPECT_EQ(launched_by(library, call), (Launched{1, 3}));
  EXPECT_THAT(library.gemm(call, nullptr).why, HasSubstr("compiled with relu and batched launches"));
  Gemm other = batch_of(1, 32);
  other.epilogue = call.epilogue;
  EXPECT_EQ(launched_by(library, other), (Launched{2, 1})) << "other sizes have a second kernel";
}

TEST_F(Batches, EveryProductHasAPartOfTheWorkspace) {
  tuned("skinny", "SIDE=0 FEW=4 SPLIT=4", Precision::fp32, Layout::nt);
  Library library = Library::open();
  Gemm call = batch_of(12);
  call.layout = Layout::nt;
  call.batch = 1;
  const std::size_t alone = library.workspace_bytes(call);
  ASSERT_GT(alone, 0u);
  call.batch = 12;
  library.prepare(std::array{call});
  EXPECT_EQ(library.workspace_bytes(call), 16 * alone) << "as for all batches of up to 16";
  EXPECT_EQ(launched_by(library, call), (Launched{2, 12})) << "products and the sums of their parts";

  std::vector<char> workspace(16 * alone);
  call.workspace = workspace.data() + (256 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 256) % 256;
  call.workspace_bytes = 5 * alone;
  EXPECT_EQ(launched_by(library, call), (Launched{6, 2})) << "five, five and two products at once";
  call.workspace_bytes = alone;
  EXPECT_EQ(launched_by(library, call), (Launched{24, 1}));
  call.workspace_bytes = alone - 1;
  EXPECT_THROW(library.enqueue(call, nullptr), UsageError);
}

TEST_F(Batches, TheLibrarysWorkspaceHasABound) {
  tuned("skinny", "SIDE=0 FEW=4 SPLIT=4", Precision::fp32, Layout::nt);
  Library library = Library::open();
  Gemm call = batch_of(5000);
  call.layout = Layout::nt;
  library.prepare(std::array{call});
  EXPECT_EQ(library.workspace_bytes(call), std::size_t{64} << 20);
  EXPECT_EQ(launched_by(library, call).launches, 2 * 5) << "of 64 KiB for each product";
}

TEST_F(Batches, KernelsWhoseBlocksWaitForEachOtherAreLaunchedForEachProduct) {
  tuned("simt", "STREAM=1", Precision::fp32, Layout::tt);
  Library library = Library::open();
  Gemm call = batch_of(2);
  call.layout = Layout::tt;
  library.prepare(std::array{call});
  EXPECT_EQ(launched_by(library, call), (Launched{4, 1})) << "two of prepare, two of gemm";
  EXPECT_THAT(library.gemm(call, nullptr).why, HasSubstr("its blocks wait for each other"));
}

TEST_F(Batches, KernelsWithTensorMapsAreOneLaunchToo) {
  tuned("wgmma", "", Precision::fp16, Layout::tn);
  Library library = Library::open();
  Gemm call = batch_of(500);
  call.precision = Precision::fp16;
  call.layout = Layout::tn;
  library.prepare(std::array{call});
  EXPECT_EQ(launched_by(library, call), (Launched{1, 500}));
  EXPECT_EQ(library.gemm(call, nullptr).family, "wgmma");
  call.stride_a += 4;
  call.stride_b = 3;
  EXPECT_NE(library.plan(call).family, "wgmma") << "its maps need distances of 16 bytes";
}

TEST_F(Batches, WhereNothingIsTunedThePickIsForAllProducts) {
  Library library = Library::open();
  Gemm call = batch_of(2000);
  call.layout = Layout::tn;
  library.prepare(std::array{call});
  const Answer answer = library.gemm(call, nullptr);
  EXPECT_EQ(answer.match, Match::predicted);
  EXPECT_EQ(launched_by(library, call), (Launched{1, 2000})) << answer.config;
}

TEST_F(Batches, AConfigurationForAProductAloneIsNotCompiledForMany) {
  tuned("simt", "BM=32 BN=32 BK=8 TM=4 TN=4 SPLIT=8", Precision::fp32, Layout::tt);
  Library library = Library::open();
  const auto config_of = [&](std::int64_t products) {
    Gemm call = batch_of(products);
    call.layout = Layout::tt;
    call.lda = 65;  // nothing is tuned for this alignment
    library.prepare(std::array{call});
    return library.gemm(call, nullptr).config;
  };
  EXPECT_THAT(config_of(1), HasSubstr("SPLIT=8"));
  EXPECT_THAT(config_of(2), HasSubstr("SPLIT=8"));
  EXPECT_THAT(config_of(2000), Not(HasSubstr("SPLIT=8")));
}

TEST_F(Batches, OfPointersAreALaunchForEachProduct) {
  Library library = Library::open();
  const Gemm call = batch_of(2);
  library.prepare(std::array{call});
  const std::array<const void*, 2> in{call.a, call.a};
  const std::array<void*, 2> out{call.c, call.c};
  const int before = test::fake_cuda().launches;
  library.enqueue(call, {in, in, out}, nullptr);
  EXPECT_EQ(test::fake_cuda().launches - before, 2);
}

TEST_F(Batches, OfCAndOfBlasAreOneLaunchToo) {
  const Gemm call = batch_of(3);
  mmtune_library* library = nullptr;
  ASSERT_EQ(mmtune_open(nullptr, &library), MMTUNE_OK) << mmtune_last_error();
  mmtune_call same = MMTUNE_CALL_INIT;
  same.m = same.n = same.k = 64;
  same.a = call.a, same.b = call.b, same.c = call.c;
  same.batch = 3, same.stride_a = same.stride_c = 64 * 64;
  ASSERT_EQ(mmtune_prepare(library, &same, 1, nullptr), MMTUNE_OK) << mmtune_last_error();
  int before = test::fake_cuda().launches;
  EXPECT_EQ(mmtune_gemm(library, &same, nullptr), MMTUNE_OK) << mmtune_last_error();
  EXPECT_EQ(test::fake_cuda().launches - before, 1);
  mmtune_close(library);

  mmtuneHandle_t handle = nullptr;
  ASSERT_EQ(mmtuneCreate(&handle), MMTUNE_BLAS_SUCCESS) << mmtune_last_error();
  const float alpha = 1, beta = 0;
  before = test::fake_cuda().launches;
  EXPECT_EQ(mmtuneSgemmStridedBatched(handle, MMTUNE_BLAS_OP_N, MMTUNE_BLAS_OP_N, 64, 64, 64, &alpha,
                                      static_cast<const float*>(call.a), 64, 0, static_cast<const float*>(call.b), 64,
                                      0, &beta, static_cast<float*>(call.c), 64, 64 * 64, 3),
            MMTUNE_BLAS_SUCCESS)
      << mmtune_last_error();
  EXPECT_EQ(test::fake_cuda().launches - before, 1);
  mmtuneDestroy(handle);
}

}  // namespace
}  // namespace mmtune
