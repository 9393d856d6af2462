// The 16-bit storage formats and their conversions to and from float. NVRTC brings no headers, so the types are ours:
// plain bits, so that they may lie in shared memory and be copied by the word.
#pragma once

struct half_t {
  unsigned short bits;  // IEEE 754 binary16
};

struct bfloat_t {
  unsigned short bits;  // the upper half of an IEEE 754 binary32
};

// PTX ISA, Data Movement and Conversion Instructions: cvt. Exact.
__device__ inline float to_float(half_t value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

// PTX ISA, Data Movement and Conversion Instructions: cvt. Rounds to nearest even; overflows to infinity.
__device__ inline half_t to_half(float value) {
  half_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}

// Exact: the missing bits are zero.
__device__ inline float to_float(bfloat_t value) { return __uint_as_float(static_cast<unsigned>(value.bits) << 16); }

// Rounds to nearest even; overflows to infinity; a NaN stays a NaN.
__device__ inline bfloat_t to_bfloat(float value) {
  bfloat_t result;
#if __CUDA_ARCH__ >= 800
  // PTX ISA, Data Movement and Conversion Instructions: cvt; bf16 from compute capability 8.0 on.
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
  const unsigned bits = __float_as_uint(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);  // a tie goes to the even neighbour
  result.bits = static_cast<unsigned short>(is_nan ? 0x7fffu : rounded >> 16);
#endif
  return result;
}
