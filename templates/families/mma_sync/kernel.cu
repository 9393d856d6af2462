// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C on tensor cores, by instructions of a warp:
//
//              BN
//      ┌────┬────┬────┬────┐
//      │    │    │    │    │ WM      one block: BM x BN of C, one warp: WM x WN, in pieces of 16 x 8 sums
//   BM ├────┼────┼────┼────┤
//      │    │    │    │    │         STAGES stages of BK_BYTES along k on their way to shared memory by cp.async
//      └────┴────┴────┴────┘
//        WN
//
// Operands lie in shared memory as they are stored, and ldmatrix reads pieces of them, transposing 16-bit elements that
// lie along m or n; others that do are read one by one. Rows of 16-bit elements that begin at odd ones are copied by
// unaligned_tile.cuh. Elements of a byte that do, and all before compute capability 8.0, pass through registers. What
// lies outside of A and B becomes zeros.
//
// PACK > 0 first copies the operand that it names to aligned rows: the smaller one, which several warps of a block read.
//
// Blocks may share a tile's steps along k, as split.cuh says; reduce() adds their sums in a fixed order.
//
// STREAM = 1 launches BLOCKS blocks, as many as the GPU holds at once: each computes whole tiles in turn, and the tiles
// that do not fill a last wave are shared evenly by all: the block with a tile's first steps adds the others' sums to
// its own in the order of k.
//
// PROMOTE: stages after which sums are added to sums in the accumulator's format; 0: never, they are in it.
#include "mmtune/batch.cuh"
#include "mmtune/copy_rows.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/mma_product.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/shares.cuh"

using LoaderA = TileLoaderOf<InputA, BM, !TRANSPOSE_A, VA>::type;
using LoaderB = TileLoaderOf<InputB, BN, TRANSPOSE_B, VB>::type;

struct Shared {
  alignas(128) unsigned char a[STAGES][LoaderA::BYTES];
  alignas(128) unsigned char b[STAGES][LoaderB::BYTES];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");

using HandedSums = StoredSums<PIECES_M * 2 * PIECES_N * 4, THREADS, Accumulator>;

// What a warp multiplies at a time.
struct Pieces {
  static constexpr bool READS_AHEAD = true;

  Piece<InputA> a[PIECES_M];
  Piece<InputB> b[PIECES_N];

  __device__ __forceinline__ void load(const Fetcher<Shared, LoaderA, LoaderB>& from, int stage, int row0, int column0,
                                       int step) {
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) from.a.load<false>(a[i], from.shared.a[stage], row0 + 16 * i, step);
#pragma unroll
    for (int j = 0; j < PIECES_N; ++j) from.b.load<true>(b[j], from.shared.b[stage], column0 + 16 * j, step);
  }

  // Rounds them first, which waits for what was loaded.
  __device__ __forceinline__ void multiply(Sums& sums) {
#pragma unroll
    for (auto& piece : a) round_piece(piece);
#pragma unroll
    for (auto& piece : b) round_piece(piece);
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * PIECES_N; ++j) multiply_pieces(sums[i][j], a[i], b[j / 2], j % 2);
    }
  }
};

// What all tiles of a call have in common.
struct Call : ProductOfTiles<LoaderA, LoaderB, Pieces> {
  Accumulator* handed;  // STREAM: of every block a tile's sums that it hands over
  u32* flags;           // STREAM: whether it has

  __device__ __forceinline__ HandedSums handed_by(int block) const {
    return HandedSums(handed + static_cast<i64>(block) * (BM * BN));
  }
};

// STREAM = 1: this block's share of tiles that are divided, then its whole tiles.
__device__ __forceinline__ void compute_stream(const Call& call, Shared& shared) {
  const int block = blockIdx.x;
  const i64 k_tiles = call.k > 0 ? ceil_div(call.k, Call::BK) : 1;
  StreamWalk walk(ceil_div(call.m, BM) * ceil_div(call.n, BN), k_tiles, BLOCKS, block);
#pragma unroll 1
  while (walk.more()) {
    const StreamPiece piece = walk.next();
    const TileIndex tile = call.tile(piece.tile);
    const i64 k_begin = piece.first * Call::BK;
    Sums sums;
    __syncthreads();  // the stages are done with
    call.sum_up(sums, shared, tile, k_begin, smaller(call.k - k_begin, piece.count * Call::BK));
    wait_for_previous();  // The flags and what lies beside them are read now.
    if (piece.first > 0) {
      call.handed_by(block).store(&sums[0][0][0]);
      __syncthreads();
      if (threadIdx.x == 0) raise_flag(call.flags + block);
      continue;
    }
    if (piece.count < k_tiles) {
#pragma unroll 1
      for (int giver = block + 1; walk.gives(giver, piece.tile); ++giver) {
        if (threadIdx.x == 0) await_flag(call.flags + giver);
        __syncthreads();
        call.handed_by(giver).add_to(&sums[0][0][0]);
      }
    }
    call.store(sums, tile, 0);
  }
  wait_for_previous();  // A block without a piece has not waited yet.
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
         Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<Accumulator*> partial, PerProduct<Accumulator*> sums,
         PerProduct<u32*> flags, i64 k_tiles) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  if constexpr (STREAM == 0 || PACK > 0) wait_for_previous();  // With STREAM, the second step waits later.
  if constexpr (SPLIT == 0) launch_dependents();
  const i64 k_tiles_of_block = k_tiles_of_part(ceil_div(k, Call::BK), k_tiles);
  const Call call{{m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, partial}, sums, flags};
  if constexpr (STREAM == 1) {
    compute_stream(call, shared);
  } else {
    compute_tile(call, shared, k_tiles_of_block, [](Sums&, i64, i64) {});
  }
}

// What must be done before a gemm that shares tiles and does not pack.
extern "C" __global__ void __launch_bounds__(PREPARE_THREADS) prepare(PerProduct<u32*> flags) {
  prepare_flags<BLOCKS, PREPARE_THREADS>(flags);
}

// Copies the operand that PACK names; both have elements of one type.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
    pack(i64 rows, i64 columns, PerProduct<const InputA*> source, i64 ld, PerProduct<InputA*> copy, i64 copy_ld,
         PerProduct<u32*> flags) {
  wait_for_previous();
  if constexpr (PACK > 0) {
    if (STREAM == 1 && blockIdx.x == 0) lower_flags<BLOCKS, PACK_THREADS>(flags);
    const i64 unit = static_cast<i64>(blockIdx.x) * PACK_THREADS + threadIdx.x;
    if (unit < rows * units_of_row<InputA>(copy_ld)) {
      copy_unit<PACK_VECTOR, InputA>(source, ld, columns, copy, copy_ld, unit);
    }
  }
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
