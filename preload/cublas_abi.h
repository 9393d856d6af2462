// What cuBLAS and cuBLASLt look like to a program that calls them: types, numbers and signatures, as the documentation
// of cuBLAS 12 and 13 has them. Enumerations are passed as int. tests/preload compares all of it with the toolkit's
// headers where these are installed; building needs none of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mmtune::cublas {

using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kNotSupported = 15;

using Handle = void*;
using Stream = void*;  ///< cudaStream_t, which is a CUstream

using Operation = int;
inline constexpr Operation kOpN = 0, kOpT = 1, kOpC = 2;

using DataType = int;  ///< cudaDataType
inline constexpr DataType kR32F = 0, kR64F = 1, kR16F = 2, kR8I = 3, kR32I = 10, kR16BF = 14;

using ComputeType = int;
inline constexpr ComputeType kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kCompute32FFastTf32 = 77;

using PointerMode = int;
inline constexpr PointerMode kPointersOfHost = 0;

/// The low bits of a math mode; what stands above says how freely sums of 16-bit numbers may be rounded.
using MathMode = int;
inline constexpr MathMode kMathMask = 15;
inline constexpr MathMode kDefaultMath = 0, kTensorOpMath = 1, kPedanticMath = 2, kTf32Math = 3, kEmulatedFp32Math = 4,
                          kEmulatedFp64Math = 8;

using Algorithm = int;

/// cublasSgemm_v2, cublasDgemm_v2 and, with 64-bit integers, their _64 forms.
template <class Int>
using Plain = Status(Handle, Operation transa, Operation transb, Int m, Int n, Int k, const void* alpha, const void* A,
                     Int lda, const void* B, Int ldb, const void* beta, void* C, Int ldc);
template <class Int>
using GemmEx = Status(Handle, Operation transa, Operation transb, Int m, Int n, Int k, const void* alpha, const void* A,
                      DataType Atype, Int lda, const void* B, DataType Btype, Int ldb, const void* beta, void* C,
                      DataType Ctype, Int ldc, ComputeType, Algorithm);
template <class Int>
using GemmStridedBatched = Status(Handle, Operation transa, Operation transb, Int m, Int n, Int k, const void* alpha,
                                  const void* A, Int lda, long long strideA, const void* B, Int ldb, long long strideB,
                                  const void* beta, void* C, Int ldc, long long strideC, Int batchCount);
template <class Int>
using GemmStridedBatchedEx = Status(Handle, Operation transa, Operation transb, Int m, Int n, Int k, const void* alpha,
                                    const void* A, DataType Atype, Int lda, long long strideA, const void* B,
                                    DataType Btype, Int ldb, long long strideB, const void* beta, void* C,
                                    DataType Ctype, Int ldc, long long strideC, Int batchCount, ComputeType, Algorithm);

using Destroy = Status(Handle);
using SetStream = Status(Handle, Stream);
using SetWorkspace = Status(Handle, void* workspace, std::size_t bytes);
using GetStream = Status(Handle, Stream*);
using GetPointerMode = Status(Handle, PointerMode*);
using GetMathMode = Status(Handle, MathMode*);

using LtMatmul = Status(Handle, void* computeDesc, const void* alpha, const void* A, void* Adesc, const void* B,
                        void* Bdesc, const void* beta, const void* C, void* Cdesc, void* D, void* Ddesc,
                        const void* algo, void* workspace, std::size_t workspaceSizeInBytes, Stream);
/// The function that reads an attribute of a cublasLtMatmulDesc_t, and that of a cublasLtMatrixLayout_t.
using LtGetAttribute = Status(void* descriptor, int attribute, void* buffer, std::size_t bytes, std::size_t* written);

/// cublasLtMatrixLayoutAttribute_t
inline constexpr int kLayoutType = 0, kLayoutOrder = 1, kLayoutRows = 2, kLayoutColumns = 3, kLayoutLd = 4,
                     kLayoutBatchCount = 5, kLayoutStride = 6, kLayoutBatchMode = 8;
inline constexpr std::int32_t kOrderColumn = 0;

/// cublasLtMatmulDescAttributes_t
inline constexpr int kDescComputeType = 0, kDescScaleType = 1, kDescPointerMode = 2, kDescTransA = 3, kDescTransB = 4,
                     kDescTransC = 5, kDescFillMode = 6, kDescEpilogue = 7, kDescBias = 8, kDescBiasStride = 10,
                     kDescSmCountTarget = 15, kDescBiasType = 26;
inline constexpr std::int32_t kFillFull = 2;

/// cublasLtEpilogue_t
inline constexpr std::uint32_t kEpilogueNone = 1, kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueReluBias = 6,
                               kEpilogueGelu = 32, kEpilogueGeluBias = 36;

}  // namespace mmtune::cublas
