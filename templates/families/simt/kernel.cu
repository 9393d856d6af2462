// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C on the CUDA cores, tiled at three levels:
//
//            BN                     one block: BM x BN of C, BK steps along k per stage,
//      ┌───────────────┐            operands staged in shared memory as A[BK][BM] and B[BK][BN]
//   BM │ ┌─────┐       │
//      │ │ WM  │ warp  │            one warp:  WM x WN = (TM * LANES_M) x (TN * LANES_N)
//      │ │ xWN │ tile  │
//      │ └─────┘       │            one thread: TM x TN results in registers, gathered from groups of V = 16 bytes:
//      └───────────────┘              row(i) = warp_row + (i / V) * LANES_M * V + lane_m * V + i % V
//                                     col(j) = warp_col + (j / V) * LANES_N * V + lane_n * V + j % V
//
// so that every fragment is read from shared memory 16 bytes at a time without bank conflicts, and warps store runs
// of LANES_N * 16 bytes of C. Rows and columns beyond C are clamped to valid addresses: they feed only results that are
// never stored. Steps beyond k are filled with zeros.
//
// An operand that is contiguous along k passes through registers, one tile ahead, and is transposed on the way. LOAD
// says how the others reach shared memory: 0 the same way; 1 by cp.async, 2 by the tensor memory accelerator, both
// STAGES - 1 tiles ahead. LOAD = 3 is 1 for all operands: those along k are copied element by element to where they
// belong.
//
// PACK = 1 first copies the operands that are contiguous along k, or whose rows are not aligned to 16 bytes, into the
// workspace as [k][extent] with aligned rows: a pass over m*k + k*n elements that lets the m*n*k part take the fast
// way.
//
// Blocks may share one tile of C, as split.cuh says. They add their partial sums in a fixed order: through the
// workspace and the kernel reduce(), or as a cluster through distributed shared memory.
//
// STREAM = 1 launches BLOCKS blocks, as many as the GPU holds at once: each computes whole tiles in turn, and the tiles
// that do not fill a last wave are shared evenly by all: the block with a tile's first steps adds the others' sums to
// its own in the order of k. Sums of more than SLICE steps are taken in slices, whose errors do not add up as they
// would in one long sum.
//
// WARPS_K > 1: so many warps have the same results and multiply other steps of every stage; their sums are added in
// shared memory (sliced-K). So a tile of one or two warps keeps all schedulers busy.
//
// CUT = 1: a block adds up the parts of its tile's k one after the other, and their sums as the blocks of a split tile
// do: the same bits.
#include "mmtune/batch.cuh"
#include "mmtune/cluster.cuh"
#include "mmtune/copy.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"
#include "mmtune/loaders.cuh"
#include "mmtune/output.cuh"
#include "mmtune/pack.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/segment.cuh"
#include "mmtune/shares.cuh"
#include "mmtune/split.cuh"
#include "mmtune/thread_tile.cuh"
#include "mmtune/tma.cuh"

constexpr bool CLUSTER = SPLIT > 1;
constexpr bool COPIES_ASYNC = LOAD == 1 || LOAD == 3;
constexpr int WARP_BK = BK / WARPS_K;  // the steps of a stage that a thread multiplies

// Padding keeps rows 16-byte aligned and moves the transposed stores of one warp to different banks.
constexpr int A_ROW = BM + (A_ALONG_K ? WIDE : 0);
constexpr int B_ROW = BN + (B_ALONG_K ? WIDE : 0);

struct Stages {
  alignas(128) Value a[STAGES][BK][A_ROW];
  alignas(128) Value b[STAGES][BK][B_ROW];
};

struct Shared {
  union alignas(128) {
    Stages stages;
    // The partial sums, once the stages are done with; no barrier lies here.
    Value partial[WARPS_K > 1 ? WARPS_K* BM* BN : CLUSTER ? BM* BN : 1];
  };
  alignas(128) u64 full[STAGES];  // barriers that the accelerator completes
};
constexpr int BEFORE_BYTES = CUT == 1 ? BM * BN * int(sizeof(Value)) : 0;  // the sums of a tile's parts before
static_assert(sizeof(Shared) + BEFORE_BYTES == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == TILE_THREADS * WARPS_K, "host and kernel disagree on the block");

// The block's dynamic shared memory.
__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  return shared_bytes;
}

constexpr int TMA_BYTES_A = LOAD == 2 && !A_ALONG_K ? BM * BK * int(sizeof(InputA)) : 0;
constexpr int TMA_BYTES_B = LOAD == 2 && !B_ALONG_K ? BN * BK * int(sizeof(InputB)) : 0;
constexpr int TMA_BYTES = TMA_BYTES_A + TMA_BYTES_B;

// Both operands' loaders and the order in which a tile is moved.
struct Loaders {
  LoaderOf<LOAD, InputA, BM, A_ROW, A_ALONG_K, VA>::type a;
  LoaderOf<LOAD, InputB, BN, B_ROW, B_ALONG_K, VB>::type b;

  __device__ __forceinline__ Loaders(const Operand<InputA>& of_a, const Operand<InputB>& of_b) : a(of_a), b(of_b) {}

  __device__ __forceinline__ void fetch(int depth) {
    a.fetch(depth);
    b.fetch(depth);
  }
  __device__ __forceinline__ void finish(Stages& stages, int stage) {
    a.finish(stages.a[stage]);
    b.finish(stages.b[stage]);
  }
  __device__ __forceinline__ void fetch_ahead(Shared& shared, int stage, int depth) {
    const unsigned full = shared_address(&shared.full[stage]);
    if (TMA_BYTES > 0 && threadIdx.x == 0) barrier_expect(full, TMA_BYTES);
    a.fetch_ahead(shared.stages.a[stage], depth, full);
    b.fetch_ahead(shared.stages.b[stage], depth, full);
  }
};

using Sums = StoredSums<TM * TN, THREADS, Accumulator>;

// The tiles of a slice, of which the last may have fewer; `part` are those of a part. STREAM makes slices equal: the
// longest decides how large the error is.
__device__ __forceinline__ int tiles_of_slice(int tiles, i64 part) {
  if constexpr (CUT == 1) return static_cast<int>(part);
  if constexpr (STREAM == 1) return static_cast<int>(ceil_div(tiles, ceil_div(tiles, SLICE / BK)));
  return tiles;
}

// Sums up a segment's products in slices; end_slice(first, last) is called after each, with whether it was the first or
// the last one. `ring` is where the segment's first tile goes, and becomes where the next segment's will.
// State in local variables of one function: see docs/kernels.md, on the form of the source.
template <class EndSlice>
__device__ __forceinline__ void multiply(Accumulator (&sum)[TM][TN], Shared& shared, Loaders& loaders,
                                         const Segment& segment, i64 part, const Position& position, RingPosition& ring,
                                         const EndSlice& end_slice) {
  if constexpr (PACK == 1) wait_for_previous();  // The packed operands are read now.
  if (segment.tiles == 0) return clear(sum);
  RingPosition fill = ring;  // the place of the tile that is fetched ahead
  const auto fetch_ahead = [&](int tile) {
    if (tile < segment.tiles) loaders.fetch_ahead(shared, fill.stage, segment.depth(tile));
    if constexpr (COPIES_ASYNC) commit_copies();
  };
  // Until all can read the tile at `ring`, if there is one.
  const auto await = [&](bool exists) {
    if (exists) loaders.finish(shared.stages, ring.stage);
    if constexpr (COPIES_ASYNC) wait_copies<STAGES - 2>();
    if constexpr (TMA_BYTES > 0) {
      if (exists) barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    }
    __syncthreads();
  };

  loaders.fetch(segment.depth(0));
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    fetch_ahead(s);
    fill.advance();
  }
  await(true);

  // Stages lie one behind the other: fragments are read along a ring of STAGES * BK rows.
  const int first_step = warp_along_k() * WARP_BK;
  const Value* const a_begin = &shared.stages.a[0][first_step][position.row0];
  const Value* const b_begin = &shared.stages.b[0][first_step][position.column0];
  const Value* a_row = a_begin + ring.stage * (BK * A_ROW);
  const Value* b_row = b_begin + ring.stage * (BK * B_ROW);
  Fragment fragment[2];
  fragment[0].load(a_row, b_row);

  constexpr bool SLICED = STREAM == 1 || CUT == 1;
  const int slice_tiles = tiles_of_slice(segment.tiles, part);
  int tile = 0;
#pragma unroll 1
  for (int slice_end = slice_tiles;; slice_end += slice_tiles) {
    clear(sum);
    const int end = SLICED ? smaller(slice_end, segment.tiles) : segment.tiles;
#pragma unroll 1
    for (; tile < end; ++tile) {
      const bool more = tile + 1 < segment.tiles;
      ring.advance();
      // A round is short enough for the instruction cache, however deep the stages are.
#pragma unroll 1
      for (int round = 0; round < WARP_BK / UNROLL; ++round) {
        const bool last = round == WARP_BK / UNROLL - 1;
        const int steps = UNROLL + (last ? BK - WARP_BK : 0);  // to the next round, past the other warps' steps
        const Value* const a_next = last && ring.stage == 0 ? a_begin : a_row + steps * A_ROW;
        const Value* const b_next = last && ring.stage == 0 ? b_begin : b_row + steps * B_ROW;
#pragma unroll
        for (int step = 0; step < UNROLL; ++step) {
          if (step == UNROLL - 1) {
            if (last) await(more);
            fragment[0].load(a_next, b_next);
          } else {
            fragment[(step + 1) % 2].load(a_row + (step + 1) * A_ROW, b_row + (step + 1) * B_ROW);
          }
          if (step == 0 && round == 0) {
            if (more) loaders.fetch(segment.depth(tile + 1));
            fetch_ahead(tile + STAGES - 1);
          }
          accumulate(sum, fragment[step % 2]);
        }
        a_row = a_next;
        b_row = b_next;
      }
      fill.advance();
    }
    end_slice(slice_end == slice_tiles, tile == segment.tiles);
    if (!SLICED || tile == segment.tiles) break;
  }
}

// What all tiles of a call have in common.
struct Call {
  i64 m, n, k;
  Scalar alpha;
  const InputA* A;
  i64 lda;
  const InputB* B;
  i64 ldb;
  Scalar beta;
  Output* C;
  i64 ldc;
  Accumulator* partial;  // SPLIT = 0: [part][m][n]
  Accumulator* sums;     // STREAM: of every block a tile between two slices, then of every block one that it hands over
  u32* flags;            // STREAM: whether it has
  i64 k_tiles;           // the steps of a part of a tile's k, counted in BK
  const ProductMap* map_a;
  const ProductMap* map_b;

  __device__ __forceinline__ Sums aside(int block) const { return Sums(sums + static_cast<i64>(block) * (BM * BN)); }
  __device__ __forceinline__ Sums handed(int block) const { return aside(BLOCKS + block); }
  __device__ __forceinline__ i64 tiles() const { return ceil_div(m, BM) * ceil_div(n, BN); }
  __device__ __forceinline__ TileOfC output(i64 tile) const {
    const TileIndex index = tile_of_block(tile, ceil_div(m, BM), ceil_div(n, BN), GROUP);
    return {m, n, index.m * BM, index.n * BN, alpha, beta, C, ldc};
  }
  __device__ __forceinline__ Loaders loaders(const TileOfC& output, i64 k_begin) const {
    // Rows of a copy are whole vectors: knowing this, the compiler makes the program that was measured to be faster.
    const i64 a_row = PACK_A ? lda / VA * VA : lda;
    const i64 b_row = PACK_B ? ldb / VB * VB : ldb;
    const Operand<InputA> operand_a{A, map_a, a_row, PACK_A ? a_row : m, output.first_row, k_begin};
    const Operand<InputB> operand_b{B, map_b, b_row, PACK_B ? b_row : n, output.first_column, k_begin};
    return Loaders(operand_a, operand_b);
  }
};

// STREAM = 0: one tile of C, or one part of its k.
__device__ __forceinline__ void compute_tile(const Call& call, Shared& shared) {
  const Share share = share_of_block();
  const Segment segment(call.k, share.part * call.k_tiles, CUT == 1 ? ceil_div(call.k, BK) : call.k_tiles);
  const TileOfC output = call.output(share.tile);
  Loaders loaders = call.loaders(output, segment.k_begin);
  const Position position;
  RingPosition ring;
  Accumulator sum[TM][TN];
  // Registers would be taken from the main loop, and through L2 all blocks would go at the same time.
  const Sums before(reinterpret_cast<Accumulator*>(shared_memory() + sizeof(Shared)));
  const auto end_part = [&](bool first, bool last) {
    if constexpr (CUT == 0) return;
    if (first) {
#pragma unroll
      for (int e = 0; e < TM * TN; ++e) sum[e / TN][e % TN] += Accumulator{};
    } else {
      before.add_to(&sum[0][0]);
    }
    if (!last) before.store(&sum[0][0]);
  };
  multiply(sum, shared, loaders, segment, call.k_tiles, position, ring, end_part);

  Accumulator own[OWN];
  if constexpr (WARPS_K > 1) add_warps_along_k(shared.partial, sum, own);
  const Accumulator* const results = WARPS_K > 1 ? own : &sum[0][0];
  const int first = warp_along_k() * OWN;
  if constexpr (CLUSTER) {
    reduce_cluster<SPLIT, OWN>(shared.partial, results, first, position, output);
  } else if constexpr (SPLIT == 0) {
    store_partial_run<OWN>(results, first, position, output, call.partial, share.part);
  } else if constexpr (WARPS_K > 1) {
    store_run<OWN>(results, first, position, output);
  } else {
    store_tile(sum, position, output);
  }
}

// STREAM = 1: this block's share of tiles that are divided, then its whole tiles.
__device__ __forceinline__ void compute_stream(const Call& call, Shared& shared) {
  const int block = blockIdx.x;
  const i64 k_tiles = call.k > 0 ? ceil_div(call.k, BK) : 1;
  StreamWalk walk(call.tiles(), k_tiles, BLOCKS, block);
  const Position position;
  RingPosition ring;
#pragma unroll 1
  while (walk.more()) {
    const StreamPiece piece = walk.next();
    const i64 tile = piece.tile, first = piece.first, count = piece.count;
    const Segment segment(call.k, first, count);
    const TileOfC output = call.output(tile);
    Loaders loaders = call.loaders(output, segment.k_begin);
    Accumulator sum[TM][TN];
    __syncthreads();  // the stages are done with
    const auto end_slice = [&](bool first_slice, bool last_slice) {
      if constexpr (PACK == 0) wait_for_previous();  // The flags and what lies beside them are read now.
      const bool complete = last_slice && first == 0;
      // The first that a block adds is what it put aside itself.
      for (int giver = first_slice ? block + 1 : block;; ++giver) {
        if (giver > block) {
          if (!complete || count == k_tiles || !walk.gives(giver, tile)) break;
          if (threadIdx.x == 0) await_flag(call.flags + giver);
          __syncthreads();
        }
        (giver > block ? call.handed(giver) : call.aside(block)).add_to(&sum[0][0]);
      }
      if (!complete) (last_slice ? call.handed(block) : call.aside(block)).store(&sum[0][0]);
    };
    multiply(sum, shared, loaders, segment, k_tiles, position, ring, end_slice);
    if constexpr (PACK == 0) wait_for_previous();  // A block without a slice has not waited yet.
    if (first > 0) {
      __syncthreads();
      if (threadIdx.x == 0) raise_flag(call.flags + block);
      continue;
    }
    store_tile(sum, position, output);
  }
}

__device__ __forceinline__ void run(const Call& call) {
  Shared& shared = *reinterpret_cast<Shared*>(shared_memory());
  if constexpr (TMA_BYTES > 0) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < STAGES; ++s) barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init_fence();
    }
    __syncthreads();
  }
  constexpr bool FIRST_STEP = PACK == 0 && STREAM == 0;
  if constexpr (FIRST_STEP) wait_for_previous();
  if constexpr (SPLIT == 0) launch_dependents();
  if constexpr (STREAM == 1) {
    compute_stream(call, shared);
  } else {
    compute_tile(call, shared);
  }
}

// A and B are the operands or, as [k][extent] in the workspace, copies of them.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
         Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<Accumulator*> partial, PerProduct<Accumulator*> sums,
         PerProduct<u32*> flags, i64 k_tiles) {
  if constexpr (LOAD != 2) {
    run({m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, partial, sums, flags, k_tiles, nullptr, nullptr});
  }
}

// The same with tensor maps; the operand that passes through registers is read from its address.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_tma(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B,
             i64 ldb, Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<Accumulator*> partial,
             PerProduct<Accumulator*> sums, PerProduct<u32*> flags, i64 k_tiles,
             const __grid_constant__ ProductMap map_a, const __grid_constant__ ProductMap map_b) {
  if constexpr (LOAD == 2) {
    run({m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, partial, sums, flags, k_tiles, &map_a, &map_b});
  }
}

// What must be done before a gemm that shares tiles and does not pack.
extern "C" __global__ void __launch_bounds__(PREPARE_THREADS) prepare(PerProduct<u32*> flags) {
  prepare_flags<BLOCKS, PREPARE_THREADS>(flags);
}

// Packs what PACK says, one tile a block: first all of A, then all of B.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
    pack(i64 m, i64 n, i64 k, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
         PerProduct<InputA*> copy_a, i64 copy_lda, PerProduct<InputB*> copy_b, i64 copy_ldb, PerProduct<u32*> flags) {
  wait_for_previous();
  if constexpr (PACK == 1) {
    constexpr int BYTES = sizeof(InputA) < sizeof(InputB) ? sizeof(InputB) : sizeof(InputA);
    static_assert(PACK_TILE * (PACK_TILE + 1) * BYTES == PACK_SMEM_BYTES, "host and kernel disagree on shared memory");
    const i64 tiles_a = PACK_A ? ceil_div(m, PACK_TILE) * ceil_div(k, PACK_TILE) : 0;
    const i64 tiles_b = PACK_B ? ceil_div(n, PACK_TILE) * ceil_div(k, PACK_TILE) : 0;
    const i64 tile = blockIdx.x;
    if (STREAM == 1 && tile == 0) lower_flags<BLOCKS, PACK_THREADS>(flags);
    if (tile < tiles_a) {
      pack_tile<!TRANSPOSE_A, PACK_TILE, PACK_THREADS, InputA>(shared_memory(), A, lda, m, k, copy_a, copy_lda, tile);
    } else if (tile < tiles_a + tiles_b) {
      pack_tile<TRANSPOSE_B, PACK_TILE, PACK_THREADS, InputB>(shared_memory(), B, ldb, n, k, copy_b, copy_ldb,
                                                              tile - tiles_a);
    }
  }
  // No earlier, since the blocks of gemm would crowd onto the SMs that have room beside those of pack.
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
