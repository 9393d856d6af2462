// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C where one side of C is short: the operand of the long side (the
// wide one) is streamed from memory once, in 16-byte loads where its alignment allows, a stage ahead in registers.
//
//                       SIDE = 0: few rows         SIDE = 1: few columns
//     wide operand      B, extent n                A, extent m
//     narrow operand    A, extent m                B, extent n
//
// A block makes FEW x TILE results from BK steps along k per stage; WARPS_K of its warps share the steps. A thread has
// OWN x UNROLL vectors of VEC wide elements in flight:
//
//     wide operand contiguous     a warp's lanes hold                 a thread sums for FEW and
//     along k                     32 * VEC neighbouring steps         OWN positions; lanes are added at the end
//     along its extent            32 * VEC neighbouring positions     OWN * VEC positions
//
// The narrow operand passes through shared memory, widened, in two stages. Positions beyond C are clamped or zero: they
// feed only results that are never stored. Steps beyond k are filled with zeros. SPLIT blocks share one tile's k and
// add their sums in a fixed order through the workspace and the kernel reduce().
#include "mmtune/batch.cuh"
#include "mmtune/copy.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/warp.cuh"

// ALONG_K says that the wide operand is contiguous along k; so is the narrow one:
constexpr bool NARROW_ALONG_K = SIDE == 0 ? !TRANSPOSE_A : TRANSPOSE_B;

constexpr int WARPS_E = WARPS / WARPS_K;         // warps along the extent
constexpr int SPAN = 32 * VEC;                   // elements that a warp's vector load covers
constexpr int STEPS = ALONG_K ? SPAN : 1;        // steps along k of such a load
constexpr int POSITIONS = ALONG_K ? 1 : SPAN;    // positions of such a load
constexpr int HELD = OWN * (ALONG_K ? 1 : VEC);  // positions per thread
constexpr int MANY = 16 / sizeof(Accumulator);   // sums in 16 bytes
constexpr int GROUP = ALONG_K ? (VEC < MANY ? VEC : MANY) : (FEW < MANY ? FEW : MANY);  // narrow values read at once
constexpr int ROW = (ALONG_K ? BK : FEW) + MANY;  // padded, so that transposed stores meet fewer bank conflicts
constexpr int ROWS = ALONG_K ? FEW : BK;

union Shared {
  Accumulator narrow[2][ROWS][ROW];
  Accumulator partial[WARPS_K > 1 ? WARPS_K / 2 : 1][WARPS_K > 1 ? HELD* FEW : 1][WARPS_E * 32];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == WARPS * 32 && TILE == WARPS_E * OWN * POSITIONS && BK == WARPS_K * UNROLL * STEPS,
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

struct Lane {
  int lane = threadIdx.x % 32;
  int k = threadIdx.x / 32 % WARPS_K;  // of the warps that share the steps
  int e = threadIdx.x / 32 / WARPS_K;  // of the warps along the extent
};

template <class Input>
struct Operand {
  const Input* matrix;
  i64 ld;
  i64 extent;  // in the direction that is not k
  i64 first;   // this block's first position there
};

// This block's steps.
struct Part {
  i64 begin;
  i64 end;

  __device__ __forceinline__ Part(i64 k, i64 split) {
    const i64 share = ceil_div(ceil_div(k, BK), SPLIT) * BK;
    begin = smaller(split * share, k);
    end = smaller(begin + share, k);
  }
};

// A thread's vectors of one stage of the wide operand.
struct Wide {
  const WideInput* source[OWN];
  i64 stride;  // from one of the UNROLL loads to the next
  int step;    // of the thread's first vector within a stage

  __device__ __forceinline__ Wide(const Operand<WideInput>& operand, const Lane& at, i64 begin) {
    step = at.k * UNROLL * STEPS + (ALONG_K ? at.lane * VEC : 0);
    stride = ALONG_K ? SPAN : operand.ld;
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
      const i64 wanted = operand.first + position(at, o);
      const i64 e = smaller(wanted, operand.extent - (ALONG_K ? 1 : VEC));
      source[o] = operand.matrix + offset_of<!ALONG_K>(e, begin + step, operand.ld);
    }
  }

  // Within the block's tile, of the first element of vector o.
  static __device__ __forceinline__ int position(const Lane& at, int o) {
    return (at.e * OWN + o) * POSITIONS + (ALONG_K ? 0 : at.lane * VEC);
  }

  // The next stage, of which `depth` steps exist.
  __device__ __forceinline__ void fetch(Vector<WideInput, VEC> (&vectors)[OWN][UNROLL], i64 depth) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int o = 0; o < OWN; ++o) {
        const Vector<WideInput, VEC> zero = {};
        const auto* const address = reinterpret_cast<const Vector<WideInput, VEC>*>(source[o] + u * stride);
        vectors[o][u] = step + u * STEPS < depth ? *address : zero;
      }
    }
#pragma unroll
    for (int o = 0; o < OWN; ++o) source[o] += ALONG_K ? BK : BK * stride;
  }
};

// Moves FEW x BK elements of the narrow operand per stage: fetch() reads them, finish() writes them to shared memory.
struct Narrow {
  static constexpr int kElements = FEW * BK;
  static constexpr int kPerThread = (kElements + THREADS - 1) / THREADS;

  const NarrowInput* matrix;
  i64 ld;
  int rows;  // of FEW, that exist
  NarrowInput staged[kPerThread];

  __device__ __forceinline__ Narrow(const Operand<NarrowInput>& operand, i64 begin)
      : matrix(operand.matrix + offset_of<!NARROW_ALONG_K>(operand.first, begin, operand.ld)),
        ld(operand.ld),
        rows(static_cast<int>(smaller(FEW, operand.extent - operand.first))) {}

  static __device__ __forceinline__ int row(int u) { return NARROW_ALONG_K ? u / BK : u % FEW; }
  static __device__ __forceinline__ int step(int u) { return NARROW_ALONG_K ? u % BK : u / FEW; }

  __device__ __forceinline__ void fetch(i64 depth) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const bool exists = u < kElements && row(u) < rows && step(u) < depth;
      staged[s] = exists ? matrix[offset_of<!NARROW_ALONG_K>(row(u), step(u), ld)] : NarrowInput{};
    }
    matrix += NARROW_ALONG_K ? BK : BK * ld;
  }

  // Along k, a span of steps is stored as lanes read it: the first GROUP steps of every lane, then the next.
  static __device__ __forceinline__ int slot(int step) {
    return step / SPAN * SPAN + step % VEC / GROUP * (32 * GROUP) + step % SPAN / VEC * GROUP + step % GROUP;
  }

  __device__ __forceinline__ void finish(Accumulator (&narrow)[ROWS][ROW]) const {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (kElements % THREADS != 0 && u >= kElements) continue;
      Accumulator& target = ALONG_K ? narrow[row(u)][slot(step(u))] : narrow[step(u)][row(u)];
      target = value_of(staged[s]);
    }
  }
};

// COUNT values that lie `apart` groups apart.
template <int COUNT>
__device__ __forceinline__ void read(Accumulator (&values)[COUNT], const Accumulator* source, int apart) {
#pragma unroll
  for (int g = 0; g < COUNT / GROUP; ++g) {
    const auto group = *reinterpret_cast<const Vector<Accumulator, GROUP>*>(source + g * apart * GROUP);
#pragma unroll
    for (int v = 0; v < GROUP; ++v) values[g * GROUP + v] = group.at[v];
  }
}

using Sums = Accumulator[HELD][FEW];

// One load of each of the OWN vectors; `step` is the first that the warp's load covers.
__device__ __forceinline__ void accumulate(Sums& sums, const Accumulator (&wide)[OWN][VEC],
                                           const Accumulator (&narrow)[ROWS][ROW], int step, int lane) {
  if constexpr (ALONG_K) {
#pragma unroll
    for (int j = 0; j < FEW; ++j) {
      Accumulator values[VEC];
      read(values, &narrow[j][step + lane * GROUP], 32);
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
#pragma unroll
        for (int o = 0; o < OWN; ++o) sums[o][j] += wide[o][v] * values[v];
      }
    }
  } else {
    Accumulator values[FEW];
    read(values, narrow[step], 1);
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
#pragma unroll
        for (int j = 0; j < FEW; ++j) sums[o * VEC + v][j] += wide[o][v] * values[j];
      }
    }
  }
}

__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, Wide& wide, Narrow& narrow, const Part& part,
                                         const Lane& at) {
  Vector<WideInput, VEC> vectors[OWN][UNROLL];
  narrow.fetch(part.end - part.begin);
  wide.fetch(vectors, part.end - part.begin);
  narrow.finish(shared.narrow[0]);
  __syncthreads();
  int stage = 0;
  for (i64 l = part.begin; l < part.end; l += BK) {
    const bool more = l + BK < part.end;
    Vector<WideInput, VEC> next[OWN][UNROLL] = {};
    if (more) {
      narrow.fetch(part.end - l - BK);
      wide.fetch(next, part.end - l - BK);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      Accumulator values[OWN][VEC];
#pragma unroll
      for (int o = 0; o < OWN; ++o) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) values[o][v] = value_of(vectors[o][u].at[v]);
      }
      accumulate(sums, values, shared.narrow[stage], (at.k * UNROLL + u) * STEPS, at.lane);
    }
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) vectors[o][u] = next[o][u];
    }
    stage ^= 1;
    if (more) narrow.finish(shared.narrow[stage]);
    __syncthreads();
  }
}

// Adds the sums of the warps that share the steps, halving their number until the first has them all.
__device__ __forceinline__ void add_warps(Sums& sums, Shared& shared, const Lane& at) {
  const int column = at.e * 32 + at.lane;
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
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc,
         PerProduct<Accumulator* __restrict__> partial) {
  if constexpr (SPLIT > 1) launch_dependents();
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);

  // Blocks that stream the same part of the wide operand are neighbours.
  const i64 few = SIDE == 0 ? m : n;
  const i64 extent = SIDE == 0 ? n : m;
  const u32 narrow_tiles = static_cast<u32>(ceil_div(few, FEW));
  const u32 wide_tiles = static_cast<u32>(ceil_div(extent, TILE));
  const i64 few0 = static_cast<i64>(blockIdx.x % narrow_tiles) * FEW;
  const i64 wide0 = static_cast<i64>(blockIdx.x / narrow_tiles % wide_tiles) * TILE;
  const i64 split = blockIdx.x / narrow_tiles / wide_tiles;

  const Lane at;
  const Part part(k, split);
  Wide wide({either<SIDE == 0>(B, A), SIDE == 0 ? ldb : lda, extent, wide0}, at, part.begin);
  Narrow narrow({either<SIDE == 0>(A, B), SIDE == 0 ? lda : ldb, few, few0}, part.begin);
  Sums sums = {};
  multiply(sums, shared, wide, narrow, part, at);
  add_warps(sums, shared, at);
  if (at.k > 0) return;

#pragma unroll
  for (int h = 0; h < HELD; ++h) {
    const i64 e = wide0 + (ALONG_K ? Wide::position(at, h) : Wide::position(at, h / VEC) + h % VEC);
#pragma unroll
    for (int j = 0; j < FEW; ++j) {
      const Accumulator sum = ALONG_K ? warp_sum(sums[h][j]) : sums[h][j];
      const bool mine = !ALONG_K || at.lane == (h * FEW + j) % 32;
      if (!mine || e >= extent || few0 + j >= few) continue;
      const i64 row = SIDE == 0 ? few0 + j : e;
      const i64 column = SIDE == 0 ? e : few0 + j;
      if constexpr (SPLIT > 1) {
        partial[(split * m + row) * n + column] = sum;
      } else {
        store_result(C + row * ldc + column, sum, alpha, beta);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc,
           PerProduct<const Accumulator*> partial) {
  if constexpr (SPLIT > 1) reduce_parts<SPLIT>(m, n, alpha, beta, C, ldc, partial);
}
