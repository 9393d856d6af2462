// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C where one side of C is short: the operand of the long side (the
// wide one) is streamed from memory once, in 16-byte loads where its alignment allows.
//
//                       SIDE = 0: few rows         SIDE = 1: few columns
//     wide operand      B, extent n                A, extent m
//     narrow operand    A, extent m                B, extent n
//
// A block makes FEW x TILE results from BK steps along k per stage; WARPS_K of its warps share the steps. A thread has
// OWN x UNROLL vectors of VEC wide elements of a stage; LANES lanes of a warp have neighbouring ones:
//
//     wide operand contiguous     LANES lanes hold                a thread sums for FEW and    steps are shared by
//     along k                     LANES * VEC steps               OWN positions                LANES lanes
//     along its extent            LANES * VEC positions           OWN * VEC positions          32 / LANES lanes
//
// With STAGES > 1 they are copied asynchronously, that many stages, to shared memory, where only the thread itself
// reads them; else they are loaded to registers, with NARROW = 0 a stage ahead.
//
// LANES = 1 along k: a thread adds up the products of its positions in order, and WARPS_K warps have a part of k each,
// whose sums are added in order, too. Lanes copy for each other what lies side by side.
//
// The narrow operand passes through shared memory, widened, in two stages (NARROW = 0), or every thread loads its part
// itself (NARROW = 1). Positions beyond C are clamped or zero: they feed only results that are never stored. Steps
// beyond k are filled with zeros. Blocks may share one tile's k, as split.cuh says, and add their sums in a fixed order
// through the workspace and the kernel reduce().
#include "mmtune/batch.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/skinny_narrow.cuh"
#include "mmtune/warp.cuh"

union Shared {
  Accumulator narrow[2][NARROW == 0 ? ROWS : 1][NARROW == 0 ? ROW : 1];
  unsigned char wide[STAGES > 1 ? STAGES* STAGE_BYTES : 1];
  Accumulator partial[WARPS_K == 1 ? 1 : IN_ORDER ? WARPS_K : WARPS_K / 2][WARPS_K > 1 ? HELD* FEW : 1][WARPS_E * 32];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");

// What a thread holds of one stage.
template <class Narrow>
struct Stage {
  typename Narrow::Held narrow;
  WideVectors wide;
};

// Multiplies one stage while the next one arrives.
__device__ __forceinline__ void multiply(Sums& sums, WideSource& wide, NarrowInShared& narrow, const Lane& at,
                                         const Part& part) {
  Stage<NarrowInShared> stage;
  narrow.fetch(stage.narrow, at, part.depth(part.begin));
  wide.fetch(stage.wide, part.depth(part.begin));
  int now = 0;
  narrow.finish(now);
  for (i64 l = part.begin; l < part.end; l += BK) {
    Stage<NarrowInShared> next;
    narrow.fetch(next.narrow, at, part.depth(l + BK));
    wide.fetch(next.wide, part.depth(l + BK));
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) narrow.multiply(sums, stage.wide, stage.narrow, u, now, at);
    now ^= 1;
    narrow.finish(now);
    stage = next;
  }
}

// One stage after the other: other warps hide that it has to arrive. Two in registers take twice as many of these, and
// the compiler waits for one before it asks for the next.
template <bool IS_FLAT>
__device__ __forceinline__ void multiply(Sums& sums, WideSource& wide, NarrowInRegisters<IS_FLAT>& narrow,
                                         const Lane& at, const Part& part) {
  for (i64 l = part.begin; l < part.end; l += BK) {
    Stage<NarrowInRegisters<IS_FLAT>> stage;
    narrow.fetch(stage.narrow, at, part.depth(l));
    wide.fetch(stage.wide, part.depth(l));
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) narrow.multiply(sums, stage.wide, stage.narrow, u, 0, at);
  }
}

// The same with STAGES stages in shared memory, of which one is multiplied while the others arrive.
template <class Copies, class Narrow>
__device__ __forceinline__ void multiply(Sums& sums, Copies& wide, Narrow& narrow, const Lane& at, const Part& part) {
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) wide.start(s, part.depth(part.begin + s * BK));
  int now = 0;
  for (i64 l = part.begin; l < part.end; l += BK) {
    Stage<Narrow> stage;
    narrow.fetch(stage.narrow, at, part.depth(l));
    wait_copies<(STAGES > 1 ? STAGES - 2 : 0)>();
    if constexpr (IN_ORDER) __syncwarp();  // Others' copies have arrived, and others have read the stage before.
    const int before = now == 0 ? STAGES - 1 : now - 1;
    wide.start(before, part.depth(l + (STAGES - 1) * BK));
    wide.read(stage.wide, now);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) narrow.multiply(sums, stage.wide, stage.narrow, u, 0, at);
    now = now == STAGES - 1 ? 0 : now + 1;
  }
  wait_copies<0>();
}

__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, const Operand<WideInput>& wide_operand,
                                         const Operand<NarrowInput>& narrow_operand, i64 k, const Lane& at,
                                         const Part& part) {
  const auto wide_of = [&] {
    if constexpr (IN_ORDER) {
      return WideExchange(shared.wide, wide_operand, at, part.begin);
    } else if constexpr (STAGES > 1) {
      return WideCopies(shared.wide, wide_operand, at, part.begin);
    } else {
      return WideSource(wide_operand, at, part.begin);
    }
  };
  auto wide = wide_of();
  if constexpr (NARROW == 0) {
    NarrowInShared narrow(reinterpret_cast<NarrowInShared::Stage*>(shared.narrow), narrow_operand, part.begin);
    multiply(sums, wide, narrow, at, part);
  } else if (NarrowInRegisters<true>::is_flat(narrow_operand, k)) {
    NarrowInRegisters<true> narrow(narrow_operand, at, part.begin);
    multiply(sums, wide, narrow, at, part);
  } else {
    NarrowInRegisters<false> narrow(narrow_operand, at, part.begin);
    multiply(sums, wide, narrow, at, part);
  }
}

// Adds the sums of the warps that have a part each, in the order of k.
__device__ __forceinline__ void add_parts(Sums& sums, Shared& shared, const Lane& at) {
  const int column = at.e * 32 + threadIdx.x % 32;
  __syncthreads();  // no thread reads the stages any more
#pragma unroll
  for (int i = 0; i < HELD * FEW; ++i) shared.partial[at.k][i][column] = sums[i / FEW][i % FEW];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < HELD * FEW; ++i) {
    Accumulator total = {};
#pragma unroll
    for (int part = 0; part < WARPS_K; ++part) total += shared.partial[part][i][column];
    sums[i / FEW][i % FEW] = total;
  }
}

// Adds the sums of the warps that share the steps, halving their number until the first has them all.
__device__ __forceinline__ void add_warps(Sums& sums, Shared& shared, const Lane& at) {
  const int column = at.e * 32 + threadIdx.x % 32;
  if constexpr (WARPS_K > 1 && STAGES > 1) __syncthreads();  // no thread reads the stages any more
#pragma unroll
  for (int half = WARPS_K / 2; half > 0; half /= 2) {
    if (at.k >= half && at.k < 2 * half) {
#pragma unroll
      for (int i = 0; i < HELD * FEW; ++i) shared.partial[at.k - half][i][column] = sums[i / FEW][i % FEW];
    }
    __syncthreads();
    if (at.k < half) {
#pragma unroll
      for (int i = 0; i < HELD * FEW; ++i) sums[i / FEW][i % FEW] += shared.partial[at.k][i][column];
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
         Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<Accumulator*> partial, i64 k_tiles) {
  wait_for_previous();
  if constexpr (SPLIT == 0) launch_dependents();
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);

  // Blocks that stream the same part of the wide operand are neighbours. Divisions are left out where they can be: they
  // are a good part of what comes before the first load.
  const i64 few = SIDE == 0 ? m : n;
  const i64 extent = SIDE == 0 ? n : m;
  const Share share = share_of_block();
  u32 tile = share.tile;
  u32 narrow_tile = 0;
  if (few > FEW) {
    const u32 narrow_tiles = static_cast<u32>(ceil_div(few, FEW));
    narrow_tile = tile % narrow_tiles;
    tile /= narrow_tiles;
  }
  const i64 few0 = static_cast<i64>(narrow_tile) * FEW;
  const i64 wide0 = static_cast<i64>(tile) * TILE;

  const Lane at;
  const Operand<WideInput> wide{either<SIDE == 0>(B, A), SIDE == 0 ? ldb : lda, extent, wide0};
  const Operand<NarrowInput> narrow{either<SIDE == 0>(A, B), SIDE == 0 ? lda : ldb, few, few0};
  Sums sums = {};
  multiply(sums, shared, wide, narrow, k, at, Part(k, IN_ORDER && WARPS_K > 1 ? at.k : share.part, k_tiles));
  if constexpr (IN_ORDER && WARPS_K > 1) {
    add_parts(sums, shared, at);
  } else {
    add_warps(sums, shared, at);
  }
  if (at.k > 0) return;

#pragma unroll
  for (int h = 0; h < HELD; ++h) {
    const i64 e = wide0 + (ALONG_K ? at.position(h) : at.position(h / VEC) + h % VEC);
#pragma unroll
    for (int j = 0; j < FEW; ++j) {
      const Accumulator sum = lanes_sum < K_LANES, ALONG_K ? 1 : LANES > (sums[h][j]);
      const bool mine = at.k_lane == (h * FEW + j) % K_LANES;
      if (!mine || e >= extent || few0 + j >= few) continue;
      const i64 row = SIDE == 0 ? few0 + j : e;
      const i64 column = SIDE == 0 ? e : few0 + j;
      if constexpr (SPLIT == 0) {
        partial[(share.part * m + row) * n + column] = sum;
      } else {
        store_result(C + row * ldc + column, sum, alpha, beta);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
