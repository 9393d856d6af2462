// cuBLAS and cuBLASLt as an opponent, opened at run time; building mmtune needs at most their headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/compare/opponent.h"

namespace mmtune {

/// The files to try for "libcublas" or "libcublasLt", in order: in the directories, then where the loader searches by
/// itself, which LD_LIBRARY_PATH extends.
std::vector<std::string> cublas_candidates(const std::string& name, const std::vector<std::string>& directories);

/// The entries are
///   cublas    cublasGemmEx with its default algorithm, and with the one that it finds by CUBLAS_GEMM_AUTOTUNE,
///   cublaslt  the first 16 algorithms of cublasLt's heuristic, with up to 64 MiB of workspace;
/// both in the precision's own arithmetic: fp32 and fp64 in themselves (never TF32), fp16 and bf16 with fp32 sums, fp8
/// with promotion. int32 and e5m2 have no algorithm. A row-major product is computed as its transpose, op(B)' * op(A)',
/// which is the same memory in the column-major order of BLAS.
///
/// With `starved` there is 1 KiB of workspace, which keeps most algorithms that cut k from being taken: a common remedy
/// for bits that depend on the number of rows.
///
/// Tries cublas_candidates() for both libraries. The context to use must be current, and outlive the opponent. Throws
/// DeviceError that says where it looked and what to do.
std::unique_ptr<Opponent> make_cublas_opponent(const std::vector<std::string>& directories, bool starved = false);

}  // namespace mmtune
