// Exchanges between the lanes of a warp.
#pragma once

// The sum of all 32 lanes' values, in the same order in every lane; all lanes must call it.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
