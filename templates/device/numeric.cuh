// The arithmetic that all kernels share. Every rendered source includes this page first and then names its types, as
// the precision's row in templates/dtype.cpp has them:
//
//     InputA, InputB  elements of A and of B, which may differ
//     Output          elements of C
//     Accumulator     partial sums; unsigned for integers, which wrap modulo 2^32: signed overflow is never formed
//     Scalar          alpha and beta
//
// A type of elements has two conversions here: value_of, to an arithmetic type, and assign, from the accumulator's.
#pragma once

#include "mmtune/fp8.cuh"
#include "mmtune/half.cuh"

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

// The value of a stored element as an arithmetic type; exact.
__device__ inline float value_of(float element) { return element; }
__device__ inline double value_of(double element) { return element; }
__device__ inline u32 value_of(int element) { return static_cast<u32>(element); }
__device__ inline float value_of(half_t element) { return to_float(element); }
__device__ inline float value_of(bfloat_t element) { return to_float(element); }
__device__ inline u32 value_of(signed char element) { return static_cast<u32>(static_cast<int>(element)); }
__device__ inline float value_of(e4m3_t element) { return to_float(element); }
__device__ inline float value_of(e5m2_t element) { return to_float(element); }

// The one rounding of a result.
__device__ inline void assign(float& element, float value) { element = value; }
__device__ inline void assign(double& element, double value) { element = value; }
__device__ inline void assign(int& element, u32 value) { element = static_cast<int>(value); }
__device__ inline void assign(half_t& element, float value) { element = to_half(value); }
__device__ inline void assign(bfloat_t& element, float value) { element = to_bfloat(value); }
__device__ inline void assign(signed char& element, u32 value) { element = static_cast<signed char>(value); }
__device__ inline void assign(e4m3_t& element, float value) { element = to_e4m3(value); }
__device__ inline void assign(e5m2_t& element, float value) { element = to_e5m2(value); }

// sum += a * b in the accumulator's arithmetic; a fused multiply-add for floating point.
template <class InputA, class InputB, class Accumulator>
__device__ inline void multiply_add(InputA a, InputB b, Accumulator& sum) {
  sum += static_cast<Accumulator>(value_of(a)) * static_cast<Accumulator>(value_of(b));
}

// factor * x + addend, rounded once. Written out, because a compiler that makes a fused multiply-add of a product and a
// sum chooses which of two products it fuses, and not the same one in every kernel.
__device__ __forceinline__ float fused_multiply_add(float factor, float x, float addend) {
  return fmaf(factor, x, addend);
}
__device__ __forceinline__ double fused_multiply_add(double factor, double x, double addend) {
  return fma(factor, x, addend);
}
__device__ __forceinline__ u32 fused_multiply_add(u32 factor, u32 x, u32 addend) { return factor * x + addend; }

// alpha * sum, never -0: so that adding beta * c = 0 * 0, as kernels without a branch do, changes no bit of it.
template <class Accumulator>
__device__ __forceinline__ Accumulator scaled(Accumulator alpha, Accumulator sum) {
  return fused_multiply_add(alpha, sum, Accumulator(0));
}

// alpha * sum + beta * c of what scaled() made. All kernels make results of sums by these two functions alone, so that
// equal sums give the same bits whatever the kernel.
template <class Accumulator>
__device__ __forceinline__ Accumulator with_addend(Accumulator scaled_sum, Accumulator beta, Accumulator c) {
  return fused_multiply_add(beta, c, scaled_sum);
}

// c = alpha * sum + beta * c, computed by the accumulator's type. With beta = 0, c is never read: it may hold anything,
// also NaN.
template <class Output, class Accumulator, class Scalar>
__device__ inline void store_result(Output* c, Accumulator sum, Scalar alpha, Scalar beta) {
  Accumulator result = scaled(static_cast<Accumulator>(alpha), sum);
  if (beta != Scalar(0)) {
    result = with_addend(result, static_cast<Accumulator>(beta), static_cast<Accumulator>(value_of(*c)));
  }
  assign(*c, result);
}
