// What the numbers and pointers of <mmtune/blas.h> mean to <mmtune/mmtune.h>. All throw UsageError for values that have
// no meaning.
#pragma once

#include <mmtune/blas.h>
#include <mmtune/mmtune.h>

#include <string_view>

namespace mmtune {

/// The type of alpha and beta, and how freely products are rounded.
enum class Compute { f16, f32, f32_fast, f32_emulated, f64, i32 };

Compute compute_of(mmtuneComputeType_t type);

/// The precision of a product of these matrices, in the order of column-major calls.
Precision precision_of(mmtuneDataType_t a, mmtuneDataType_t b, mmtuneDataType_t c, Compute compute);

/// Sets alpha and beta, which are on the host or on the device.
void set_scalars(Gemm& call, const void* alpha, const void* beta, mmtunePointerMode_t mode, Compute compute);

/// Matrices are real, so that a conjugate transpose is a transpose.
bool is_transposed(mmtuneOperation_t operation, std::string_view name);

}  // namespace mmtune
