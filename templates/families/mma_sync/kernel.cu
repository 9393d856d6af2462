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
// lie along m or n; others that do are read one by one. Where fewer than 4 bytes can be copied at once, and before
// compute capability 8.0, operands pass through registers. What lies outside of A and B becomes zeros.
//
// Blocks may share a tile's steps along k, as split.cuh says; reduce() adds their sums in a fixed order.
//
// STREAM = 1 launches BLOCKS blocks, as many as the GPU holds at once: each computes whole tiles in turn, and the tiles
// that do not fill a last wave are shared evenly by all: the block with a tile's first steps adds the others' sums to
// its own in the order of k.
//
// PROMOTE: stages after which sums are added to sums in the accumulator's format; 0: never, they are in it.
#include "mmtune/batch.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/mma_tile.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/shares.cuh"
#include "mmtune/split.cuh"

using LoaderA = TileLoader<InputA, BM, !TRANSPOSE_A, VA>;
using LoaderB = TileLoader<InputB, BN, TRANSPOSE_B, VB>;
using TileA = LoaderA::Shape;
using TileB = LoaderB::Shape;

constexpr int BK = TileA::BK;
constexpr int WARPS_N = BN / WN;
constexpr int PIECES_M = WM / 16;
constexpr int PIECES_N = WN / 16;
constexpr int STEPS = BK_BYTES / PIECE_BYTES;  // the instructions along k in a stage

struct Shared {
  alignas(128) unsigned char a[STAGES][TileA::BYTES];
  alignas(128) unsigned char b[STAGES][TileB::BYTES];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == 32 * (BM / WM) * WARPS_N, "host and kernel disagree on the block");

using Sums = Accumulator[PIECES_M][2 * PIECES_N][4];
using HandedSums = StoredSums<PIECES_M * 2 * PIECES_N * 4, THREADS, Accumulator>;

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (auto& row : sums) {
#pragma unroll
    for (auto& piece : row) {
#pragma unroll
      for (Accumulator& sum : piece) sum = 0;
    }
  }
}

__device__ __forceinline__ void add(Sums& sums, const Sums& others) {
#pragma unroll
  for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * PIECES_N; ++j) {
#pragma unroll
      for (int s = 0; s < 4; ++s) sums[i][j][s] += others[i][j][s];
    }
  }
}

// What a warp multiplies at a time.
struct Pieces {
  Piece<InputA> a[PIECES_M];
  Piece<InputB> b[PIECES_N];

  __device__ __forceinline__ void load(const Shared& shared, int stage, int row0, int column0, int step) {
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) TileA::load<false>(a[i], shared.a[stage], row0 + 16 * i, step);
#pragma unroll
    for (int j = 0; j < PIECES_N; ++j) TileB::load<true>(b[j], shared.b[stage], column0 + 16 * j, step);
  }

  // It is called when they are multiplied: what is loaded need not have arrived before.
  __device__ __forceinline__ void round() {
#pragma unroll
    for (auto& piece : a) round_piece(piece);
#pragma unroll
    for (auto& piece : b) round_piece(piece);
  }
};

__device__ __forceinline__ void multiply(Sums& sums, const Pieces& pieces) {
#pragma unroll
  for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * PIECES_N; ++j) multiply_pieces(sums[i][j], pieces.a[i], pieces.b[j / 2], j % 2);
  }
}

// How a block's part of A and B comes to shared memory, stage by stage: that which begins where `left` steps along k
// are left, if any are.
struct Fetcher {
  Shared& shared;
  LoaderA a;
  LoaderB b;

  __device__ __forceinline__ void fetch(i64 left, int stage) {
    if (left > 0) {
      const int depth = static_cast<int>(smaller(left, BK));
      a.fetch(shared.a[stage], depth);
      b.fetch(shared.b[stage], depth);
    }
    if constexpr (ARCH >= 80) commit_copies();
  }
  // Writes what passes through registers of the stage that was asked for last.
  __device__ __forceinline__ void finish(i64 left, int stage) const {
    if (left <= 0) return;
    a.finish(shared.a[stage]);
    b.finish(shared.b[stage]);
  }
  // All stages that were asked for but the latest STAGES - 2 are here, and no warp reads older ones any more.
  __device__ __forceinline__ void meet() const {
    if constexpr (ARCH >= 80) wait_copies<STAGES - 2>();
    __syncthreads();
  }
};

// Adds up k_length steps along k.
__device__ __forceinline__ void multiply(Sums& sums, Fetcher& fetcher, i64 k_length, int row0, int column0) {
  constexpr int AHEAD = (STAGES - 1) * BK;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    fetcher.fetch(k_length - s * BK, s);
    fetcher.finish(k_length - s * BK, s);
  }
  clear(sums);
  if (k_length <= 0) return;
  [[maybe_unused]] Sums part;  // the sums since the last promotion
  [[maybe_unused]] int stages = 0;
  if constexpr (PROMOTE > 0) clear(part);
  int stage = 0;
  int filled = STAGES - 1;  // the stage before
  Pieces pieces[2];
  fetcher.meet();
  pieces[0].load(fetcher.shared, stage, row0, column0, 0);
#pragma unroll 1
  for (i64 left = k_length; left > 0; left -= BK) {
    // The next step's pieces are on their way while one's are multiplied, those of the next stage as well. What is read
    // behind the last stage is not used.
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (step + 1 == STEPS) {
        if (STEPS == 1) fetcher.fetch(left - AHEAD, filled);
        fetcher.finish(left - AHEAD, filled);
        filled = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        fetcher.meet();
      }
      pieces[(step + 1) % 2].load(fetcher.shared, stage, row0, column0, (step + 1) % STEPS);
      if (STEPS > 1 && step == 0) fetcher.fetch(left - AHEAD, filled);
      pieces[step % 2].round();
      multiply(PROMOTE > 0 ? part : sums, pieces[step % 2]);
    }
    if constexpr (STEPS % 2 == 1) pieces[0] = pieces[1];
    if constexpr (PROMOTE > 0) {
      if (++stages == PROMOTE) {
        add(sums, part);
        clear(part);
        stages = 0;
      }
    }
  }
  if constexpr (PROMOTE > 0) add(sums, part);
}

// Where a warp's sums lie in the block's tile.
struct Position {
  int row0;
  int column0;

  __device__ __forceinline__ Position() {
    const int warp = threadIdx.x / 32;
    row0 = warp / WARPS_N * WM;
    column0 = warp % WARPS_N * WN;
  }
};

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
  Accumulator* handed;   // STREAM: of every block a tile's sums that it hands over
  u32* flags;            // STREAM: whether it has
  i64 k_tiles;           // the steps of a part of a tile, counted in BK

  __device__ __forceinline__ HandedSums handed_by(int block) const {
    return HandedSums(handed + static_cast<i64>(block) * (BM * BN));
  }
  __device__ __forceinline__ TileIndex tile(i64 number) const {
    return tile_of_block(number, ceil_div(m, BM), ceil_div(n, BN), GROUP);
  }

  // `k_length` steps along k from k_begin on.
  __device__ __forceinline__ void sum_up(Sums& sums, Shared& shared, const TileIndex& tile, i64 k_begin,
                                         i64 k_length) const {
    Fetcher fetcher{shared, LoaderA(A, lda, m, tile.m * BM, k_begin), LoaderB(B, ldb, n, tile.n * BN, k_begin)};
    const Position position;
    multiply(sums, fetcher, k_length, position.row0, position.column0);
  }

  // `part`: of the tile's k.
  __device__ __forceinline__ void store(const Sums& sums, const TileIndex& tile, int part) const {
    const Position position;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const i64 row = tile.m * BM + position.row0 + 16 * i + 8 * r + lane / 4;
        if (row >= m) continue;
#pragma unroll
        for (int j = 0; j < 2 * PIECES_N; ++j) {
          const i64 column = tile.n * BN + position.column0 + 8 * j + 2 * (lane % 4);
          if constexpr (SPLIT == 0) {
            store_partial<2, VC>(partial + (part * m + row) * n + column, &sums[i][j][2 * r], n - column);
          } else {
            store_results<2, VC>(C + row * ldc + column, &sums[i][j][2 * r], alpha, beta,
                                 static_cast<int>(smaller(n - column, 2)));
          }
        }
      }
    }
  }
};

// STREAM = 0: one tile of C, or one part of its k.
__device__ __forceinline__ void compute_tile(const Call& call, Shared& shared) {
  const Share share = share_of_block();
  const TileIndex tile = call.tile(share.tile);
  const i64 k_length = call.k_tiles * BK;
  const i64 k_begin = smaller(share.part * k_length, call.k);
  Sums sums;
  call.sum_up(sums, shared, tile, k_begin, smaller(call.k - k_begin, k_length));
  call.store(sums, tile, share.part);
}

// STREAM = 1: this block's share of tiles that are divided, then its whole tiles.
__device__ __forceinline__ void compute_stream(const Call& call, Shared& shared) {
  const int block = blockIdx.x;
  const i64 k_tiles = call.k > 0 ? ceil_div(call.k, BK) : 1;
  StreamWalk walk(ceil_div(call.m, BM) * ceil_div(call.n, BN), k_tiles, BLOCKS, block);
#pragma unroll 1
  while (walk.more()) {
    const StreamPiece piece = walk.next();
    const TileIndex tile = call.tile(piece.tile);
    const i64 k_begin = piece.first * BK;
    Sums sums;
    __syncthreads();  // the stages are done with
    call.sum_up(sums, shared, tile, k_begin, smaller(call.k - k_begin, piece.count * BK));
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
  if constexpr (STREAM == 0) wait_for_previous();  // With STREAM the second step waits.
  if constexpr (SPLIT == 0) launch_dependents();
  const i64 k_tiles_of_block = k_tiles_of_part(ceil_div(k, BK), k_tiles);
  const Call call{m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, partial, sums, flags, k_tiles_of_block};
  if constexpr (STREAM == 1) {
    compute_stream(call, shared);
  } else {
    compute_tile(call, shared);
  }
}

// What must be done before a gemm that shares tiles.
extern "C" __global__ void __launch_bounds__(PREPARE_THREADS) prepare(PerProduct<u32*> flags) {
  prepare_flags<BLOCKS, PREPARE_THREADS>(flags);
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
