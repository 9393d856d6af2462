// Tensor maps among the parameters of kernels: in a program for a batch (mmtune/batch.cuh) a map is over the matrices
// of all products, which are its last dimension, and a box comes from that of the block's own. Needs the rendered
// constant BATCHED.
#pragma once

#include "mmtune/tma.cuh"

// A map as KernelMap of runtime/arguments.h has it.
struct BatchMap {
  TensorMap map;
  i64 apart;  // 1 from one product's matrix to the next one's; 0: they share it

  __device__ __forceinline__ int layer() const { return static_cast<int>(blockIdx.z * apart); }
};

template <bool IN_BATCH>
struct MapOf {
  using type = TensorMap;
};
template <>
struct MapOf<true> {
  using type = BatchMap;
};

// It is passed as `const __grid_constant__ ProductMap`. What takes the address of a TensorMap takes that of a BatchMap,
// too.
using ProductMap = MapOf<BATCHED>::type;

__device__ __forceinline__ void copy_box(unsigned target, const BatchMap* map, unsigned barrier, int column, int row) {
  copy_box(target, &map->map, barrier, column, row, map->layer());
}
