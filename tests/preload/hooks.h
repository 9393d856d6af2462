// The stand-in for cuBLAS in this process, in front of a library that only counts and on a driver that pretends.
#pragma once

#include <cuda.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "preload/cublas_abi.h"
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

namespace mmtune::test {

using namespace cublas;  // NOLINT(google-build-using-namespace): its numbers

inline constexpr int kM = 5, kN = 4, kK = 3, kBatch = 2;
inline constexpr int kSize = 64;  // the extents of a product that needs a workspace

/// One database for all: a process has one stand-in, which reads it once. Tuned are kM x kN x kK, column-major, in four
/// precisions; cuBLAS is known to be slower in fp64 alone, and faster with op(A) transposed.
class Hooks : public testing::Test {
 protected:
  struct World : ApiTest {
    using ApiTest::database;
    using ApiTest::offer;
    using ApiTest::offer_program;

    World() {
      for (const Precision precision : {Precision::fp32, Precision::fp64, Precision::bf16, Precision::tf32}) {
        offer(database(), tuned(precision, Layout::nn), precision == Precision::tf32 ? 7 : 1);
      }
      offer(database(), tuned(Precision::fp32, Layout::nt), 1);
      offer_program(database(),
                    {packed_problem(Precision::fp32, Layout::nn, kSize, kSize, kSize), "simt", "PACK=1 LOAD=1", 1},
                    std::string(kIdleProgram) + "1");
      note(tuned(Precision::fp64, Layout::nn), 1.25);
      note(tuned(Precision::fp32, Layout::nt), 0.75);
      cuDevicePrimaryCtxRetain(&context, 0);
    }
    void TestBody() override {}

    static Decision tuned(Precision precision, Layout layout) {
      return {packed_problem(precision, layout, kN, kM, kK), "naive", "", 1};
    }
    void note(const Decision& decision, double ratio) const {
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
    cublasSetStream_v2(handle_, CU_STREAM_PER_THREAD);  // The default stream cannot be captured.
    fake_cublas_forget_calls();
    launches_ = fake_cuda().launches;
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda().broken_captures.exchange(0), 0);
    fake_cuda().is_capturing = false;
    cublasDestroy_v2(handle_);
  }

  int launches() const { return fake_cuda().launches - launches_; }

  Status sgemm(int transa = kOpN, int m = kM, const float* scalars = nullptr) {
    const float* alpha = scalars != nullptr ? scalars : &alpha_;
    const int lda = transa == kOpN ? m : kK;
    return cublasSgemm_v2(handle_, transa, kOpN, m, kN, kK, alpha, a_.data(), lda, b_.data(), kK, &beta_, c_.data(), m);
  }

  void expect_served(const char* name, Status status, int products = 1) {
    EXPECT_EQ(status, kSuccess) << name;
    EXPECT_EQ(fake_cublas_calls(name), 0) << name;
    EXPECT_EQ(launches(), products) << name;
    launches_ = fake_cuda().launches;
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
  std::vector<float> a_ = numbers<float>(600, 1), b_ = numbers<float>(600, 2), c_ = numbers<float>(600, 3);
  std::vector<double> a64_ = numbers<double>(600, 1), b64_ = numbers<double>(600, 2), c64_ = numbers<double>(600, 3);
};

}  // namespace mmtune::test
