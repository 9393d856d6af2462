// What stand-ins for instructions of tensor cores share.
#pragma once

#include "mmtune/numeric.cuh"

namespace mmtune::shim {

constexpr int kLanes = 32;

inline int lane() { return static_cast<int>(thread_index().x % kLanes); }

// What a tensor core reads of an element: of fp32 it ignores the lower 13 bits.
template <class Input>
auto read_by_tensor_core(Input element) {
  return value_of(element);
}
inline float read_by_tensor_core(float element) {
  return __builtin_bit_cast(float, __builtin_bit_cast(u32, element) & ~0x1fffu);
}

// The places where the 32 rows begin that the lanes name.
struct MatrixRows {
  unsigned at[kLanes];

  explicit MatrixRows(unsigned row) {
    if (row % 16 != 0) complain("rows of matrices must begin at multiples of 16 bytes");
    gather(&row, at, sizeof(row));
  }
  // Bytes of row `row` of matrix `matrix` from byte `byte` on.
  void* find(int matrix, int row, int byte, int bytes) const {
    return own_shared(at[matrix * 8 + row] + static_cast<unsigned>(byte), bytes);
  }
};

}  // namespace mmtune::shim
