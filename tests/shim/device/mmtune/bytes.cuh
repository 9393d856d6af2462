// Stands in for templates/device/bytes.cuh: the same, byte by byte.
#pragma once

#include "mmtune/numeric.cuh"

inline void widen_e4m3(float (&values)[4], u32 word) {
  for (int i = 0; i < 4; ++i) values[i] = to_float(e4m3_t{static_cast<unsigned char>(word >> 8 * i)});
}

inline void add_products_of_bytes(u32& sum, u32 x, u32 y) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<u32>(static_cast<signed char>(x >> 8 * i) * static_cast<signed char>(y >> 8 * i));
  }
}
