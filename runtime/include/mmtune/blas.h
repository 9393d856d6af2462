// Products of column-major matrices with the names and arguments of cuBLAS, so that porting is a rename: cublas…
// becomes mmtune…, CUBLAS_… becomes MMTUNE_BLAS_…. For C11 and C++.
//
// What is the same: order and meaning of arguments, numbers of the constants (those of the CUDA headers are accepted
// too), calls that return before the GPU has finished, on the stream of mmtuneSetStream(). What differs:
//
//   - Arrays of addresses for a batch are on the host: instead of mmtuneSgemmBatched and the like there is
//     mmtune_gemm_pointers() in <mmtune/mmtune_c.h>.
//   - Sums of fp16 and bf16 are fp32, also where a compute type asks for less. Reduced-precision forms of fp32 run as
//     tf32.
//   - A handle may be used by any thread at any time, once its stream and workspace are set.
//   - Where nothing is tuned, the first call of a kind compiles a kernel, in about a second, if NVRTC is there:
//     LibraryOptions::compile_untuned. mmtune_prepare() does it before.
#pragma once

#include <mmtune/mmtune_c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mmtuneContext* mmtuneHandle_t;
typedef int32_t mmtuneStatus_t;  ///< a mmtune_status, of which each has a name of cuBLAS here

enum {
  MMTUNE_BLAS_SUCCESS = MMTUNE_OK,
  MMTUNE_BLAS_STATUS_SUCCESS = MMTUNE_OK,
  MMTUNE_BLAS_STATUS_INVALID_VALUE = MMTUNE_USAGE_ERROR,
  MMTUNE_BLAS_STATUS_NOT_INITIALIZED = MMTUNE_DEVICE_ERROR,
  MMTUNE_BLAS_STATUS_EXECUTION_FAILED = MMTUNE_DEVICE_LOST,
  MMTUNE_BLAS_STATUS_ALLOC_FAILED = MMTUNE_OUT_OF_MEMORY,
  MMTUNE_BLAS_STATUS_INTERNAL_ERROR = MMTUNE_DATABASE_ERROR,
  MMTUNE_BLAS_STATUS_NOT_SUPPORTED = MMTUNE_NOTHING_TO_RUN,
};

typedef int32_t mmtuneOperation_t;  ///< cublasOperation_t
enum { MMTUNE_BLAS_OP_N = 0, MMTUNE_BLAS_OP_T = 1, MMTUNE_BLAS_OP_C = 2 };

typedef int32_t mmtuneDataType_t;  ///< cudaDataType_t
enum {
  MMTUNE_BLAS_R_32F = 0,
  MMTUNE_BLAS_R_64F = 1,
  MMTUNE_BLAS_R_16F = 2,
  MMTUNE_BLAS_R_8I = 3,
  MMTUNE_BLAS_R_32I = 10,
  MMTUNE_BLAS_R_16BF = 14,
  MMTUNE_BLAS_R_8F_E4M3 = 28,
  MMTUNE_BLAS_R_8F_E5M2 = 29,
};

typedef int32_t mmtuneComputeType_t;  ///< cublasComputeType_t; says what alpha and beta are
enum {
  MMTUNE_BLAS_COMPUTE_16F = 64,
  MMTUNE_BLAS_COMPUTE_16F_PEDANTIC = 65,
  MMTUNE_BLAS_COMPUTE_32F = 68,
  MMTUNE_BLAS_COMPUTE_32F_PEDANTIC = 69,
  MMTUNE_BLAS_COMPUTE_64F = 70,
  MMTUNE_BLAS_COMPUTE_64F_PEDANTIC = 71,
  MMTUNE_BLAS_COMPUTE_32I = 72,
  MMTUNE_BLAS_COMPUTE_32I_PEDANTIC = 73,
  MMTUNE_BLAS_COMPUTE_32F_FAST_16F = 74,
  MMTUNE_BLAS_COMPUTE_32F_FAST_16BF = 75,
  MMTUNE_BLAS_COMPUTE_32F_FAST_TF32 = 77,
  MMTUNE_BLAS_COMPUTE_32F_EMULATED_16BFX9 = 78,  ///< Here it is three products of fp16: docs/accuracy.md.
};

typedef int32_t mmtunePointerMode_t;  ///< cublasPointerMode_t
enum { MMTUNE_BLAS_POINTER_MODE_HOST = 0, MMTUNE_BLAS_POINTER_MODE_DEVICE = 1 };

typedef int32_t mmtuneMath_t;  ///< cublasMath_t
enum {
  MMTUNE_BLAS_DEFAULT_MATH = 0,
  MMTUNE_BLAS_TENSOR_OP_MATH = 1,  ///< the same as the default: fp32 is not rounded to fp16
  MMTUNE_BLAS_PEDANTIC_MATH = 2,   ///< the same as the default, which never computes in less than was asked for
  MMTUNE_BLAS_TF32_TENSOR_OP_MATH = 3,
  MMTUNE_BLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,  ///< a flag; sums are never rounded to less
};

typedef int32_t mmtuneGemmAlgo_t;  ///< cublasGemmAlgo_t; none counts
enum {
  MMTUNE_BLAS_GEMM_DFALT = -1,
  MMTUNE_BLAS_GEMM_DEFAULT = -1,
  MMTUNE_BLAS_GEMM_DFALT_TENSOR_OP = 99,
  MMTUNE_BLAS_GEMM_DEFAULT_TENSOR_OP = 99,
};

/// Makes a handle for the device of the calling thread's context. Its stream is the default one.
MMTUNE_API mmtuneStatus_t mmtuneCreate(mmtuneHandle_t* handle);
/// Does what mmtune_close() does.
MMTUNE_API mmtuneStatus_t mmtuneDestroy(mmtuneHandle_t handle);
MMTUNE_API mmtuneStatus_t mmtuneSetStream(mmtuneHandle_t handle, void* stream);
MMTUNE_API mmtuneStatus_t mmtuneGetStream(mmtuneHandle_t handle, void** stream);
/// Device memory for all later calls, aligned to 256 bytes; null: the library's own.
MMTUNE_API mmtuneStatus_t mmtuneSetWorkspace(mmtuneHandle_t handle, void* workspace, size_t bytes);
/// Says where alpha and beta are: by default on the host. Those on the device are float, double or int32_t, which the
/// kernel reads when it runs: Gemm::device_alpha.
MMTUNE_API mmtuneStatus_t mmtuneSetPointerMode(mmtuneHandle_t handle, mmtunePointerMode_t mode);
MMTUNE_API mmtuneStatus_t mmtuneGetPointerMode(mmtuneHandle_t handle, mmtunePointerMode_t* mode);
/// With MMTUNE_BLAS_TF32_TENSOR_OP_MATH products of fp32 run as tf32.
MMTUNE_API mmtuneStatus_t mmtuneSetMathMode(mmtuneHandle_t handle, mmtuneMath_t mode);
MMTUNE_API mmtuneStatus_t mmtuneGetMathMode(mmtuneHandle_t handle, mmtuneMath_t* mode);
/// Whether products run as Gemm::invariant: 0 or 1, by default 0. cuBLAS has no such function.
MMTUNE_API mmtuneStatus_t mmtuneSetInvariant(mmtuneHandle_t handle, int invariant);
MMTUNE_API mmtuneStatus_t mmtuneGetInvariant(mmtuneHandle_t handle, int* invariant);
/// The library, to prepare() or explain() calls; it lives as long as the handle.
MMTUNE_API mmtune_library* mmtuneGetLibrary(mmtuneHandle_t handle);
/// A name for the status; mmtune_last_error() says what was wrong.
MMTUNE_API const char* mmtuneGetStatusString(mmtuneStatus_t status);

MMTUNE_API mmtuneStatus_t mmtuneSgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m,
                                      int n, int k, const float* alpha, const float* A, int lda, const float* B,
                                      int ldb, const float* beta, float* C, int ldc);
MMTUNE_API mmtuneStatus_t mmtuneDgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m,
                                      int n, int k, const double* alpha, const double* A, int lda, const double* B,
                                      int ldb, const double* beta, double* C, int ldc);
/// All pointers are to fp16: __half, whose header is not needed here.
MMTUNE_API mmtuneStatus_t mmtuneHgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m,
                                      int n, int k, const void* alpha, const void* A, int lda, const void* B, int ldb,
                                      const void* beta, void* C, int ldc);
/// `algo` does not count.
MMTUNE_API mmtuneStatus_t mmtuneGemmEx(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m,
                                       int n, int k, const void* alpha, const void* A, mmtuneDataType_t Atype, int lda,
                                       const void* B, mmtuneDataType_t Btype, int ldb, const void* beta, void* C,
                                       mmtuneDataType_t Ctype, int ldc, mmtuneComputeType_t computeType,
                                       mmtuneGemmAlgo_t algo);

MMTUNE_API mmtuneStatus_t mmtuneSgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa,
                                                    mmtuneOperation_t transb, int m, int n, int k, const float* alpha,
                                                    const float* A, int lda, long long strideA, const float* B, int ldb,
                                                    long long strideB, const float* beta, float* C, int ldc,
                                                    long long strideC, int batchCount);
MMTUNE_API mmtuneStatus_t mmtuneDgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa,
                                                    mmtuneOperation_t transb, int m, int n, int k, const double* alpha,
                                                    const double* A, int lda, long long strideA, const double* B,
                                                    int ldb, long long strideB, const double* beta, double* C, int ldc,
                                                    long long strideC, int batchCount);
MMTUNE_API mmtuneStatus_t mmtuneHgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa,
                                                    mmtuneOperation_t transb, int m, int n, int k, const void* alpha,
                                                    const void* A, int lda, long long strideA, const void* B, int ldb,
                                                    long long strideB, const void* beta, void* C, int ldc,
                                                    long long strideC, int batchCount);
MMTUNE_API mmtuneStatus_t mmtuneGemmStridedBatchedEx(mmtuneHandle_t handle, mmtuneOperation_t transa,
                                                     mmtuneOperation_t transb, int m, int n, int k, const void* alpha,
                                                     const void* A, mmtuneDataType_t Atype, int lda, long long strideA,
                                                     const void* B, mmtuneDataType_t Btype, int ldb, long long strideB,
                                                     const void* beta, void* C, mmtuneDataType_t Ctype, int ldc,
                                                     long long strideC, int batchCount, mmtuneComputeType_t computeType,
                                                     mmtuneGemmAlgo_t algo);

#ifdef __cplusplus
}
#endif
