// How tiles of an operand reach shared memory as [BK][ROW] values: through registers, by cp.async, or by the tensor
// memory accelerator. All three have the same four members, so that a main loop need not know which it drives:
//   fetch(depth)                       starts reading the next tile, of which `depth` steps along k exist
//   finish(tile)                       writes what fetch() read
//   fetch_ahead(tile, depth, barrier)  starts a copy that needs no finish(); a barrier or a group of copies tells its end
// Steps beyond k become zeros; positions beyond the operand's extent repeat valid ones, or become zeros.
// Needs the rendered constants BK and THREADS, and the types Element and Accumulator.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"
#include "mmtune/numeric.cuh"
#include "mmtune/tma.cuh"

// What a loader needs to know of its operand.
struct Operand {
  const Element* matrix;
  const TensorMap* map;
  i64 ld;
  i64 extent;   // of the matrix, in the direction that is not k
  i64 first;    // this block's first position there
  i64 k_begin;  // this block's part of k
};

// Moves EXTENT x BK elements per tile through registers, in vectors of VEC elements, and transposes an operand that is
// contiguous along k.
template <int EXTENT, int ROW, bool ALONG_K, int VEC>
struct RegisterLoader {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;
  // Along k, neighbouring lanes take 64 bytes, then go on in the next row: half as many requests to L2 as with sectors
  // of 32 bytes, which makes up for stores that two lanes at a time have in the same bank.
  static constexpr int kRun = 64 / (VEC * sizeof(Element)) < BK / VEC ? 64 / (VEC * sizeof(Element)) : BK / VEC;

  const Element* source[kPerThread];
  Vector<Element, VEC> staged[kPerThread];
  i64 step;  // elements from one tile to the next

  static __device__ __forceinline__ int outer(int u) {  // position in 0..EXTENT of vector u
    return ALONG_K ? u / kRun % EXTENT : u % (EXTENT / VEC) * VEC;
  }
  static __device__ __forceinline__ int inner(int u) {  // position in 0..BK of vector u
    return ALONG_K ? (u / (kRun * EXTENT) * kRun + u % kRun) * VEC : u / (EXTENT / VEC);
  }
  static __device__ __forceinline__ bool mine(int u) { return kVectors % THREADS == 0 || u < kVectors; }

  __device__ __forceinline__ explicit RegisterLoader(const Operand& operand) {
    step = ALONG_K ? BK : BK * operand.ld;
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const i64 row = smaller(operand.first + outer(u), operand.extent - (ALONG_K ? 1 : VEC));
      const i64 l = operand.k_begin + inner(u);
      source[s] = operand.matrix + (ALONG_K ? row * operand.ld + l : l * operand.ld + row);
    }
  }

  template <bool GUARDED>
  __device__ __forceinline__ void read(int depth) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (!mine(u)) continue;
      const Vector<Element, VEC> zero = {};
      const bool valid = !GUARDED || inner(u) < depth;
      staged[s] = valid ? *reinterpret_cast<const Vector<Element, VEC>*>(source[s]) : zero;
      source[s] += step;
    }
  }

  __device__ __forceinline__ void fetch(int depth) { depth < BK ? read<true>(depth) : read<false>(depth); }

  __device__ __forceinline__ void finish(Accumulator (*tile)[ROW]) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (!mine(u)) continue;
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        tile[inner(u) + (ALONG_K ? v : 0)][outer(u) + (ALONG_K ? 0 : v)] = value_of(staged[s].at[v]);
      }
    }
  }

  __device__ __forceinline__ void fetch_ahead(Accumulator (*)[ROW], int, unsigned) {}
};

// By cp.async, for an operand that lies as shared memory wants it.
template <int EXTENT, int ROW, int VEC>
struct AsyncLoader {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;

  const Element* source[kPerThread];
  i64 step;

  __device__ __forceinline__ explicit AsyncLoader(const Operand& operand) {
    step = BK * operand.ld;
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const i64 row = smaller(operand.first + u % (EXTENT / VEC) * VEC, operand.extent - VEC);
      source[s] = operand.matrix + (operand.k_begin + u / (EXTENT / VEC)) * operand.ld + row;
    }
  }

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Accumulator (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Accumulator (*tile)[ROW], int depth, unsigned) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (kVectors % THREADS != 0 && u >= kVectors) continue;
      const int l = u / (EXTENT / VEC);
      copy_async<sizeof(Element) * VEC>(shared_address(&tile[l][u % (EXTENT / VEC) * VEC]), source[s], l < depth);
      source[s] += step;
    }
  }
};

// By the tensor memory accelerator, asked by one thread, for an operand that lies as shared memory wants it.
template <int EXTENT, int ROW>
struct TmaLoader {
  const TensorMap* map;
  int column;
  int row;

  __device__ __forceinline__ explicit TmaLoader(const Operand& operand)
      : map(operand.map), column(static_cast<int>(operand.first)), row(static_cast<int>(operand.k_begin)) {}

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Accumulator (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Accumulator (*tile)[ROW], int, unsigned full) {
    if (threadIdx.x == 0) copy_box(shared_address(tile), map, column, row, full);
    row += BK;
  }
};

// The loader for LOAD = KIND: 0 registers, 1 cp.async, 2 the tensor memory accelerator.
template <int KIND, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderOf {
  using type = RegisterLoader<EXTENT, ROW, ALONG_K, VEC>;
};
template <int EXTENT, int ROW, int VEC>
struct LoaderOf<1, EXTENT, ROW, false, VEC> {
  using type = AsyncLoader<EXTENT, ROW, VEC>;
};
template <int EXTENT, int ROW, int VEC>
struct LoaderOf<2, EXTENT, ROW, false, VEC> {
  using type = TmaLoader<EXTENT, ROW>;
};
