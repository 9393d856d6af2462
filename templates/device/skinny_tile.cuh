// What a block of the family skinny computes, and its vectors of the wide operand. Needs the family's rendered
// constants; templates/families/skinny/kernel.cu has the picture.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"
#include "mmtune/packed.cuh"
#include "mmtune/split.cuh"

// Whether the narrow operand is contiguous along k, as ALONG_K says of the wide one:
constexpr bool NARROW_ALONG_K = SIDE == 0 ? !TRANSPOSE_A : TRANSPOSE_B;

constexpr bool IN_ORDER = LANES == 1;                // whether a thread adds up its products in the order of k
constexpr int WARPS_E = WARPS / WARPS_K;            // warps along the extent
constexpr int SPAN = LANES * VEC;                   // neighbouring elements that a warp's vector load covers
constexpr int ACROSS = 32 / LANES;                  // such runs of a load, in the other direction
constexpr int K_LANES = ALONG_K ? LANES : ACROSS;   // lanes that share the steps
constexpr int STEPS = ALONG_K ? SPAN : ACROSS;      // steps along k of a load
constexpr int POSITIONS = ALONG_K ? ACROSS : SPAN;  // positions of a load
constexpr int HELD = OWN * (ALONG_K ? 1 : VEC);     // positions per thread
static_assert(THREADS == WARPS * 32 && TILE == WARPS_E * OWN * POSITIONS &&
                  BK == (IN_ORDER ? 1 : WARPS_K) * UNROLL * STEPS,
              "host and kernel disagree on the block");

// x or y, which may differ in type.
template <bool FIRST, class X, class Y>
__device__ constexpr auto either(X x, Y y) {
  if constexpr (FIRST) {
    return x;
  } else {
    return y;
  }
}
using WideInput = decltype(either<SIDE == 0>(InputB{}, InputA{}));
using NarrowInput = decltype(either<SIDE == 0>(InputA{}, InputB{}));

using Sums = Accumulator[HELD][FEW];

struct Lane {
  int k = threadIdx.x / 32 % WARPS_K;     // the number among the warps that share the steps
  int e = threadIdx.x / 32 / WARPS_K;     // the number among the warps along the extent
  int along = threadIdx.x % LANES;        // the number among the lanes of a run
  int across = threadIdx.x % 32 / LANES;  // the number of the run
  int k_lane = ALONG_K ? along : across;  // the number among the lanes that share the steps
  int share = IN_ORDER ? 0 : k;           // the number among the warps that share a stage's steps
  // The first step of a stage.
  int step = ALONG_K ? share * UNROLL * SPAN + along * VEC : (share * ACROSS + across) * UNROLL;

  // The position of vector o's first element within the block's tile.
  __device__ __forceinline__ int position(int o) const {
    return (e * OWN + o) * POSITIONS + (ALONG_K ? across : along * VEC);
  }
};
constexpr int NEXT_STEP = ALONG_K ? SPAN : 1;  // the distance from one of a thread's UNROLL vectors to the next

template <class Input>
struct Operand {
  const Input* matrix;
  i64 ld;
  i64 extent;  // the extent in the direction that is not k
  i64 first;   // this block's first position there
};

// This warp's steps.
struct Part {
  i64 begin;
  i64 end;

  // Part `number`; `k_tiles` is what the launch says.
  __device__ __forceinline__ Part(i64 k, u32 number, i64 k_tiles) : begin(0), end(k) {
    if constexpr (SPLIT == 0 || IN_ORDER) {
      const i64 length = k_tiles * BK;
      begin = smaller(number * length, k);
      end = smaller(begin + length, k);
    }
  }

  // Steps of the stage at l that exist.
  __device__ __forceinline__ int depth(i64 l) const { return static_cast<int>(smaller(end - l, BK)); }
};

// A thread's vectors of one stage of the wide operand.
using WideVectors = Packed<WideInput, VEC>[OWN][UNROLL];

// Where a thread finds its vectors.
struct WideSource {
  const WideInput* next[OWN];  // the vectors of the next stage
  i64 stride;                  // the distance from one of the UNROLL loads to the next
  int step;                    // the step of the thread's first vector within a stage

  __device__ __forceinline__ WideSource(const Operand<WideInput>& operand, const Lane& at, i64 begin) : step(at.step) {
    stride = ALONG_K ? SPAN : operand.ld;
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
      const i64 wanted = operand.first + at.position(o);
      const i64 e = smaller(wanted, operand.extent - (ALONG_K ? 1 : VEC));
      next[o] = operand.matrix + offset_of<!ALONG_K>(e, begin + step, operand.ld);
    }
  }

  // Calls take(o, u, address, exists) for all vectors of the next stage, of which `depth` steps exist.
  template <class Take>
  __device__ __forceinline__ void for_each(int depth, const Take& take) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int o = 0; o < OWN; ++o) take(o, u, next[o] + u * stride, step + u * NEXT_STEP < depth);
    }
#pragma unroll
    for (int o = 0; o < OWN; ++o) next[o] += ALONG_K ? BK : BK * stride;
  }

  __device__ __forceinline__ void fetch(WideVectors& vectors, int depth) {
    for_each(depth, [&](int o, int u, const WideInput* address, bool exists) {
      vectors[o][u] = load_packed<VEC>(exists, address);
    });
  }
};

// STAGES > 1: vectors on their way to shared memory, each to a place that belongs to the thread alone: it waits for no
// other.
constexpr int WIDE_BYTES = VEC * sizeof(WideInput);
constexpr int COPY_BYTES = WIDE_BYTES < 4 ? 4 : WIDE_BYTES;  // fewer cannot be copied, and STAGES is 1
constexpr int STAGE_BYTES = OWN * UNROLL * THREADS * WIDE_BYTES;
struct WideCopies {
  WideSource source;
  unsigned char* places;  // the thread's places

  __device__ __forceinline__ WideCopies(unsigned char* shared, const Operand<WideInput>& operand, const Lane& at,
                                        i64 begin)
      : source(operand, at, begin), places(shared + threadIdx.x * WIDE_BYTES) {}

  __device__ __forceinline__ unsigned char* place(int stage, int o, int u) const {
    return places + stage * STAGE_BYTES + (o * UNROLL + u) * (THREADS * WIDE_BYTES);
  }

  // Starts to copy the next stage, of which `depth` steps exist.
  __device__ __forceinline__ void start(int stage, int depth) {
    source.for_each(depth, [&](int o, int u, const WideInput* address, bool exists) {
      copy_async<COPY_BYTES>(shared_address(place(stage, o, u)), address, exists);
    });
    commit_copies();
  }

  __device__ __forceinline__ void read(WideVectors& vectors, int stage) const {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int o = 0; o < OWN; ++o) {
        vectors[o][u] = *reinterpret_cast<const Packed<WideInput, VEC>*>(place(stage, o, u));
      }
    }
  }
};

// IN_ORDER: a warp's vectors on their way to shared memory. UNROLL neighbouring lanes copy the vectors of one position
// that lie side by side, so that whole lines are read from memory; each lane reads those of its own positions.
struct WideExchange {
  static constexpr int AT_ONCE = 32 / UNROLL;  // the positions of which a warp copies vectors at once

  const WideInput* next;  // where the thread's first vector of the next stage would be at position 0
  i64 ld;
  i64 first;  // the thread's first position
  i64 last;   // the last position that exists
  int step;   // the first step of the thread's vectors within a stage
  unsigned char* places;  // the warp's places

  __device__ __forceinline__ WideExchange(unsigned char* shared, const Operand<WideInput>& operand, const Lane& at,
                                          i64 begin)
      : ld(operand.ld), last(operand.extent - 1) {
    step = at.step + threadIdx.x % UNROLL * VEC;
    next = operand.matrix + begin + step;
    first = operand.first + at.e * OWN * POSITIONS + threadIdx.x % 32 / UNROLL;
    places = shared + threadIdx.x / 32 * (OWN * UNROLL * 32 * WIDE_BYTES);
  }

  // Lanes that read a vector each, of neighbouring positions, find them in different banks.
  __device__ __forceinline__ unsigned char* place(int stage, int position, int vector) const {
    const int turned = vector ^ (position * UNROLL / 8 % UNROLL);
    return places + stage * STAGE_BYTES + (position * UNROLL + turned) * WIDE_BYTES;
  }

  // Starts to copy the next stage, of which `depth` steps exist.
  __device__ __forceinline__ void start(int stage, int depth) {
#pragma unroll
    for (int c = 0; c < OWN * UNROLL; ++c) {
      const int position = c * AT_ONCE + threadIdx.x % 32 / UNROLL;
      const WideInput* const source = next + smaller(first + c * AT_ONCE, last) * ld;
      const unsigned target = shared_address(place(stage, position, threadIdx.x % UNROLL));
      copy_async<COPY_BYTES, true>(target, source, step < depth);
    }
    next += BK;
    commit_copies();
  }

  __device__ __forceinline__ void read(WideVectors& vectors, int stage) const {
#pragma unroll
    for (int i = 0; i < OWN * UNROLL; ++i) {
      const int position = i / UNROLL * 32 + threadIdx.x % 32;
      vectors[i / UNROLL][i % UNROLL] =
          *reinterpret_cast<const Packed<WideInput, VEC>*>(place(stage, position, i % UNROLL));
    }
  }
};
