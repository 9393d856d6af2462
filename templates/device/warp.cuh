// Exchanges between the lanes of a warp.
#pragma once

// The sum of the values of COUNT lanes that are `NEAREST`, 2 * NEAREST, … lanes apart, powers of two both, in the same
// order in each of them; all lanes of the warp must call it.
template <int COUNT, int NEAREST, class T>
__device__ __forceinline__ T lanes_sum(T value) {
#pragma unroll
  for (int distance = NEAREST * COUNT / 2; distance >= NEAREST; distance /= 2) {
    value += __shfl_xor_sync(~0u, value, distance);
  }
  return value;
}
