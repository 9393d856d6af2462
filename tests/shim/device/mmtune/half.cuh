// Stands in for templates/device/half.cuh: the same types, converted by their bits.
#pragma once

struct half_t {
  unsigned short bits;
};

struct bfloat_t {
  unsigned short bits;
};

inline float to_float(half_t value) {
  const unsigned bits = value.bits & 0x7fffu;
  const float magnitude = bits > 0x7c00    ? NAN
                          : bits == 0x7c00 ? INFINITY
                                           : __builtin_bit_cast(float, bits << 13) * 0x1p112f;  // the exponents' biases
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Rounds to nearest even, as the machine does; overflows to infinity.
inline half_t to_half(float value) {
  const unsigned sign = __builtin_bit_cast(unsigned, value) >> 16 & 0x8000;
  const float magnitude = fabsf(value);
  unsigned bits = 0x7e00;  // NaN
  if (magnitude >= 65520) {
    bits = 0x7c00;
  } else if (magnitude < 0x1p-14f) {
    bits = static_cast<unsigned>(nearbyintf(ldexpf(magnitude, 24)));  // subnormal; rounds up into the normal numbers
  } else if (magnitude == magnitude) {
    const int exponent = ilogbf(magnitude);
    const auto significand = static_cast<unsigned>(nearbyintf(ldexpf(magnitude, 10 - exponent)));  // 1024 to 2048
    bits = static_cast<unsigned>(exponent + 14) * 1024 + significand;
  }
  return {static_cast<unsigned short>(sign | bits)};
}

inline float to_float(bfloat_t value) { return __builtin_bit_cast(float, static_cast<unsigned>(value.bits) << 16); }

inline bfloat_t to_bfloat(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<unsigned short>(value != value ? 0x7fffu : rounded >> 16)};
}
