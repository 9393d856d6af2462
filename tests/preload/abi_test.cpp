// The toolkit's headers say what preload/cublas_abi.h says, where they are installed.
#include <gtest/gtest.h>

#include <type_traits>

#include "preload/cublas_abi.h"

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace mmtune::cublas {
namespace {

/// As a value is passed: enumerations as int, pointers to whatever alike.
template <class T>
using Passed = std::conditional_t<std::is_pointer_v<T>, void*, std::conditional_t<std::is_enum_v<T>, int, T>>;

template <class>
struct SignatureOf;
template <class Result, class... Args>
struct SignatureOf<Result(Args...)> {
  using Type = Passed<Result>(Passed<Args>...);
};

template <class Ours, class Theirs>
constexpr bool kSame =
    std::is_same_v<typename SignatureOf<Ours>::Type, typename SignatureOf<std::remove_pointer_t<Theirs>>::Type>;

using L = std::int64_t;

static_assert(sizeof(cublasStatus_t) == sizeof(int) && sizeof(cublasComputeType_t) == sizeof(int));
static_assert(kSame<Plain<int>, decltype(cublasSgemm_v2)> && kSame<Plain<L>, decltype(cublasSgemm_v2_64)>);
static_assert(kSame<Plain<int>, decltype(cublasDgemm_v2)> && kSame<Plain<L>, decltype(cublasDgemm_v2_64)>);
static_assert(kSame<GemmEx<L>, decltype(cublasGemmEx_64)>);
static_assert(kSame<GemmStridedBatched<int>, decltype(cublasSgemmStridedBatched)>);
static_assert(kSame<GemmStridedBatched<L>, decltype(cublasSgemmStridedBatched_64)>);
static_assert(kSame<GemmStridedBatched<int>, decltype(cublasDgemmStridedBatched)>);
static_assert(kSame<GemmStridedBatchedEx<L>, decltype(cublasGemmStridedBatchedEx_64)>);
static_assert(kSame<Destroy, decltype(cublasDestroy_v2)> && kSame<SetStream, decltype(cublasSetStream_v2)>);
static_assert(kSame<SetWorkspace, decltype(cublasSetWorkspace_v2)> && kSame<GetStream, decltype(cublasGetStream_v2)>);
static_assert(kSame<GetPointerMode, decltype(cublasGetPointerMode_v2)>);
static_assert(kSame<GetMathMode, decltype(cublasGetMathMode)>);
static_assert(kSame<LtMatmul, decltype(cublasLtMatmul)>);
static_assert(kSame<LtGetAttribute, decltype(cublasLtMatmulDescGetAttribute)>);
static_assert(kSame<LtGetAttribute, decltype(cublasLtMatrixLayoutGetAttribute)>);

// The headers overload these two for C++, so that the function is named by its type.
constexpr cublasStatus_t (*kGemmEx)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                    const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                    cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = cublasGemmEx;
static_assert(kSame<GemmEx<int>, decltype(kGemmEx)> || sizeof(kGemmEx) == sizeof(void*));

static_assert(kSuccess == CUBLAS_STATUS_SUCCESS && kNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(kOpN == CUBLAS_OP_N && kOpT == CUBLAS_OP_T && kOpC == CUBLAS_OP_C);
static_assert(kR32F == CUDA_R_32F && kR64F == CUDA_R_64F && kR16F == CUDA_R_16F && kR16BF == CUDA_R_16BF);
static_assert(kR8I == CUDA_R_8I && kR32I == CUDA_R_32I);
static_assert(kCompute32F == CUBLAS_COMPUTE_32F && kCompute64F == CUBLAS_COMPUTE_64F);
static_assert(kCompute32I == CUBLAS_COMPUTE_32I && kCompute32FFastTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kPointersOfHost == CUBLAS_POINTER_MODE_HOST);
static_assert(kDefaultMath == CUBLAS_DEFAULT_MATH && kTensorOpMath == CUBLAS_TENSOR_OP_MATH);
static_assert(kPedanticMath == CUBLAS_PEDANTIC_MATH && kTf32Math == CUBLAS_TF32_TENSOR_OP_MATH);
static_assert((CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION & kMathMask) == 0);
static_assert(kLayoutType == CUBLASLT_MATRIX_LAYOUT_TYPE && kLayoutOrder == CUBLASLT_MATRIX_LAYOUT_ORDER);
static_assert(kLayoutRows == CUBLASLT_MATRIX_LAYOUT_ROWS && kLayoutColumns == CUBLASLT_MATRIX_LAYOUT_COLS);
static_assert(kLayoutLd == CUBLASLT_MATRIX_LAYOUT_LD && kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(kLayoutStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && kOrderColumn == CUBLASLT_ORDER_COL);
#if CUBLAS_VER_MAJOR >= 13
static_assert(kLayoutBatchMode == CUBLASLT_MATRIX_LAYOUT_BATCH_MODE && CUBLASLT_BATCH_MODE_STRIDED == 0);
#endif
static_assert(kDescComputeType == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE &&
              kDescScaleType == CUBLASLT_MATMUL_DESC_SCALE_TYPE);
static_assert(kDescPointerMode == CUBLASLT_MATMUL_DESC_POINTER_MODE && kDescTransA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(kDescTransB == CUBLASLT_MATMUL_DESC_TRANSB && kDescTransC == CUBLASLT_MATMUL_DESC_TRANSC);
static_assert(kDescFillMode == CUBLASLT_MATMUL_DESC_FILL_MODE && kDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(kDescBias == CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
              kDescBiasStride == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
static_assert(kDescSmCountTarget == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
static_assert(kDescBiasType == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE && kFillFull == CUBLAS_FILL_MODE_FULL);
static_assert(kEpilogueNone == CUBLASLT_EPILOGUE_DEFAULT && kEpilogueRelu == CUBLASLT_EPILOGUE_RELU);
static_assert(kEpilogueBias == CUBLASLT_EPILOGUE_BIAS && kEpilogueReluBias == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(kEpilogueGelu == CUBLASLT_EPILOGUE_GELU && kEpilogueGeluBias == CUBLASLT_EPILOGUE_GELU_BIAS);

TEST(CublasAbi, IsThatOfTheHeaders) { SUCCEED() << "what it compares it compares when it is compiled"; }

}  // namespace
}  // namespace mmtune::cublas

#else

TEST(CublasAbi, IsThatOfTheHeaders) { GTEST_SKIP() << "cuBLAS's headers are not installed"; }

#endif
