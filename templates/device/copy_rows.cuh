// Copying a matrix to rows that begin at multiples of 16 bytes.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/numeric.cuh"

// Pieces of 16 bytes in a row of the copy.
template <class T>
__device__ __forceinline__ i64 units_of_row(i64 target_ld) {
  return target_ld / static_cast<i64>(16 / sizeof(T));
}

// Copies piece number `unit`, row by row, of a matrix that is aligned to VECTOR elements; beyond its columns are zeros.
template <int VECTOR, class T>
__device__ __forceinline__ void copy_unit(const T* source, i64 ld, i64 columns, T* target, i64 target_ld, i64 unit) {
  constexpr int COUNT = 16 / sizeof(T);
  const i64 row = unit / units_of_row<T>(target_ld);
  const i64 column = (unit - row * units_of_row<T>(target_ld)) * COUNT;
  Vector<T, COUNT> values;
#pragma unroll
  for (int i = 0; i < COUNT; i += VECTOR) {
    const auto part = load_if<VECTOR>(column + i < columns, source + row * ld + column + i);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) values.at[i + v] = part.at[v];
  }
  store_if(true, target + row * target_ld + column, values);
}
