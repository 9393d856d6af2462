#include "runtime/c/blas_values.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/c/c_library.h"

namespace mmtune {
namespace {

struct KnownProduct {
  mmtuneDataType_t a, b, c;
  Compute compute;
  Precision precision;
};

constexpr KnownProduct kKnownProducts[] = {
    {MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, Compute::f32, Precision::fp32},
    {MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, Compute::f32_fast, Precision::tf32},
    {MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_32F, Compute::f32_emulated, Precision::fp32_emulated},
    {MMTUNE_BLAS_R_64F, MMTUNE_BLAS_R_64F, MMTUNE_BLAS_R_64F, Compute::f64, Precision::fp64},
    {MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_16F, Compute::f16, Precision::fp16},
    {MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_16F, Compute::f32, Precision::fp16},
    {MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_16F, MMTUNE_BLAS_R_32F, Compute::f32, Precision::fp16_fp32},
    {MMTUNE_BLAS_R_16BF, MMTUNE_BLAS_R_16BF, MMTUNE_BLAS_R_16BF, Compute::f32, Precision::bf16},
    {MMTUNE_BLAS_R_16BF, MMTUNE_BLAS_R_16BF, MMTUNE_BLAS_R_32F, Compute::f32, Precision::bf16_fp32},
    {MMTUNE_BLAS_R_8I, MMTUNE_BLAS_R_8I, MMTUNE_BLAS_R_32I, Compute::i32, Precision::int8},
    {MMTUNE_BLAS_R_32I, MMTUNE_BLAS_R_32I, MMTUNE_BLAS_R_32I, Compute::i32, Precision::int32},
    {MMTUNE_BLAS_R_8F_E4M3, MMTUNE_BLAS_R_8F_E4M3, MMTUNE_BLAS_R_16BF, Compute::f32, Precision::e4m3_bf16},
    {MMTUNE_BLAS_R_8F_E4M3, MMTUNE_BLAS_R_8F_E4M3, MMTUNE_BLAS_R_32F, Compute::f32, Precision::e4m3_fp32},
    {MMTUNE_BLAS_R_8F_E5M2, MMTUNE_BLAS_R_8F_E5M2, MMTUNE_BLAS_R_16BF, Compute::f32, Precision::e5m2_bf16},
    {MMTUNE_BLAS_R_8F_E5M2, MMTUNE_BLAS_R_8F_E5M2, MMTUNE_BLAS_R_32F, Compute::f32, Precision::e5m2_fp32},
    // The first factor of a column-major product is B of the row-major one.
    {MMTUNE_BLAS_R_32F, MMTUNE_BLAS_R_16BF, MMTUNE_BLAS_R_32F, Compute::f32, Precision::bf16_x_fp32},
};

/// The value of an IEEE 754 binary16.
double from_fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) return fraction != 0 ? std::nan("") : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <class T>
T number_at(const void* pointer) {
  T value;
  std::memcpy(&value, pointer, sizeof(T));
  return value;
}

double scalar(const void* pointer, std::string_view name, Compute compute) {
  if (pointer == nullptr) throw UsageError(fmt::format("{}: null pointer; pass a number of the host", name));
  switch (compute) {
    case Compute::f16:
      return from_fp16(number_at<std::uint16_t>(pointer));
    case Compute::f64:
      return number_at<double>(pointer);
    case Compute::i32:
      return number_at<std::int32_t>(pointer);
    case Compute::f32:
    case Compute::f32_fast:
    case Compute::f32_emulated:
      break;
  }
  return number_at<float>(pointer);
}

}  // namespace

Compute compute_of(mmtuneComputeType_t type) {
  switch (type) {
    case MMTUNE_BLAS_COMPUTE_16F:
    case MMTUNE_BLAS_COMPUTE_16F_PEDANTIC:
      return Compute::f16;
    case MMTUNE_BLAS_COMPUTE_32F:
    case MMTUNE_BLAS_COMPUTE_32F_PEDANTIC:
      return Compute::f32;
    case MMTUNE_BLAS_COMPUTE_32F_FAST_16F:
    case MMTUNE_BLAS_COMPUTE_32F_FAST_16BF:
    case MMTUNE_BLAS_COMPUTE_32F_FAST_TF32:
      return Compute::f32_fast;
    case MMTUNE_BLAS_COMPUTE_32F_EMULATED_16BFX9:
      return Compute::f32_emulated;
    case MMTUNE_BLAS_COMPUTE_64F:
    case MMTUNE_BLAS_COMPUTE_64F_PEDANTIC:
      return Compute::f64;
    case MMTUNE_BLAS_COMPUTE_32I:
    case MMTUNE_BLAS_COMPUTE_32I_PEDANTIC:
      return Compute::i32;
    default:
      throw UsageError(fmt::format("computeType = {}: unknown; use a MMTUNE_BLAS_COMPUTE_…", type));
  }
}

Precision precision_of(mmtuneDataType_t a, mmtuneDataType_t b, mmtuneDataType_t c, Compute compute) {
  const auto found = std::find_if(std::begin(kKnownProducts), std::end(kKnownProducts), [&](const KnownProduct& known) {
    return known.a == a && known.b == b && known.c == c && known.compute == compute;
  });
  if (found != std::end(kKnownProducts)) return found->precision;
  throw UsageError(
      fmt::format("Atype = {}, Btype = {}, Ctype = {} with this computeType: no such product here; docs/library.md "
                  "lists those that exist",
                  a, b, c));
}

void set_scalars(Gemm& call, const void* alpha, const void* beta, mmtunePointerMode_t mode, Compute compute) {
  if (mode == MMTUNE_BLAS_POINTER_MODE_HOST) {
    call.alpha = scalar(alpha, "alpha", compute);
    call.beta = scalar(beta, "beta", compute);
    return;
  }
  if (compute == Compute::f16) {
    throw UsageError("alpha and beta are fp16 on the device: kernels read float there; use a compute type 32F");
  }
  call.device_alpha = &required(static_cast<const char*>(alpha), "alpha");
  call.device_beta = &required(static_cast<const char*>(beta), "beta");
}

bool is_transposed(mmtuneOperation_t operation, std::string_view name) {
  if (operation == MMTUNE_BLAS_OP_N) return false;
  if (operation == MMTUNE_BLAS_OP_T || operation == MMTUNE_BLAS_OP_C) return true;
  throw UsageError(fmt::format("{} = {}: use MMTUNE_BLAS_OP_N, MMTUNE_BLAS_OP_T or MMTUNE_BLAS_OP_C", name, operation));
}

}  // namespace mmtune
