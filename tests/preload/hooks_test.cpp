// What the functions of cuBLAS do that the stand-in has.
#include "tests/preload/hooks.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "preload/stand_in.h"

namespace mmtune {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the fixture and its numbers

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Hooks, ATunedProductIsServedOnTheStreamOfTheHandle) {
  int stream = 0;
  cublasSetStream_v2(handle_, &stream);
  const Gemm call{.m = kM,
                  .n = kN,
                  .k = kK,
                  .alpha = 2,
                  .a = a_.data(),
                  .lda = kM,
                  .b = b_.data(),
                  .ldb = kK,
                  .beta = -1,
                  .ldc = kM,
                  .order = Order::column_major};
  const auto wanted = test::expected(call, c_);
  expect_served("cublasSgemm_v2", sgemm());
  EXPECT_EQ(c_, wanted);
  EXPECT_EQ(test::fake_cuda().last_stream, &stream);
}

TEST_F(Hooks, WhileItPausesAllIsLeftToCublas) {
  mmtune_cublas_pause(1);
  expect_passed("cublasSgemm_v2", sgemm());
  mmtune_cublas_pause(0);
  expect_served("cublasSgemm_v2", sgemm());
}

TEST_F(Hooks, LinesPaddedToALargerAlignmentAreNotWhatWasTuned) {
  const auto product = [&](int lda) {
    return cublasSgemm_v2(handle_, kOpN, kOpN, kM, kN, kK, &alpha_, a_.data(), lda, b_.data(), kK, &beta_, c_.data(),
                          kM);
  };
  expect_served("cublasSgemm_v2", product(kM + 2));
  expect_passed("cublasSgemm_v2", product(8));
}

TEST_F(Hooks, EveryFunctionIsServed) {
  const float* a = a_.data();
  float* c = c_.data();
  const double* a64 = a64_.data();
  double* c64 = c64_.data();
  const auto each = [&](const char* name, auto function, auto... args) {
    expect_served(name, function(handle_, kOpN, kOpN, kM, kN, kK, args...));
  };
  each("cublasSgemm_v2", cublasSgemm_v2, &alpha_, a, kM, a, kK, &beta_, c, kM);
  each("cublasSgemm_v2_64", cublasSgemm_v2_64, &alpha_, a, kM, a, kK, &beta_, c, kM);
  each("cublasDgemm_v2", cublasDgemm_v2, &alpha64_, a64, kM, a64, kK, &beta64_, c64, kM);
  each("cublasDgemm_v2_64", cublasDgemm_v2_64, &alpha64_, a64, kM, a64, kK, &beta64_, c64, kM);
  each("cublasGemmEx", cublasGemmEx, &alpha_, a, kR16BF, kM, a, kR16BF, kK, &beta_, c, kR16BF, kM, kCompute32F, -1);
  each("cublasGemmEx_64", cublasGemmEx_64, &alpha_, a, kR32F, kM, a, kR32F, kK, &beta_, c, kR32F, kM, kCompute32F, 99);
  each("cublasSgemmStridedBatched", cublasSgemmStridedBatched, &alpha_, a, kM, 0LL, a, kK, 0LL, &beta_, c, kM, 20LL, 1);
  each("cublasSgemmStridedBatched_64", cublasSgemmStridedBatched_64, &alpha_, a, kM, 0LL, a, kK, 0LL, &beta_, c, kM,
       20LL, 1);
  each("cublasDgemmStridedBatched", cublasDgemmStridedBatched, &alpha64_, a64, kM, 0LL, a64, kK, 0LL, &beta64_, c64, kM,
       20LL, 1);
  each("cublasDgemmStridedBatched_64", cublasDgemmStridedBatched_64, &alpha64_, a64, kM, 0LL, a64, kK, 0LL, &beta64_,
       c64, kM, 20LL, 1);
  each("cublasGemmStridedBatchedEx", cublasGemmStridedBatchedEx, &alpha_, a, kR32F, kM, 0LL, a, kR32F, kK, 0LL, &beta_,
       c, kR32F, kM, 20LL, 1, kCompute32F, -1);
  each("cublasGemmStridedBatchedEx_64", cublasGemmStridedBatchedEx_64, &alpha64_, a64, kR64F, kM, 0LL, a64, kR64F, kK,
       0LL, &beta64_, c64, kR64F, kM, 20LL, 1, kCompute64F, -1);
}

TEST_F(Hooks, WhatIsNotTunedOrNotFasterIsPassedOn) {
  expect_passed("cublasSgemm_v2", sgemm(kOpN, kM + 1));
  expect_passed("cublasSgemm_v2", sgemm(kOpT));  // cuBLAS was measured to be faster.
  expect_passed("cublasSgemmStridedBatched",
                cublasSgemmStridedBatched(handle_, kOpN, kOpN, kM, kN, kK, &alpha_, a_.data(), kM, 15, b_.data(), kK,
                                          12, &beta_, c_.data(), kM, 20, kBatch));  // whose product was not compared
}

TEST_F(Hooks, CallsAreCountedForWhoAsks) {
  long long served[2], passed[2];
  const float zero = 0;
  mmtune_cublas_counts(&served[0], &passed[0]);
  sgemm();
  sgemm(kOpN, kM + 1);
  sgemm(kOpN, kM, &zero);
  mmtune_cublas_counts(&served[1], &passed[1]);
  EXPECT_EQ(served[1] - served[0], 1);
  EXPECT_EQ(passed[1] - passed[0], 2);
}

TEST_F(Hooks, WhatMmtuneDoesNotDoIsPassedOn) {
  const float zero = 0;
  expect_passed("cublasSgemm_v2", sgemm(kOpN, 0));
  expect_passed("cublasSgemm_v2", sgemm(kOpN, kM, &zero));
  cublasSetPointerMode_v2(handle_, 1);
  expect_passed("cublasSgemm_v2", sgemm());
  cublasSetPointerMode_v2(handle_, 0);
  for (const int math : {kTensorOpMath, kPedanticMath, kEmulatedFp32Math}) {
    cublasSetMathMode(handle_, math);
    expect_passed("cublasSgemm_v2", sgemm());
  }
  cublasSetMathMode(handle_, kDefaultMath);
  const auto ex = [&](int type, int compute) {
    return cublasGemmEx(handle_, kOpN, kOpN, kM, kN, kK, &alpha_, a_.data(), type, kM, b_.data(), type, kK, &beta_,
                        c_.data(), type, kM, compute, -1);
  };
  for (const int compute : {64, 69, 74, 75, 78}) expect_passed("cublasGemmEx", ex(kR32F, compute));
  expect_passed("cublasGemmEx", ex(4, kCompute32F));  // complex
}

TEST_F(Hooks, Tf32RunsOnlyWhereTheCallAllowsIt) {
  const double before = test::fake_cuda().busy_us;
  expect_served("cublasSgemm_v2", sgemm());
  EXPECT_EQ(test::fake_cuda().busy_us - before, 1) << "fp32";
  cublasSetMathMode(handle_, kTf32Math);
  expect_served("cublasSgemm_v2", sgemm());
  EXPECT_EQ(test::fake_cuda().busy_us - before, 8) << "tf32";
}

TEST_F(Hooks, WhatCublasCallsByItsOwnNamesIsItsOwnAffair) {
  const float* a = a_.data();
  expect_passed("cublasGemmEx", cublasGemmEx(handle_, kOpN, kOpN, 9, 9, 9, &alpha_, a, kR32F, 9, a, kR32F, 9, &beta_,
                                             c_.data(), kR32F, 9, kCompute32F, -1));
}

TEST_F(Hooks, WithoutAHandleCublasSaysSo) {
  expect_passed("cublasSgemm_v2", cublasSgemm_v2(nullptr, kOpN, kOpN, kM, kN, kK, &alpha_, a_.data(), kM, b_.data(), kK,
                                                 &beta_, c_.data(), kM));
}

TEST_F(Hooks, ALeadingDimensionOf0IsForCublasToRefuse) {
  std::vector<float> matrix(kSize * kSize);
  const auto multiply = [&](int lda, int ldb, int ldc) {
    return cublasSgemm_v2(handle_, kOpN, kOpN, kSize, kSize, kSize, &alpha_, matrix.data(), lda, matrix.data(), ldb,
                          &beta_, matrix.data(), ldc);
  };
  expect_served("cublasSgemm_v2", multiply(kSize, kSize, kSize), 2);
  expect_passed("cublasSgemm_v2", multiply(0, kSize, kSize));
  expect_passed("cublasSgemm_v2", multiply(kSize, 0, kSize));
  expect_passed("cublasSgemm_v2", multiply(kSize, kSize, 0));
}

TEST_F(Hooks, ACaptureRunsOnlyWhatIsLoaded) {
  const auto dgemm = [&](int m) {
    return cublasDgemm_v2(handle_, kOpN, kOpT, m, kN, kK, &alpha64_, a64_.data(), m, b64_.data(), kN, &beta64_,
                          c64_.data(), m);
  };
  world_->offer(world_->database(), {packed_problem(Precision::fp64, Layout::tn, kN, kM, kK), "naive", "", 1});
  expect_served("cublasSgemm_v2", sgemm());  // loads its kernel, whatever ran in this process before
  test::fake_cuda().is_capturing = true;
  expect_passed("cublasDgemm_v2", dgemm(kM));
  expect_served("cublasSgemm_v2", sgemm());
}

TEST_F(Hooks, ACaptureHasAWorkspaceOfItsOwn) {
  const std::vector<float> factor(kSize * kSize);
  std::vector<float> product(kSize * kSize);
  const auto multiply = [&] {
    return cublasSgemm_v2(handle_, kOpN, kOpN, kSize, kSize, kSize, &alpha_, factor.data(), kSize, factor.data(), kSize,
                          &beta_, product.data(), kSize);
  };
  test::FakeCuda& gpu = test::fake_cuda();
  expect_served("cublasSgemm_v2", multiply(), 2);
  EXPECT_EQ(gpu.graph_allocations, 0);
  gpu.is_capturing = true;
  expect_served("cublasSgemm_v2", multiply(), 2);
  EXPECT_EQ(gpu.graph_allocations, 1);
  EXPECT_EQ(gpu.graph_memories, 0) << "the graph frees it";
}

TEST_F(Hooks, WorkspacesOfHandlesAreThoseOfTheLastCall) {
  int memory = 0, other = 0;
  EXPECT_EQ(workspace_of(handle_).address, nullptr);
  cublasSetWorkspace_v2(handle_, &memory, 4);
  EXPECT_EQ(workspace_of(handle_).address, &memory);
  cublasSetWorkspace_v2(handle_, &other, 8);
  EXPECT_EQ(workspace_of(handle_).bytes, 8u);
  cublasSetStream_v2(handle_, nullptr);
  EXPECT_EQ(workspace_of(handle_).address, nullptr) << "cuBLAS forgets it, too";
}

TEST_F(Hooks, AChildOfAProcessThatMultipliedLeavesAllToCublas) {
  expect_served("cublasSgemm_v2", sgemm());
  const pid_t child = fork();
  if (child == 0) {
    const bool passed = sgemm() == kSuccess && fake_cublas_calls("cublasSgemm_v2") == 1 && launches() == 0;
    _exit(passed ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Hooks, BatchesAreServedWhereTheirProductIsFaster) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  expect_served("cublasDgemmStridedBatched",
                cublasDgemmStridedBatched(handle_, kOpN, kOpN, kM, kN, kK, &alpha64_, a64_.data(), kM, 15, b64_.data(),
                                          kK, 12, &beta64_, c64_.data(), kM, 20, kBatch));
}

TEST_F(Hooks, WhatWasServedAndPassedIsWritten) {
  const test::ScopedEnv record("MMTUNE_RECORD", world_->file("calls.csv").c_str());
  const test::ScopedEnv report("MMTUNE_CUBLAS_REPORT", world_->file("report.csv").c_str());
  StandIn stand_in;
  const int ld = kM + 2;
  Gemm call{.m = kM,
            .n = kN,
            .k = kK,
            .a = a_.data(),
            .lda = ld,
            .b = b_.data(),
            .ldb = kK,
            .c = c_.data(),
            .ldc = ld,
            .order = Order::column_major};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(stand_in.serve(call, nullptr, {}));
  call.m = kM + 1;
  EXPECT_FALSE(stand_in.serve(call, nullptr, {}));
  stand_in.pass(Passed::scalars);
  stand_in.write_files();
  const auto lines = [&](const std::string& name) {
    std::ifstream file(world_->file(name));
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  };
  EXPECT_THAT(lines("calls.csv"),
              testing::UnorderedElementsAre("precision,layout,m,n,k,count,seconds", HasSubstr("fp32,nn,4,5,3,3,3e-06"),
                                            HasSubstr("fp32,nn,4,6,3,1,")));
  EXPECT_THAT(lines("report.csv"), ElementsAre("precision,layout,m,n,k,epilogue,reason,calls,products,us,ratio",
                                               "fp32,nn,4,5,3,,,3,3,1,0", HasSubstr("fp32,nn,4,6,3,,not tuned,1,1,"),
                                               ",,,,,,alpha and beta on the device or of another type,1,0,0,0"));
}

}  // namespace
}  // namespace mmtune
