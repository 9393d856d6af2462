// The functions of <mmtune/blas.h>, by those of <mmtune/mmtune.h>.
#include <fmt/format.h>
#include <mmtune/blas.h>

#include "runtime/c/blas_values.h"
#include "runtime/c/c_library.h"
#include "runtime/c/c_status.h"
#include "runtime/call/gemm_call.h"

using mmtune::Compute;
using mmtune::Gemm;
using mmtune::Precision;
using mmtune::required;
using mmtune::status_of;
using mmtune::UsageError;

struct mmtuneContext {
  mmtune_library base;
  void* stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  mmtunePointerMode_t pointer_mode = MMTUNE_BLAS_POINTER_MODE_HOST;
  mmtuneMath_t math_mode = MMTUNE_BLAS_DEFAULT_MATH;
  bool invariant = false;
};

namespace {

constexpr mmtuneMath_t kMathMask = 15;  // what stands above it are flags

/// The arguments that all functions have, in their order.
struct Shape {
  mmtuneOperation_t transa, transb;
  int m, n, k;
};

struct Input {
  const void* address;
  int ld;
  long long stride = 0;
};

struct Output {
  void* address;
  int ld;
  long long stride = 0;
};

struct Scalars {
  const void* alpha;
  const void* beta;
};

mmtuneStatus_t run(mmtuneHandle_t handle, const Shape& shape, const Scalars& scalars, const Input& a, const Input& b,
                   const Output& c, int batch, Precision precision, Compute compute) {
  return status_of([&] {
    mmtuneContext& context = required(handle, "handle");
    Gemm call;
    const bool as_tf32 = (context.math_mode & kMathMask) == MMTUNE_BLAS_TF32_TENSOR_OP_MATH;
    call.precision = precision == Precision::fp32 && as_tf32 ? Precision::tf32 : precision;
    call.order = mmtune::Order::column_major;
    call.layout =
        mmtune::layout_of(mmtune::is_transposed(shape.transa, "transa"), mmtune::is_transposed(shape.transb, "transb"));
    call.m = shape.m;
    call.n = shape.n;
    call.k = shape.k;
    mmtune::set_scalars(call, scalars.alpha, scalars.beta, context.pointer_mode, compute);
    call.a = a.address;
    call.lda = a.ld;
    call.stride_a = a.stride;
    call.b = b.address;
    call.ldb = b.ld;
    call.stride_b = b.stride;
    call.c = c.address;
    call.ldc = c.ld;
    call.stride_c = c.stride;
    call.batch = batch;
    call.invariant = context.invariant;
    call.workspace = context.workspace;
    call.workspace_bytes = context.workspace_bytes;
    context.base.library.enqueue(call, context.stream);
  });
}

}  // namespace

extern "C" {

mmtuneStatus_t mmtuneCreate(mmtuneHandle_t* handle) {
  if (handle != nullptr) *handle = nullptr;
  return status_of([&] {
    mmtuneHandle_t& created = required(handle, "handle");
    created = new mmtuneContext{{mmtune::Library::open({.compile_untuned = true})}};
  });
}

mmtuneStatus_t mmtuneDestroy(mmtuneHandle_t handle) {
  delete handle;
  return MMTUNE_BLAS_SUCCESS;
}

mmtuneStatus_t mmtuneSetStream(mmtuneHandle_t handle, void* stream) {
  return status_of([&] { required(handle, "handle").stream = stream; });
}

mmtuneStatus_t mmtuneGetStream(mmtuneHandle_t handle, void** stream) {
  return status_of([&] { required(stream, "stream") = required(handle, "handle").stream; });
}

mmtuneStatus_t mmtuneSetWorkspace(mmtuneHandle_t handle, void* workspace, size_t bytes) {
  return status_of([&] {
    required(handle, "handle").workspace = workspace;
    handle->workspace_bytes = bytes;
  });
}

mmtuneStatus_t mmtuneSetPointerMode(mmtuneHandle_t handle, mmtunePointerMode_t mode) {
  return status_of([&] {
    if (mode != MMTUNE_BLAS_POINTER_MODE_HOST && mode != MMTUNE_BLAS_POINTER_MODE_DEVICE) {
      throw UsageError(fmt::format("mode = {}: use a MMTUNE_BLAS_POINTER_MODE_…", mode));
    }
    required(handle, "handle").pointer_mode = mode;
  });
}

mmtuneStatus_t mmtuneGetPointerMode(mmtuneHandle_t handle, mmtunePointerMode_t* mode) {
  return status_of([&] { required(mode, "mode") = required(handle, "handle").pointer_mode; });
}

mmtuneStatus_t mmtuneSetMathMode(mmtuneHandle_t handle, mmtuneMath_t mode) {
  return status_of([&] {
    const mmtuneMath_t math = mode & ~MMTUNE_BLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (math < MMTUNE_BLAS_DEFAULT_MATH || math > MMTUNE_BLAS_TF32_TENSOR_OP_MATH) {
      throw UsageError(
          fmt::format("mode = {}: no such math mode here; use MMTUNE_BLAS_DEFAULT_MATH or "
                      "MMTUNE_BLAS_TF32_TENSOR_OP_MATH",
                      mode));
    }
    required(handle, "handle").math_mode = mode;
  });
}

mmtuneStatus_t mmtuneGetMathMode(mmtuneHandle_t handle, mmtuneMath_t* mode) {
  return status_of([&] { required(mode, "mode") = required(handle, "handle").math_mode; });
}

mmtuneStatus_t mmtuneSetInvariant(mmtuneHandle_t handle, int invariant) {
  return status_of([&] {
    if (invariant != 0 && invariant != 1) throw UsageError(fmt::format("invariant = {}: use 0 or 1", invariant));
    required(handle, "handle").invariant = invariant == 1;
  });
}

mmtuneStatus_t mmtuneGetInvariant(mmtuneHandle_t handle, int* invariant) {
  return status_of([&] { required(invariant, "invariant") = required(handle, "handle").invariant ? 1 : 0; });
}

mmtune_library* mmtuneGetLibrary(mmtuneHandle_t handle) { return handle == nullptr ? nullptr : &handle->base; }

const char* mmtuneGetStatusString(mmtuneStatus_t status) { return mmtune_status_text(status); }

mmtuneStatus_t mmtuneSgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m, int n,
                           int k, const float* alpha, const float* A, int lda, const float* B, int ldb,
                           const float* beta, float* C, int ldc) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda}, {B, ldb}, {C, ldc}, 1, Precision::fp32,
             Compute::f32);
}

mmtuneStatus_t mmtuneDgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m, int n,
                           int k, const double* alpha, const double* A, int lda, const double* B, int ldb,
                           const double* beta, double* C, int ldc) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda}, {B, ldb}, {C, ldc}, 1, Precision::fp64,
             Compute::f64);
}

mmtuneStatus_t mmtuneHgemm(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m, int n,
                           int k, const void* alpha, const void* A, int lda, const void* B, int ldb, const void* beta,
                           void* C, int ldc) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda}, {B, ldb}, {C, ldc}, 1, Precision::fp16,
             Compute::f16);
}

mmtuneStatus_t mmtuneGemmEx(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* A, mmtuneDataType_t Atype, int lda, const void* B,
                            mmtuneDataType_t Btype, int ldb, const void* beta, void* C, mmtuneDataType_t Ctype, int ldc,
                            mmtuneComputeType_t computeType, mmtuneGemmAlgo_t algo) {
  return mmtuneGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C,
                                    Ctype, ldc, 0, 1, computeType, algo);
}

mmtuneStatus_t mmtuneSgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb,
                                         int m, int n, int k, const float* alpha, const float* A, int lda,
                                         long long strideA, const float* B, int ldb, long long strideB,
                                         const float* beta, float* C, int ldc, long long strideC, int batchCount) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda, strideA}, {B, ldb, strideB}, {C, ldc, strideC},
             batchCount, Precision::fp32, Compute::f32);
}

mmtuneStatus_t mmtuneDgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb,
                                         int m, int n, int k, const double* alpha, const double* A, int lda,
                                         long long strideA, const double* B, int ldb, long long strideB,
                                         const double* beta, double* C, int ldc, long long strideC, int batchCount) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda, strideA}, {B, ldb, strideB}, {C, ldc, strideC},
             batchCount, Precision::fp64, Compute::f64);
}

mmtuneStatus_t mmtuneHgemmStridedBatched(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb,
                                         int m, int n, int k, const void* alpha, const void* A, int lda,
                                         long long strideA, const void* B, int ldb, long long strideB, const void* beta,
                                         void* C, int ldc, long long strideC, int batchCount) {
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda, strideA}, {B, ldb, strideB}, {C, ldc, strideC},
             batchCount, Precision::fp16, Compute::f16);
}

mmtuneStatus_t mmtuneGemmStridedBatchedEx(mmtuneHandle_t handle, mmtuneOperation_t transa, mmtuneOperation_t transb,
                                          int m, int n, int k, const void* alpha, const void* A, mmtuneDataType_t Atype,
                                          int lda, long long strideA, const void* B, mmtuneDataType_t Btype, int ldb,
                                          long long strideB, const void* beta, void* C, mmtuneDataType_t Ctype, int ldc,
                                          long long strideC, int batchCount, mmtuneComputeType_t computeType,
                                          mmtuneGemmAlgo_t /*algo*/) {
  Precision precision{};
  Compute compute{};
  const mmtuneStatus_t known = status_of([&] {
    compute = mmtune::compute_of(computeType);
    precision = mmtune::precision_of(Atype, Btype, Ctype, compute);
  });
  if (known != MMTUNE_BLAS_SUCCESS) return known;
  return run(handle, {transa, transb, m, n, k}, {alpha, beta}, {A, lda, strideA}, {B, ldb, strideB}, {C, ldc, strideC},
             batchCount, precision, compute);
}

}  // extern "C"
