// Calls like cuBLAS's, against a plain loop over column-major matrices.
#include <gmock/gmock.h>
#include <mmtune/blas.h>

#include "tests/api/fixture.h"
#include "tests/operands.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

class Blas : public test::ApiTest {
 protected:
  /// After all programs were offered.
  void create() { ASSERT_EQ(mmtuneCreate(&handle_), MMTUNE_BLAS_SUCCESS) << mmtune_last_error(); }
  void TearDown() override { mmtuneDestroy(handle_); }

  mmtuneHandle_t handle_ = nullptr;
};

/// A call as all tests make it.
template <class T>
struct Product {
  Layout layout = Layout::tn;
  std::vector<T> a = test::numbers<T>(600, 1), b = test::numbers<T>(600, 2), before = test::numbers<T>(600, 3),
                 c = before;

  Gemm call(std::int64_t offset = 0) const {
    return {.layout = layout,
            .m = 5,
            .n = 4,
            .k = 3,
            .alpha = 2,
            .a = a.data() + offset,
            .lda = 6,
            .b = b.data() + offset,
            .ldb = 7,
            .beta = -1,
            .ldc = 8,
            .order = Order::column_major};
  }
  std::vector<T> wanted() const { return test::expected(call(), before); }
};

TEST_F(Blas, SgemmAndDgemmAreColumnMajor) {
  offer(Precision::fp32);
  offer(Precision::fp64);
  create();
  for (const Layout layout : kAllLayouts) {
    const int transa = transposes_a(layout) ? MMTUNE_BLAS_OP_T : MMTUNE_BLAS_OP_N;
    const int transb = transposes_b(layout) ? MMTUNE_BLAS_OP_C : MMTUNE_BLAS_OP_N;
    Product<float> single{.layout = layout};
    const float alpha = 2, beta = -1;
    EXPECT_EQ(mmtuneSgemm(handle_, transa, transb, 5, 4, 3, &alpha, single.a.data(), 6, single.b.data(), 7, &beta,
                          single.c.data(), 8),
              MMTUNE_BLAS_SUCCESS);
    EXPECT_EQ(single.c, single.wanted());
    Product<double> twice{.layout = layout};
    const double alpha2 = 2, beta2 = -1;
    EXPECT_EQ(mmtuneDgemm(handle_, transa, transb, 5, 4, 3, &alpha2, twice.a.data(), 6, twice.b.data(), 7, &beta2,
                          twice.c.data(), 8),
              MMTUNE_BLAS_SUCCESS);
    EXPECT_EQ(twice.c, twice.wanted());
  }
}

TEST_F(Blas, HgemmReadsScalarsOfItsFormat) {
  offer(Precision::fp16, Layout::nt);  // the row-major product
  create();
  const auto half = [](double value) { return static_cast<std::uint16_t>(test::encode(NumberFormat::f16, value)); };
  const auto halves = [&](const std::vector<double>& values) {
    std::vector<std::uint16_t> result;
    for (const double value : values) result.push_back(half(value));
    return result;
  };
  const Product<double> numbers;
  const auto a = halves(numbers.a), b = halves(numbers.b);
  for (const bool extended : {false, true}) {
    auto c = halves(numbers.before);
    const std::uint16_t alpha = half(2), beta = half(-1);
    EXPECT_EQ(extended ? mmtuneGemmEx(handle_, MMTUNE_BLAS_OP_T, MMTUNE_BLAS_OP_N, 5, 4, 3, &alpha, a.data(),
                                      MMTUNE_BLAS_R_16F, 6, b.data(), MMTUNE_BLAS_R_16F, 7, &beta, c.data(),
                                      MMTUNE_BLAS_R_16F, 8, MMTUNE_BLAS_COMPUTE_16F, -1)
                       : mmtuneHgemm(handle_, MMTUNE_BLAS_OP_T, MMTUNE_BLAS_OP_N, 5, 4, 3, &alpha, a.data(), 6,
                                     b.data(), 7, &beta, c.data(), 8),
              MMTUNE_BLAS_SUCCESS)
        << mmtune_last_error();
    EXPECT_EQ(c, halves(numbers.wanted()));
  }
}

TEST_F(Blas, StridedBatchesStepThroughTheirMatrices) {
  const test::ScopedEnv no_compiler("MMTUNE_NVRTC", "/nowhere/libnvrtc.so");  // the driver runs no compiled programs
  offer(Precision::fp32);
  create();
  Product<float> product;
  const float alpha = 2, beta = -1;
  ASSERT_EQ(mmtuneSgemmStridedBatched(handle_, MMTUNE_BLAS_OP_T, MMTUNE_BLAS_OP_N, 5, 4, 3, &alpha, product.a.data(), 6,
                                      100, product.b.data(), 7, 100, &beta, product.c.data(), 8, 100, 2),
            MMTUNE_BLAS_SUCCESS)
      << mmtune_last_error();
  std::vector<float> wanted = product.wanted();
  const auto second =
      test::expected(product.call(100), std::vector<float>(product.before.begin() + 100, product.before.end()));
  std::copy(second.begin(), second.end(), wanted.begin() + 100);
  EXPECT_EQ(product.c, wanted);
}

TEST_F(Blas, TypesChooseThePrecision) {
  offer(Precision::tf32, Layout::nn);
  create();
  float alpha = 1, beta = 0, a = 3, b = 4, c = 0;
  const auto multiply = [&](int type, int compute) {
    return mmtuneGemmEx(handle_, MMTUNE_BLAS_OP_N, MMTUNE_BLAS_OP_N, 1, 1, 1, &alpha, &a, type, 1, &b, type, 1, &beta,
                        &c, type, 1, compute, 0);
  };
  EXPECT_EQ(multiply(MMTUNE_BLAS_R_32F, MMTUNE_BLAS_COMPUTE_32F_FAST_TF32), MMTUNE_BLAS_SUCCESS) << mmtune_last_error();
  EXPECT_EQ(c, 12);
  EXPECT_EQ(multiply(MMTUNE_BLAS_R_32F, MMTUNE_BLAS_COMPUTE_64F), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("Atype = 0"));
  EXPECT_EQ(multiply(MMTUNE_BLAS_R_32F, 1), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("computeType = 1"));
}

TEST_F(Blas, FactorsOfTwoTypesAreExchanged) {
  offer(Precision::bf16_x_fp32, Layout::nt);  // the row-major product
  create();
  Product<float> numbers;
  std::vector<std::uint16_t> b;
  for (const float value : numbers.b) b.push_back(static_cast<std::uint16_t>(test::encode(NumberFormat::bf16, value)));
  const float alpha = 2, beta = -1;
  const auto multiply = [&](const void* first, int type, int first_ld, const void* second, int other, int second_ld) {
    return mmtuneGemmEx(handle_, MMTUNE_BLAS_OP_T, MMTUNE_BLAS_OP_N, 5, 4, 3, &alpha, first, type, first_ld, second,
                        other, second_ld, &beta, numbers.c.data(), MMTUNE_BLAS_R_32F, 8, MMTUNE_BLAS_COMPUTE_32F, 0);
  };
  EXPECT_EQ(multiply(numbers.a.data(), MMTUNE_BLAS_R_32F, 6, b.data(), MMTUNE_BLAS_R_16BF, 7), MMTUNE_BLAS_SUCCESS)
      << mmtune_last_error();
  EXPECT_EQ(numbers.c, numbers.wanted());
  EXPECT_EQ(multiply(b.data(), MMTUNE_BLAS_R_16BF, 7, numbers.a.data(), MMTUNE_BLAS_R_32F, 6), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("no such product"));
}

TEST_F(Blas, StreamAndWorkspaceStayWithTheHandle) {
  offer(Precision::fp32);
  create();
  int stream = 0;
  void* now = &stream;
  EXPECT_EQ(mmtuneGetStream(handle_, &now), MMTUNE_BLAS_SUCCESS);
  EXPECT_EQ(now, nullptr);
  EXPECT_EQ(mmtuneSetStream(handle_, &stream), MMTUNE_BLAS_SUCCESS);
  EXPECT_EQ(mmtuneGetStream(handle_, &now), MMTUNE_BLAS_SUCCESS);
  EXPECT_EQ(now, &stream);
  EXPECT_EQ(mmtuneSetWorkspace(handle_, &stream, 4), MMTUNE_BLAS_SUCCESS);
  const float one = 1;
  float c = 0;
  EXPECT_EQ(mmtuneSgemm(handle_, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1), MMTUNE_BLAS_SUCCESS);
  EXPECT_EQ(test::fake_cuda().last_stream, &stream);
  EXPECT_NE(mmtuneGetLibrary(handle_), nullptr);
}

TEST_F(Blas, AMathModeMakesTf32OfFp32) {
  offer(Precision::tf32, Layout::nn);
  create();
  const float one = 1, zero = 0, a = 3, b = 4;
  float c = 0;
  mmtuneMath_t mode = -1;
  EXPECT_EQ(mmtuneGetMathMode(handle_, &mode), MMTUNE_BLAS_STATUS_SUCCESS);
  EXPECT_EQ(mode, MMTUNE_BLAS_DEFAULT_MATH);
  const auto multiply = [&] { return mmtuneSgemm(handle_, 0, 0, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1); };
  const mmtuneMath_t tf32 = MMTUNE_BLAS_TF32_TENSOR_OP_MATH | MMTUNE_BLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  ASSERT_EQ(mmtuneSetMathMode(handle_, tf32), MMTUNE_BLAS_STATUS_SUCCESS);
  const int programs = test::fake_cuda().loaded_programs;
  EXPECT_EQ(multiply(), MMTUNE_BLAS_STATUS_SUCCESS) << mmtune_last_error();
  EXPECT_EQ(c, 12);
  EXPECT_EQ(test::fake_cuda().loaded_programs, programs + 1) << "that of tf32";
  EXPECT_EQ(mmtuneSetMathMode(handle_, 9), MMTUNE_BLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("mode = 9"));
  EXPECT_EQ(mmtuneGetMathMode(handle_, &mode), MMTUNE_BLAS_STATUS_SUCCESS);
  EXPECT_EQ(mode, tf32);
}

TEST_F(Blas, AnInvariantHandleRunsNoOtherOrder) {
  offer(Precision::fp16, Layout::nn);
  create();
  const std::uint16_t one = 0x3c00;
  std::uint16_t c = 0;
  const auto multiply = [&] { return mmtuneHgemm(handle_, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1); };
  EXPECT_EQ(multiply(), MMTUNE_BLAS_SUCCESS) << mmtune_last_error();
  EXPECT_EQ(mmtuneSetInvariant(handle_, 2), MMTUNE_BLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(mmtuneSetInvariant(handle_, 1), MMTUNE_BLAS_SUCCESS);
  int invariant = 0;
  EXPECT_EQ(mmtuneGetInvariant(handle_, &invariant), MMTUNE_BLAS_SUCCESS);
  EXPECT_EQ(invariant, 1);
  // The plain kernel adds up in another order; one of tensor cores is compiled, where NVRTC is there.
  const int programs = test::fake_cuda().loaded_programs;
  const bool runs = multiply() == MMTUNE_BLAS_SUCCESS;
  EXPECT_TRUE(runs || std::string(mmtune_last_error()).find("--invariant") != std::string::npos) << mmtune_last_error();
  EXPECT_TRUE(!runs || test::fake_cuda().loaded_programs == programs + 1);
}

TEST_F(Blas, APointerModeSaysWhereAlphaAndBetaAre) {
  offer(Precision::fp32);
  create();
  const float one = 1, zero = 0, a = 3, b = 4;
  float c = 0;
  EXPECT_EQ(mmtuneSetPointerMode(handle_, 2), MMTUNE_BLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(mmtuneSetPointerMode(handle_, MMTUNE_BLAS_POINTER_MODE_DEVICE), MMTUNE_BLAS_STATUS_SUCCESS);
  mmtunePointerMode_t mode = -1;
  EXPECT_EQ(mmtuneGetPointerMode(handle_, &mode), MMTUNE_BLAS_STATUS_SUCCESS);
  EXPECT_EQ(mode, MMTUNE_BLAS_POINTER_MODE_DEVICE);
  EXPECT_EQ(mmtuneSgemm(handle_, 0, 0, 1, 1, 1, nullptr, &a, 1, &b, 1, &zero, &c, 1), MMTUNE_USAGE_ERROR);
  const std::uint16_t half = 0x3c00;
  EXPECT_EQ(mmtuneHgemm(handle_, 0, 0, 1, 1, 1, &half, &half, 1, &half, 1, &half, &c, 1), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("fp16 on the device"));
  // The kernel with scalars of the device is compiled, or without NVRTC the call says that it cannot be.
  const mmtuneStatus_t status = mmtuneSgemm(handle_, 0, 0, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
  EXPECT_TRUE(status == MMTUNE_BLAS_STATUS_SUCCESS ||
              std::string(mmtune_last_error()).find("NVRTC") != std::string::npos)
      << mmtune_last_error();
}

TEST_F(Blas, NamesWhatIsWrong) {
  create();
  const float one = 1;
  float c = 0;
  EXPECT_EQ(mmtuneSgemm(nullptr, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1), MMTUNE_USAGE_ERROR);
  EXPECT_EQ(mmtuneSgemm(handle_, 7, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("transa = 7"));
  EXPECT_EQ(mmtuneSgemm(handle_, 0, 0, 1, 1, 1, nullptr, &one, 1, &one, 1, &one, &c, 1), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("alpha: null pointer"));
  EXPECT_EQ(mmtuneSgemm(handle_, 0, 0, 4, 1, 1, &one, &one, 3, &one, 1, &one, &c, 4), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("lda = 3"));
}

}  // namespace
}  // namespace mmtune
