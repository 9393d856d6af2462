// The 8-bit floating-point formats and their conversions to and from float, in integer arithmetic: PTX has them from
// compute capability 8.9 on only. Open Compute Project, OFP8: 8-bit Floating Point Specification, Revision 1.0.
#pragma once

#include "mmtune/half.cuh"

struct e4m3_t {
  unsigned char bits;  // sign, 4 bits of exponent, 3 of fraction; no infinities, and 0x7f and 0xff are NaN
};

struct e5m2_t {
  unsigned char bits;  // sign, 5 bits of exponent, 2 of fraction: the upper half of an IEEE 754 binary16
};

// Exact.
__device__ inline float to_float(e5m2_t value) {
  return to_float(half_t{static_cast<unsigned short>(value.bits << 8)});
}

// Exact: read as a half, the exponent is too low by the difference of the biases, 15 - 7.
__device__ inline float to_float(e4m3_t value) {
  const bool is_nan = (value.bits & 0x7f) == 0x7f;
  const unsigned short sign = static_cast<unsigned short>((value.bits & 0x80) << 8);
  const unsigned short magnitude = static_cast<unsigned short>(is_nan ? 0x7e00 : (value.bits & 0x7f) << 7);
  return 256 * to_float(half_t{static_cast<unsigned short>(sign | magnitude)});
}

// The bits of the nearest value, ties to even, with LARGEST for all that is beyond: as PTX's cvt.rn.satfinite.
template <int FRACTION_BITS, int BIAS, unsigned LARGEST>
__device__ inline unsigned char to_fp8_bits(float value) {
  constexpr int DROPPED = 23 - FRACTION_BITS;
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned magnitude = bits & 0x7fffffffu;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + BIAS;  // the format's; below 1: a subnormal
  unsigned rounded = 0;
  if (exponent >= 1) {
    const unsigned even = magnitude + ((1u << (DROPPED - 1)) - 1) + (magnitude >> DROPPED & 1);
    rounded = (even >> DROPPED) - ((127u - BIAS) << FRACTION_BITS);
  } else if (exponent >= -FRACTION_BITS) {
    const unsigned significand = (magnitude & 0x7fffffu) | 0x800000u;
    const int dropped = DROPPED + 1 - exponent;
    const unsigned even = significand + ((1u << (dropped - 1)) - 1) + (significand >> dropped & 1);
    rounded = even >> dropped;
  }
  if (rounded > LARGEST) rounded = LARGEST;
  if (magnitude > 0x7f800000u) rounded = 0x7f;
  return static_cast<unsigned char>((bits >> 24 & 0x80) | rounded);
}

__device__ inline e4m3_t to_e4m3(float value) { return {to_fp8_bits<3, 7, 0x7e>(value)}; }
__device__ inline e5m2_t to_e5m2(float value) { return {to_fp8_bits<2, 15, 0x7b>(value)}; }
