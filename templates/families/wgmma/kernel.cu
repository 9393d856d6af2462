// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C on Hopper's tensor cores:
//
//              BN                     one block: BM x BN of C at a time, BK = 128 bytes along k per stage
//      ┌─────────────────┐
//      │  consumer 0     │ WG_ROWS   one consumer, a warpgroup: WG_ROWS x BN sums in registers, multiplied by wgmma
//      from
//   BM ├─────────────────┤           tiles in shared memory, 64 rows an instruction
//      │  consumer 1     │ WG_ROWS
//      └─────────────────┘           one producer thread keeps STAGES stages filled by the tensor memory accelerator
//
// Stages hold A and B as they are stored, in lines of 128 bytes along k, or along m or n where the operand is
// contiguous there, swizzled by 128 bytes. What lies outside of A and B arrives as zeros, so that no edge needs care
// before C.
//
// SWAP = 1 computes the transposed product, so that the 64 rows of an instruction are columns of C, and tiles along m
// may be any multiple of 16: consumers then lie side by side.
//
// PINGPONG = 1: each consumer computes tiles of its own, BM x BN each, and one multiplies while the other stores.
//
// CLUSTER_M x CLUSTER_N blocks form a cluster: neighbours along m share a tile of B, along n one of A. Each fetches a
// part of what is shared and sends it to all that need it.
//
// Blocks are persistent: as many as the GPU has room for take tiles in turn, in the order of index.cuh. SPLIT > 1
// divides the steps along k; the parts' sums go to the workspace and are added by reduce() in a fixed order.
//
// Results pass through shared memory, in lines of 128 bytes: STORE_BOXES says whether C is aligned so
// that the accelerator can store them while the next tile is multiplied, else the warp does.
//
// Operands whose rows do not begin at multiples of 16 bytes, which the accelerator needs, are first copied by pack().
#include "mmtune/access.cuh"
#include "mmtune/copy_rows.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/tma.cuh"
#include "mmtune/wgmma.cuh"

constexpr int LINE = 128;  // bytes
constexpr int BK = LINE / sizeof(InputA);

// An instruction multiplies 64 rows of one operand and N columns of the other; ROWS and COLUMNS are those of a tile.
template <bool SWAPPED>
struct Roles {
  static constexpr int ROWS = BM, COLUMNS = BN;
  static constexpr bool ROWS_ALONG_K = A_ALONG_K, COLUMNS_ALONG_K = B_ALONG_K;
  using Kind = Wgmma<InputA, InputB, A_ALONG_K, B_ALONG_K>;
};
template <>
struct Roles<true> {
  static constexpr int ROWS = BN, COLUMNS = BM;
  static constexpr bool ROWS_ALONG_K = B_ALONG_K, COLUMNS_ALONG_K = A_ALONG_K;
  using Kind = Wgmma<InputB, InputA, B_ALONG_K, A_ALONG_K>;
};
using Role = Roles<SWAP == 1>;
using Kind = Role::Kind;

constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int WG_ROWS = PINGPONG == 1 ? Role::ROWS : Role::ROWS / CONSUMERS;
constexpr int FRAGMENTS = WG_ROWS / 64;                         // instructions along their rows
constexpr int N0 = Role::COLUMNS <= 256 ? Role::COLUMNS : 192;  // columns of the first instruction
constexpr int N1 = Role::COLUMNS - N0;                          // and of the second, if any
constexpr int WARPGROUP = 128;                                  // threads
constexpr int WARP = 32;
constexpr int STORE_COLUMNS = LINE / sizeof(Output);
constexpr int STORE_ROWS = 16;               // of a box
constexpr int STORE_BYTES = WG_ROWS * LINE;  // of a consumer's lines that are stored at once

struct Shared {
  alignas(1024) unsigned char a[STAGES][BM * LINE];
  alignas(1024) unsigned char b[STAGES][BN * LINE];
  alignas(1024) unsigned char c[CONSUMERS][2][STORE_BYTES];
  u64 full[STAGES];   // the accelerator has brought the stage
  u64 empty[STAGES];  // all that read it, here and in the cluster, are done with it
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (CONSUMERS + 1) * WARPGROUP, "host and kernel disagree on the block");

// What one turn of a block computes: a tile of C, or a part of its steps along k.
struct Work {
  int row, column;  // of the tile in C
  int part;         // of the steps along k
  int first_step;   // of BK
  int steps;
};

// What all turns of a call have in common. Coordinates of the accelerator are 32-bit, and so are extents here.
struct Call {
  int m, n, k;
  Scalar alpha, beta;
  Output* C;
  i64 ldc;
  Accumulator* partial;
  const TensorMap* map_a;
  const TensorMap* map_b;
  const TensorMap* map_c;

  // Of tiles of a whole cluster.
  __device__ __forceinline__ int tiles_m() const { return (m + BM * CLUSTER_M - 1) / (BM * CLUSTER_M); }
  __device__ __forceinline__ int tiles_n() const { return (n + BN * CLUSTER_N - 1) / (BN * CLUSTER_N); }
  __device__ __forceinline__ int turns() const { return tiles_m() * tiles_n() * SPLIT; }

  __device__ __forceinline__ Work work(int turn, int rank) const {
    const TileIndex tile = tile_of_block(turn / SPLIT, tiles_m(), tiles_n(), GROUP);
    const int steps = (k + BK - 1) / BK;
    const int share = (steps + SPLIT - 1) / SPLIT;
    Work work;
    work.row = (static_cast<int>(tile.m) * CLUSTER_M + rank % CLUSTER_M) * BM;
    work.column = (static_cast<int>(tile.n) * CLUSTER_N + rank / CLUSTER_M) * BN;
    work.part = turn % SPLIT;
    work.first_step = work.part * share;
    const int left = steps - work.first_step;
    work.steps = left > share ? share : left > 0 ? left : 0;
    return work;
  }
};

// Copies this block's share of an operand's tile, EXTENT rows or columns of C by BK, to all that need it.
template <int EXTENT, int SHARERS, bool ALONG_K>
__device__ __forceinline__ void fetch_tile(unsigned target, const TensorMap* map, int position, int k0, int share,
                                           unsigned short blocks, unsigned barrier) {
  const auto copy = [&](int line, int column, int row) {
    if constexpr (SHARERS == 1) {
      copy_box(target + line * LINE, map, barrier, column, row);
    } else {
      copy_box_to(blocks, target + line * LINE, map, barrier, column, row);
    }
  };
  if constexpr (ALONG_K) {
    constexpr int ROWS = EXTENT / SHARERS;
    constexpr int BOX = ROWS > 256 ? ROWS / 2 : ROWS;
#pragma unroll
    for (int first = 0; first < ROWS; first += BOX) copy(share * ROWS + first, k0, position + share * ROWS + first);
  } else {
    constexpr int STEPS = BK / SHARERS;
#pragma unroll
    for (int first = 0; first < EXTENT; first += BK) copy(first + share * STEPS, position + first, k0 + share * STEPS);
  }
}

__device__ __forceinline__ void produce(const Call& call, Shared& shared) {
  Ring<STAGES> ring;
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int rank_m = rank % CLUSTER_M;
  const int rank_n = rank / CLUSTER_M;
  // Blocks of the same rows of C need the same tile of A, those of the same columns the same of B.
  unsigned short same_rows = 0;
  for (int i = 0; i < CLUSTER_N; ++i) same_rows |= 1 << (rank_m + i * CLUSTER_M);
  const unsigned short same_columns = ((1 << CLUSTER_M) - 1) << (rank_n * CLUSTER_M);
  wait_for_previous();
  for (int turn = blockIdx.x / CLUSTER; turn < call.turns(); turn += gridDim.x / CLUSTER) {
    const Work work = call.work(turn, rank);
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      const unsigned full = shared_address(&shared.full[ring.stage]);
      barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      barrier_expect(full, (BM + BN) * LINE);
      const int k0 = (work.first_step + step) * BK;
      fetch_tile<BM, CLUSTER_N, A_ALONG_K>(shared_address(shared.a[ring.stage]), call.map_a, work.row, k0, rank_n,
                                           same_rows, full);
      fetch_tile<BN, CLUSTER_M, B_ALONG_K>(shared_address(shared.b[ring.stage]), call.map_b, work.column, k0, rank_m,
                                           same_columns, full);
      ring.advance();
    }
  }
}

// What a consumer's threads add up: as wgmma.cuh says for each fragment of 64 rows, first N0 columns, then N1.
constexpr int SUMS = Role::COLUMNS / 2;
using Sums = Accumulator[FRAGMENTS][SUMS];

// Where in C, from the warpgroup's first element on, a thread's sum number i of fragment f belongs.
struct Place {
  int row, column;

  __device__ __forceinline__ Place(int f, int i) {
    const int lane = threadIdx.x % WARP;
    const int along_rows = f * 64 + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4 + 8 * (i / 2 % 2);
    const int along_columns = i / 4 * 8 + 2 * (lane % 4) + i % 2;
    row = SWAP == 1 ? along_columns : along_rows;
    column = SWAP == 1 ? along_rows : along_columns;
  }
};

// `rows` and `columns`: the tiles whose parts are the instructions' rows and columns.
__device__ __forceinline__ void multiply_stage(Sums& sums, unsigned rows, unsigned columns) {
  // From the steps of one instruction to those of the next: within the lines, or as many lines on.
  constexpr int ROWS_STEP = Kind::K * (Role::ROWS_ALONG_K ? LINE / BK : LINE);
  constexpr int COLUMNS_STEP = Kind::K * (Role::COLUMNS_ALONG_K ? LINE / BK : LINE);
  constexpr int GROUP_BYTES = 8 * LINE;
  constexpr int NEXT_BYTES = BK * LINE;  // of lines along m or n; as many lines hold as many rows or columns
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < BK / Kind::K; ++step) {
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
      const u64 a = tile_descriptor(rows + step * ROWS_STEP + f * 64 * LINE, NEXT_BYTES, GROUP_BYTES);
      const unsigned b = columns + step * COLUMNS_STEP;
      multiply_tiles<Kind, N0>(&sums[f][0], a, tile_descriptor(b, NEXT_BYTES, GROUP_BYTES));
      if constexpr (N1 > 0) {
        multiply_tiles<Kind, N1>(&sums[f][N0 / 2], a, tile_descriptor(b + N0 * LINE, NEXT_BYTES, GROUP_BYTES));
      }
    }
  }
  wgmma_commit();
}

// This warpgroup is done with a stage, and says so to every block that writes it.
__device__ __forceinline__ void release(Shared& shared, int stage, int rank) {
  const unsigned empty = shared_address(&shared.empty[stage]);
  const int thread = threadIdx.x % WARPGROUP;
  if constexpr (CLUSTER == 1) {
    if (thread == 0) barrier_arrive(empty);
  } else {
    const bool writes =
        thread < CLUSTER && (thread % CLUSTER_M == rank % CLUSTER_M || thread / CLUSTER_M == rank / CLUSTER_M);
    if (writes) barrier_arrive_remote(remote_address(empty, thread));
  }
}

__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, const Work& work, int first_row,
                                         Ring<STAGES>& ring, int rank) {
  // Sums begin as zeros: were the first multiplication to set them, the compiler would no longer let multiplications
  // follow each other without waiting.
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] = 0;
  }
  if (work.steps == 0) return;
  int before = -1;  // the stage that may still be read
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const unsigned a = shared_address(shared.a[ring.stage]);
    const unsigned b = shared_address(shared.b[ring.stage]);
    multiply_stage(sums, (SWAP == 1 ? b : a) + first_row * LINE, SWAP == 1 ? a : b);
    wgmma_wait<1>();
    if (before >= 0) release(shared, before, rank);
    before = ring.stage;
    ring.advance();
  }
  wgmma_wait<0>();
  release(shared, before, rank);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) hold_sums(sums[f]);
}

// Makes results of sums: alpha * sum + beta * c. C is not read where beta is 0.
__device__ __forceinline__ void finish(const Call& call, Sums& sums, int row0, int column0) {
  const auto alpha = static_cast<Accumulator>(call.alpha);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] *= alpha;
  }
  if (call.beta == Scalar(0)) return;
  const auto beta = static_cast<Accumulator>(call.beta);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
      const Place place(f, i);
      const int row = row0 + place.row;
      const int column = column0 + place.column;
      if (row < call.m && column < call.n) {
        sums[f][i] += beta * static_cast<Accumulator>(value_of(call.C[row * call.ldc + column]));
      }
    }
  }
}

// Writes lines of shared memory to C, STORE_ROWS rows, as much as C has. For a warp.
__device__ __forceinline__ void copy_lines(const Call& call, const unsigned char* lines, int row0, int column0) {
#pragma unroll 4
  for (int line = 0; line < STORE_ROWS; ++line) {
#pragma unroll
    for (int x = threadIdx.x % WARP; x < STORE_COLUMNS; x += WARP) {
      const int byte = x * int(sizeof(Output));
      const int place = (byte / 16 ^ line % 8) * 16 + byte % 16;  // the 128-byte swizzle
      if (row0 + line < call.m && column0 + x < call.n) {
        call.C[(row0 + line) * call.ldc + column0 + x] = *reinterpret_cast<const Output*>(lines + line * LINE + place);
      }
    }
  }
}

// The results of four groups of eight rows and eight columns, from sums[0] on, as stmatrix takes them.
__device__ __forceinline__ void put_groups(unsigned address, const Accumulator* sums) {
  const u32 low = to_pair(Output{}, sums[0], sums[1]);
  const u32 high = to_pair(Output{}, sums[2], sums[3]);
  const u32 next_low = to_pair(Output{}, sums[4], sums[5]);
  const u32 next_high = to_pair(Output{}, sums[6], sums[7]);
  if constexpr (SWAP == 1) {
    store_transposed_matrices(address, low, high, next_low, next_high);
  } else {
    store_matrices(address, low, high, next_low, next_high);
  }
}

// SWAP = 0: every warp stores its 16 rows of each fragment by itself, a column of lines at a time; two are under way.
// `buffer` is the one of two that is free first.
__device__ __forceinline__ void store_rows(const Call& call, Shared& shared, const Sums& sums, int row0, int column0,
                                           int& buffer) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  // This lane says where row lane % 8 of matrix lane / 8 lies: rows 0 to 7 and 8 to 15, then the next eight columns.
  const int line = lane / 8 % 2 * 8 + lane % 8;
  const int row = row0 + warp * 16;
#pragma unroll
  for (int first = 0; first < Role::COLUMNS; first += STORE_COLUMNS) {
    unsigned char* const lines = shared.c[threadIdx.x / WARPGROUP][buffer] + warp * (FRAGMENTS * 16 * LINE);
    buffer ^= 1;
    if (STORE_BOXES && lane == 0) wait_stores_read<1>();
    __syncwarp();
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int j = 0; j < STORE_COLUMNS / 8; j += 2) {
        const int place = (j + lane / 16) ^ (line % 8);
        put_groups(shared_address(lines) + (f * 16 + line) * LINE + place * 16, &sums[f][first / 2 + 4 * j]);
      }
    }
    if (STORE_BOXES) fence_for_accelerator();
    __syncwarp();
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
      if constexpr (!STORE_BOXES) {
        copy_lines(call, lines + f * 16 * LINE, row + f * 64, column0 + first);
      } else if (lane == 0) {
        store_box(call.map_c, shared_address(lines) + f * 16 * LINE, column0 + first, row + f * 64);
      }
    }
    if (STORE_BOXES && lane == 0) commit_stores();
  }
}

// Barriers of the block besides 0, at which the stages are made known: where a consumer of PINGPONG waits for its turn,
// and where the warps of one meet that share lines of C.
constexpr int FIRST_TURN = 1;
constexpr int FIRST_STORE = 3;

// SWAP = 1: the four warps of a fragment have 16 columns each of lines of C, of which 64 are stored at once.
__device__ __forceinline__ void store_columns(const Call& call, Shared& shared, const Sums& sums, int row0, int column0,
                                              int& buffer) {
  constexpr int CHUNK = 64;  // lines
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const int consumer = threadIdx.x / WARPGROUP;
  const bool stores = threadIdx.x % WARPGROUP == 0;
#pragma unroll
  for (int first = 0; first < Role::COLUMNS; first += CHUNK) {
    constexpr int LAST = Role::COLUMNS % CHUNK;  // lines of the last chunk, if it is a part of one
    const int count = first + CHUNK <= Role::COLUMNS ? CHUNK : LAST;
    unsigned char* const lines = shared.c[consumer][buffer];
    buffer ^= 1;
    if (STORE_BOXES && stores) wait_stores_read<1>();
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int j = 0; j < count / 8; j += 2) {
        const int line = (j + lane / 16) * 8 + lane % 8;
        const int place = (warp * 2 + lane / 8 % 2) ^ (line % 8);
        put_groups(shared_address(lines) + (f * CHUNK + line) * LINE + place * 16, &sums[f][first / 2 + 4 * j]);
      }
    }
    if (STORE_BOXES) fence_for_accelerator();
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int line = 0; line < count; line += STORE_ROWS) {
        if constexpr (!STORE_BOXES) {
          if (line / STORE_ROWS != warp) continue;
          copy_lines(call, lines + (f * CHUNK + line) * LINE, row0 + first + line, column0 + f * 64);
        } else if (stores) {
          store_box(call.map_c, shared_address(lines) + (f * CHUNK + line) * LINE, column0 + f * 64,
                    row0 + first + line);
        }
      }
    }
    if (STORE_BOXES && stores) commit_stores();
  }
}

__device__ __forceinline__ void store_part(const Call& call, const Sums& sums, int row0, int column0, int part) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
      const Place place(f, i);
      const int row = row0 + place.row;
      const int column = column0 + place.column;
      if (row < call.m && column < call.n) {
        call.partial[(static_cast<i64>(part) * call.m + row) * call.n + column] = sums[f][i];
      }
    }
  }
}

__device__ __forceinline__ void consume(const Call& call, Shared& shared) {
  const int consumer = threadIdx.x / WARPGROUP;
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int first_row = PINGPONG == 1 ? 0 : consumer * WG_ROWS;  // of the instructions' rows
  Ring<STAGES> ring;
  int buffer = 0;
  bool is_mine = consumer == 1;  // the turn before the first
  if (PINGPONG == 1 && consumer == 1) arrive<2 * WARPGROUP>(FIRST_TURN);
  for (int turn = blockIdx.x / CLUSTER; turn < call.turns(); turn += gridDim.x / CLUSTER) {
    const Work work = call.work(turn, rank);
    if constexpr (PINGPONG == 1) {
      is_mine = !is_mine;
      if (!is_mine) {
        ring.advance(work.steps);
        continue;
      }
      meet<2 * WARPGROUP>(FIRST_TURN + consumer);
    }
    Sums sums;
    multiply(sums, shared, work, first_row, ring, rank);
    if (PINGPONG == 1 && turn + gridDim.x / CLUSTER < call.turns()) arrive<2 * WARPGROUP>(FIRST_TURN + 1 - consumer);
    const int row = work.row + (SWAP == 1 ? 0 : first_row);
    const int column = work.column + (SWAP == 1 ? first_row : 0);
    if constexpr (SPLIT > 1) {
      store_part(call, sums, row, column, work.part);
    } else {
      finish(call, sums, row, column);
      if constexpr (SWAP == 1) {
        store_columns(call, shared, sums, row, column, buffer);
      } else {
        store_rows(call, shared, sums, row, column, buffer);
      }
    }
  }
  if (threadIdx.x % WARP == 0) wait_stores_read<0>();  // the block's shared memory must stay until then
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, Output* C, i64 ldc, Accumulator* partial,
         const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const Call call{static_cast<int>(m),
                  static_cast<int>(n),
                  static_cast<int>(k),
                  alpha,
                  beta,
                  C,
                  ldc,
                  partial,
                  &map_a,
                  &map_b,
                  &map_c};
  constexpr int PRODUCER = CONSUMERS * WARPGROUP;  // the thread that fills stages
  constexpr int READY = PRODUCER + WARP;           // threads that must know the stages' barriers
  if (threadIdx.x == PRODUCER) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    if (STORE_BOXES) prefetch_map(&map_c);
    for (int s = 0; s < STAGES; ++s) {
      barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init(shared_address(&shared.empty[s]), (PINGPONG == 1 ? 1 : CONSUMERS) * (CLUSTER_M + CLUSTER_N - 1));
    }
    barrier_init_fence();
  }
  if constexpr (SPLIT > 1) launch_dependents();
  if constexpr (CLUSTER > 1) cluster_sync();
  if (threadIdx.x >= PRODUCER) {
    if constexpr (CONSUMERS > 1) give_registers_back<PRODUCER_REGISTERS>();
    if (threadIdx.x < READY) {
      __syncwarp();
      arrive<READY>(0);
      if (threadIdx.x == PRODUCER) produce(call, shared);
    }
  } else {
    if constexpr (CONSUMERS > 1) take_registers<CONSUMER_REGISTERS>();
    meet<READY>(0);
    consume(call, shared);
  }
  if constexpr (CLUSTER > 1) cluster_sync();  // a block stays while others write its shared memory
}

// Copies operands to rows of whole 16 bytes: first A, if PACK_A, then B, if PACK_B.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
    pack(i64 rows_a, i64 columns_a, const InputA* __restrict__ A, i64 lda, InputA* __restrict__ copy_a, i64 copy_lda,
         i64 rows_b, i64 columns_b, const InputB* __restrict__ B, i64 ldb, InputB* __restrict__ copy_b, i64 copy_ldb) {
  const i64 unit = static_cast<i64>(blockIdx.x) * PACK_THREADS + threadIdx.x;
  const i64 units_a = PACK_A ? rows_a * units_of_row<InputA>(copy_lda) : 0;
  if (PACK_A && unit < units_a) copy_unit<VA>(A, lda, columns_a, copy_a, copy_lda, unit);
  if (PACK_B && unit >= units_a && unit - units_a < rows_b * units_of_row<InputB>(copy_ldb)) {
    copy_unit<VB>(B, ldb, columns_b, copy_b, copy_ldb, unit - units_a);
  }
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, Output* __restrict__ C, i64 ldc, const Accumulator* partial) {
  if constexpr (SPLIT > 1) reduce_parts<SPLIT>(m, n, alpha, beta, C, ldc, partial);
}
