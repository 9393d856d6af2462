// The stand-in for cuBLAS in this process, in front of a library that only counts and on a driver that pretends.
#include <cuda.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "preload/cublas_abi.h"
#include "preload/stand_in.h"
#include "tests/api/fixture.h"
#include "tests/fake_cublas/fake_cublas.h"
#include "tests/runtime/support.h"

extern "C" {
mmtune::cublas::Plain<int> cublasSgemm_v2, cublasDgemm_v2;
mmtune::cublas::Plain<std::int64_t> cublasSgemm_v2_64, cublasDgemm_v2_64;
mmtune::cublas::GemmEx<int> cublasGemmEx;
mmtune::cublas::GemmEx<std::int64_t> cublasGemmEx_64;
mmtune::cublas::GemmStridedBatched<int> cublasSgemmStridedBatched, cublasDgemmStridedBatched;
mmtune::cublas::GemmStridedBatched<std::int64_t> cublasSgemmStridedBatched_64, cublasDgemmStridedBatched_64;
mmtune::cublas::GemmStridedBatchedEx<int> cublasGemmStridedBatchedEx;
mmtune::cublas::GemmStridedBatchedEx<std::int64_t> cublasGemmStridedBatchedEx_64;
mmtune::cublas::LtMatmul cublasLtMatmul;
void mmtune_cublas_counts(long long* served, long long* passed);
void mmtune_cublas_pause(int pauses);
}

namespace mmtune {
namespace {

using namespace cublas;  // NOLINT(google-build-using-namespace): its numbers

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kM = 5, kN = 4, kK = 3, kBatch = 2;
constexpr int kSize = 64;  // of a product that needs a workspace

/// One database for all: a process has one stand-in, which reads it once. Tuned are kM x kN x kK, column-major, in four
/// precisions; cuBLAS is known to be slower in fp64 alone, and faster with op(A) transposed.
class Hooks : public testing::Test {
 protected:
  struct World : test::ApiTest {
    using test::ApiTest::database;
    using test::ApiTest::offer;
    using test::ApiTest::offer_program;

    World() {
      for (const Precision precision : {Precision::fp32, Precision::fp64, Precision::bf16, Precision::tf32}) {
        offer(database(), tuned(precision, Layout::nn), precision == Precision::tf32 ? 7 : 1);
      }
      offer(database(), tuned(Precision::fp32, Layout::nt), 1);
      offer_program(database(),
                    {packed_problem(Precision::fp32, Layout::nn, kSize, kSize, kSize), "simt", "PACK=1 LOAD=1", 1},
                    std::string(test::kIdleProgram) + "1");
      note(tuned(Precision::fp64, Layout::nn), 1.25);
      note(tuned(Precision::fp32, Layout::nt), 0.75);
      cuDevicePrimaryCtxRetain(&context, 0);
    }
    void TestBody() override {}

    static test::Decision tuned(Precision precision, Layout layout) {
      return {packed_problem(precision, layout, kN, kM, kK), "naive", "", 1};
    }
    void note(const test::Decision& decision, double ratio) const {
      Store store = Store::open(database(), OpenMode::read_write);
      const auto winner = store.find_winner({key_of(query_device(0)), decision.problem, Evidence::measured});
      ASSERT_TRUE(store.put_cublas_ratio(winner->trial.key, ratio));
    }
    std::string file(const std::string& name) const { return directory_.file(name); }

    CUcontext context = nullptr;
  };

  static void SetUpTestSuite() { world_ = new World; }
  static void TearDownTestSuite() { delete world_; }

  void SetUp() override {
    cuCtxSetCurrent(world_->context);
    cublasCreate_v2(&handle_);
    fake_cublas_forget_calls();
    launches_ = test::fake_cuda().launches;
  }
  void TearDown() override {
    test::fake_cuda().is_capturing = false;
    cublasDestroy_v2(handle_);
  }

  int launches() const { return test::fake_cuda().launches - launches_; }

  Status sgemm(int transa = kOpN, int m = kM, const float* scalars = nullptr) {
    const float* alpha = scalars != nullptr ? scalars : &alpha_;
    const int lda = transa == kOpN ? m : kK;
    return cublasSgemm_v2(handle_, transa, kOpN, m, kN, kK, alpha, a_.data(), lda, b_.data(), kK, &beta_, c_.data(), m);
  }

  void expect_served(const char* name, Status status, int products = 1) {
    EXPECT_EQ(status, kSuccess) << name;
    EXPECT_EQ(fake_cublas_calls(name), 0) << name;
    EXPECT_EQ(launches(), products) << name;
    launches_ = test::fake_cuda().launches;
  }
  void expect_passed(const char* name, Status status) {
    EXPECT_EQ(status, kSuccess) << name;
    EXPECT_EQ(fake_cublas_calls(name), 1) << name;
    EXPECT_EQ(launches(), 0) << name;
    fake_cublas_forget_calls();
  }

  static inline World* world_ = nullptr;
  void* handle_ = nullptr;
  int launches_ = 0;
  float alpha_ = 2, beta_ = -1;
  double alpha64_ = 2, beta64_ = -1;
  std::vector<float> a_ = test::numbers<float>(600, 1), b_ = test::numbers<float>(600, 2),
                     c_ = test::numbers<float>(600, 3);
  std::vector<double> a64_ = test::numbers<double>(600, 1), b64_ = test::numbers<double>(600, 2),
                      c64_ = test::numbers<double>(600, 3);
};

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
  expect_passed("cublasSgemm_v2", sgemm(kOpT));  // where cuBLAS was measured to be faster
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

TEST_F(Hooks, ACaptureRunsOnlyWhatIsLoaded) {
  const auto dgemm = [&](int m) {
    return cublasDgemm_v2(handle_, kOpN, kOpT, m, kN, kK, &alpha64_, a64_.data(), m, b64_.data(), kN, &beta64_,
                          c64_.data(), m);
  };
  world_->offer(world_->database(), {packed_problem(Precision::fp64, Layout::tn, kN, kM, kK), "naive", "", 1});
  expect_served("cublasSgemm_v2", sgemm());  // loads its kernel, whatever ran in this process before
  test::fake_cuda().is_capturing = true;
  expect_passed("cublasDgemm_v2", dgemm(kM));
  EXPECT_EQ(test::fake_cuda().broken_captures, 0);
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
  EXPECT_EQ(gpu.broken_captures, 0);
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

/// Descriptors of kM x kN x kK in fp32.
class LtHooks : public Hooks {
 protected:
  using Attributes = std::vector<std::pair<int, std::int64_t>>;

  void* descriptor(const Attributes& attributes) {
    owned_.push_back(fake_cublas_descriptor());
    for (const auto& [attribute, value] : attributes) fake_cublas_set(owned_.back(), attribute, value);
    return owned_.back();
  }
  void* layout(int rows, int columns, int type = kR32F) {
    return descriptor({{kLayoutType, type},
                       {kLayoutRows, rows},
                       {kLayoutColumns, columns},
                       {kLayoutLd, rows},
                       {kLayoutBatchCount, 1}});
  }
  void TearDown() override {
    for (void* each : owned_) fake_cublas_free(each);
    Hooks::TearDown();
  }

  std::vector<void*> owned_;
  void* plain_ = descriptor({{kDescComputeType, kCompute32F},
                             {kDescFillMode, kFillFull},
                             {kDescEpilogue, kEpilogueNone},
                             {kDescBiasType, -1}});

  Status matmul(const float* c = nullptr, void* workspace = nullptr) {
    return cublasLtMatmul(handle_, plain_, &alpha_, a_.data(), a_layout_, b_.data(), b_layout_, &beta_,
                          c != nullptr ? c : c_.data(), d_layout_, c_.data(), d_layout_, nullptr, workspace, 0,
                          nullptr);
  }

  void* a_layout_ = layout(kM, kK);
  void* b_layout_ = layout(kK, kN);
  void* d_layout_ = layout(kM, kN);
};

TEST_F(LtHooks, APlainProductIsServedInPlaceOrWithoutC) {
  expect_served("cublasLtMatmul", matmul());
  expect_passed("cublasLtMatmul", matmul(b_.data()));
  beta_ = 0;
  expect_served("cublasLtMatmul", matmul(b_.data()));
}

TEST_F(LtHooks, WhatMmtuneDoesNotDoIsPassedOn) {
  const auto with = [&](void* descriptor, int attribute, std::int64_t value, std::int64_t before) {
    fake_cublas_set(descriptor, attribute, value);
    expect_passed("cublasLtMatmul", matmul());
    fake_cublas_set(descriptor, attribute, before);
  };
  for (const auto epilogue : {kEpilogueGelu, kEpilogueGeluBias, kEpilogueRelu | 128}) {
    with(plain_, kDescEpilogue, epilogue, kEpilogueNone);
  }
  with(plain_, kDescEpilogue, kEpilogueBias, kEpilogueNone);  // without a vector
  with(plain_, kDescPointerMode, 1, 0);
  with(plain_, kDescScaleType, kR64F, kR32F);
  with(plain_, kDescSmCountTarget, 100, 0);
  with(plain_, kDescFillMode, 0, kFillFull);
  with(a_layout_, kLayoutOrder, 1, 0);
  with(b_layout_, kLayoutRows, kK + 1, kK);
  with(d_layout_, kLayoutBatchCount, 2, 1);
  expect_served("cublasLtMatmul", matmul());
}

TEST_F(LtHooks, ABiasAndReluAreCompiledOnce) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  const auto bias = reinterpret_cast<std::int64_t>(b_.data());
  fake_cublas_set(plain_, kDescBias, bias);
  for (const auto epilogue : {kEpilogueRelu, kEpilogueBias, kEpilogueReluBias}) {
    fake_cublas_set(plain_, kDescEpilogue, epilogue);
    expect_served("cublasLtMatmul", matmul());
    const int programs = test::fake_cuda().loaded_programs;
    expect_served("cublasLtMatmul", matmul());
    EXPECT_EQ(test::fake_cuda().loaded_programs, programs);
  }
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
