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

// Transposes the N values of each of N lanes that are `NEAREST`, 2 * NEAREST, … lanes apart, powers of two both: value
// j of lane i of them becomes value i of lane j. All lanes of the warp must call it.
template <int NEAREST, int N, class T>
__device__ __forceinline__ void transpose_lanes(T (&values)[N]) {
#pragma unroll
  for (int distance = N / 2; distance > 0; distance /= 2) {
    const bool is_upper = threadIdx.x / (NEAREST * distance) % 2 == 1;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (j / distance % 2 == 1) continue;
      T& low = values[j];
      T& high = values[j + distance];
      const T received = __shfl_xor_sync(~0u, is_upper ? low : high, NEAREST * distance);
      low = is_upper ? received : low;
      high = is_upper ? high : received;
    }
  }
}
