// How tiles of an operand reach shared memory as [BK][ROW] values: through registers, by cp.async, or by the tensor
// memory accelerator. All three have the same four members, so that a main loop need not know which it drives:
//   fetch(depth)                       starts reading the next tile, of which `depth` steps along k exist
//   finish(tile)                       writes what fetch() read
//   fetch_ahead(tile, depth, barrier)  starts a copy that needs no finish(); a barrier or a group of copies tells its
//   end
// Steps beyond k become zeros; positions beyond the operand's extent become zeros, too, or repeat valid ones.
// Needs the rendered constants BK and THREADS, and the type Accumulator.
#pragma once

#include "mmtune/batch_map.cuh"
#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"
#include "mmtune/numeric.cuh"

// What a loader needs to know of its operand.
template <class Input>
struct Operand {
  const Input* matrix;
  const ProductMap* map;
  i64 ld;
  i64 extent;   // the matrix's extent in the direction that is not k
  i64 first;    // this block's first position there
  i64 k_begin;  // this block's part of k
};

// The vectors of VEC elements that a thread moves of every tile of EXTENT x BK elements, and where they are in memory.
template <class Input, int EXTENT, bool ALONG_K, int VEC>
struct ThreadShare {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;
  // Along k, neighbouring lanes take 64 bytes, then go on in the next row: half as many requests to L2 as with sectors
  // of 32 bytes, which makes up for stores that two lanes at a time have in the same bank.
  static constexpr int kRun = 64 / (VEC * sizeof(Input)) < BK / VEC ? 64 / (VEC * sizeof(Input)) : BK / VEC;
  static constexpr int kLayer = ALONG_K ? EXTENT * kRun : EXTENT / VEC;  // vectors until the same rows come again
  // Whether a thread's vectors lie at constant distances: then it needs no more pointers than it has rows in a layer.
  static constexpr bool kRegular =
      kVectors % THREADS == 0 && (kLayer % THREADS == 0 || THREADS % kLayer == 0) && (!ALONG_K || THREADS % kRun == 0);
  static constexpr int kPointers = !kRegular ? kPerThread : kLayer > THREADS ? kLayer / THREADS : 1;
  static constexpr int kSteps = BK * kPointers / kPerThread;  // along k between two vectors of one pointer

  const Input* source[kPointers];
  i64 step;  // elements between two vectors of one pointer, or from tile to tile if these are along k

  static __device__ constexpr int outer_of(int u) {  // position in 0..EXTENT of the tile's vector u
    return ALONG_K ? u / kRun % EXTENT : u % (EXTENT / VEC) * VEC;
  }
  static __device__ constexpr int inner_of(int u) {  // position in 0..BK
    return ALONG_K ? (u / kLayer * kRun + u % kRun) * VEC : u / kLayer;
  }

  // The same for this thread's vector s.
  static __device__ __forceinline__ int outer(int s) {
    const int thread = threadIdx.x;
    return kRegular ? outer_of(thread) + outer_of(s * THREADS) : outer_of(thread + s * THREADS);
  }
  static __device__ __forceinline__ int inner(int s) {
    const int thread = threadIdx.x;
    return kRegular ? inner_of(thread) + inner_of(s * THREADS) : inner_of(thread + s * THREADS);
  }
  // Where it goes in a tile.
  template <int ROW>
  static __device__ __forceinline__ Accumulator* place(Accumulator (*tile)[ROW], int s) {
    if constexpr (kRegular) {
      return &tile[inner(0)][outer(0)] + inner_of(s * THREADS) * ROW + outer_of(s * THREADS);
    } else {
      return &tile[inner(s)][outer(s)];
    }
  }
  // Whether the thread has a vector s.
  static __device__ __forceinline__ bool has(int s) {
    return (s + 1) * THREADS <= kVectors || static_cast<int>(threadIdx.x) < kVectors - s * THREADS;
  }

  __device__ __forceinline__ explicit ThreadShare(const Operand<Input>& operand) {
    step = ALONG_K ? BK : kSteps * operand.ld;
#pragma unroll
    for (int s = 0; s < kPointers; ++s) {
      const i64 row = smaller(operand.first + outer(s), operand.extent - (ALONG_K ? 1 : VEC));
      const i64 l = operand.k_begin + inner(s);
      source[s] = operand.matrix + (ALONG_K ? row * operand.ld + l : l * operand.ld + row);
    }
  }

  // Where vector s of the next tile is. To be asked for one s after the other, and so tile after tile.
  __device__ __forceinline__ const Input* take(int s) {
    const Input*& next = source[s % kPointers];
    const Input* const here = next + (ALONG_K ? s / kPointers * kSteps : 0);
    if (!ALONG_K) next += step;
    return here;
  }
  __device__ __forceinline__ void next_tile() {
#pragma unroll
    for (int s = 0; ALONG_K && s < kPointers; ++s) source[s] += step;
  }
};

// Through registers; transposes an operand that is contiguous along k.
template <class Input, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct RegisterLoader {
  using Share = ThreadShare<Input, EXTENT, ALONG_K, VEC>;

  Share share;
  Vector<Input, VEC> staged[Share::kPerThread];

  __device__ __forceinline__ explicit RegisterLoader(const Operand<Input>& operand) : share(operand) {}

  template <bool GUARDED>
  __device__ __forceinline__ void read(int depth) {
#pragma unroll
    for (int s = 0; s < Share::kPerThread; ++s) {
      if (!share.has(s)) continue;
      const Vector<Input, VEC> zero = {};
      const Input* const source = share.take(s);
      const bool valid = !GUARDED || share.inner(s) < depth;
      staged[s] = valid ? *reinterpret_cast<const Vector<Input, VEC>*>(source) : zero;
    }
  }

  __device__ __forceinline__ void fetch(int depth) {
    depth < BK ? read<true>(depth) : read<false>(depth);
    share.next_tile();
  }

  __device__ __forceinline__ void finish(Accumulator (*tile)[ROW]) {
#pragma unroll
    for (int s = 0; s < Share::kPerThread; ++s) {
      if (!share.has(s)) continue;
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        share.place(tile, s)[ALONG_K ? v * ROW : v] = value_of(staged[s].at[v]);
      }
    }
  }

  __device__ __forceinline__ void fetch_ahead(Accumulator (*)[ROW], int, unsigned) {}
};

// A loader by cp.async; along k element by element, which transposes on the way.
template <class Input, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct AsyncLoader {
  static_assert(!ALONG_K || VEC == 1, "neighbours along k go to different rows");
  using Share = ThreadShare<Input, EXTENT, ALONG_K, VEC>;

  Share share;
  // Where each pointer's first vector is along k; beyond the tile if its position is beyond the operand's extent. It is
  // not read then: lanes that copy the same element one by one were measured to take up to twice the time.
  int inner[Share::kPointers];

  __device__ __forceinline__ explicit AsyncLoader(const Operand<Input>& operand) : share(operand) {
#pragma unroll
    for (int s = 0; s < Share::kPointers; ++s) {
      inner[s] = share.inner(s) + (operand.first + share.outer(s) < operand.extent ? 0 : BK);
    }
  }

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Accumulator (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Accumulator (*tile)[ROW], int depth, unsigned) {
#pragma unroll
    for (int s = 0; s < Share::kPerThread; ++s) {
      if (!share.has(s)) continue;
      const bool valid = inner[s % Share::kPointers] + s / Share::kPointers * Share::kSteps < depth;
      copy_async<sizeof(Input) * VEC>(shared_address(share.place(tile, s)), share.take(s), valid);
    }
    share.next_tile();
  }
};

// A loader by the tensor memory accelerator, asked by one thread, for an operand that lies as shared memory wants it.
template <class Input, int EXTENT, int ROW>
struct TmaLoader {
  const ProductMap* map;
  int column;
  int row;

  __device__ __forceinline__ explicit TmaLoader(const Operand<Input>& operand)
      : map(operand.map), column(static_cast<int>(operand.first)), row(static_cast<int>(operand.k_begin)) {}

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Accumulator (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Accumulator (*tile)[ROW], int, unsigned full) {
    if (threadIdx.x == 0) copy_box(shared_address(tile), map, full, column, row);
    row += BK;
  }
};

// The loader for LOAD = KIND: 0 registers, 1 cp.async, 2 the tensor memory accelerator, 3 cp.async whatever the
// operand.
template <int KIND, class Input, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderOf {
  using type = RegisterLoader<Input, EXTENT, ROW, ALONG_K, VEC>;
};
template <class Input, int EXTENT, int ROW, int VEC>
struct LoaderOf<1, Input, EXTENT, ROW, false, VEC> {
  using type = AsyncLoader<Input, EXTENT, ROW, false, VEC>;
};
template <class Input, int EXTENT, int ROW, int VEC>
struct LoaderOf<2, Input, EXTENT, ROW, false, VEC> {
  using type = TmaLoader<Input, EXTENT, ROW>;
};
template <class Input, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderOf<3, Input, EXTENT, ROW, ALONG_K, VEC> {
  using type = AsyncLoader<Input, EXTENT, ROW, ALONG_K, ALONG_K ? 1 : VEC>;
};
