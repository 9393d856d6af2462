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
// divides the steps along k; the parts' sums go to the workspace and are added by reduce() in a fixed order. With
// REDUCE = 1 a cluster of SPLIT blocks has the parts of one tile, and each adds an equal share of every thread's sums,
// in the same order, which the others have written to its shared memory.
//
// Results pass through shared memory, in lines of 128 bytes: STORE_BOXES says whether C is aligned so
// that the accelerator can store them while the next tile is multiplied, else the warp does.
//
// Operands whose rows do not begin at multiples of 16 bytes, which the accelerator needs, are first copied by pack(),
// and so are those that lie along m or n, unless their elements have 16 bits: no others can be multiplied from there.
//
// FROM_REGISTERS: warps read the instructions' rows from shared memory themselves, so that 32-bit elements along m or n
// need no copy.
//
// PROMOTES: sums of tensor cores are less precise than fp32, and each stage's are added to sums in registers.
#include "mmtune/access.cuh"
#include "mmtune/copy_rows.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"
#include "mmtune/pack.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/tma.cuh"
#include "mmtune/wgmma.cuh"
#include "mmtune/wgmma_store.cuh"

constexpr int BK = LINE / sizeof(InputA);

// An instruction multiplies 64 rows of one operand and N columns of the other; ROWS and COLUMNS are those of a tile.
template <bool SWAPPED>
struct Roles {
  static constexpr int ROWS = BM, COLUMNS = BN;
  static constexpr bool ROWS_ALONG_K = A_ALONG_K, COLUMNS_ALONG_K = B_ALONG_K;
  using Kind = Wgmma<InputA, InputB, A_ALONG_K || FROM_REGISTERS, B_ALONG_K>;
};
template <>
struct Roles<true> {
  static constexpr int ROWS = BN, COLUMNS = BM;
  static constexpr bool ROWS_ALONG_K = B_ALONG_K, COLUMNS_ALONG_K = A_ALONG_K;
  using Kind = Wgmma<InputB, InputA, B_ALONG_K || FROM_REGISTERS, A_ALONG_K>;
};
using Role = Roles<SWAP == 1>;
using Kind = Role::Kind;

constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int WG_ROWS = PINGPONG == 1 ? Role::ROWS : Role::ROWS / CONSUMERS;
constexpr int FRAGMENTS = WG_ROWS / 64;                         // instructions along their rows
constexpr int N0 = Role::COLUMNS <= 256 ? Role::COLUMNS : 192;  // columns of the first instruction
constexpr int N1 = Role::COLUMNS - N0;                          // and of the second, if any
constexpr int STORE_BYTES = WG_ROWS * LINE;                     // of a consumer's lines that are stored at once

struct Shared {
  alignas(1024) unsigned char a[STAGES][BM * LINE];
  alignas(1024) unsigned char b[STAGES][BN * LINE];
  alignas(1024) unsigned char c[CONSUMERS][2][STORE_BYTES];
  u64 full[STAGES];   // the accelerator has brought the stage
  u64 empty[STAGES];  // all that read it, here and in the cluster, are done with it
  alignas(16) Accumulator received[REDUCE == 1 ? BM * BN : 4];  // what blocks of the same tile have for this one
  u64 complete;                                                 // all of it
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
  Target target;
  Accumulator* partial;
  const TensorMap* map_a;
  const TensorMap* map_b;

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

// `rows` and `columns`: the tiles whose parts are the instructions' rows and columns. SETS: the sums begin here.
template <bool SETS = false>
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
      if (SETS && step == 0) {
        multiply_tiles<Kind, N0, false>(&sums[f][0], a, tile_descriptor(b, NEXT_BYTES, GROUP_BYTES));
      } else {
        multiply_tiles<Kind, N0, true>(&sums[f][0], a, tile_descriptor(b, NEXT_BYTES, GROUP_BYTES));
      }
      if constexpr (N1 > 0) {
        multiply_tiles<Kind, N1, true>(&sums[f][N0 / 2], a, tile_descriptor(b + N0 * LINE, NEXT_BYTES, GROUP_BYTES));
      }
    }
  }
  wgmma_commit();
}

// The instructions' rows of a stage, as multiply_tiles() takes them.
struct Rows {
  static constexpr int STEPS = BK / Kind::K;
  u32 at[STEPS][FRAGMENTS][4];

  // From lines along m or n, at the warpgroup's first row. The four lines that a warp would read for one of the numbers
  // lie in half of the banks, so that every other lane first reads the one four lines on.
  __device__ __forceinline__ void load(const unsigned char* tile, int first_row) {
    const int lane = threadIdx.x % WARP;
    const bool is_odd = lane % 2 == 1;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int row = first_row + f * 64 + threadIdx.x % WARPGROUP / WARP * 16 + r * 8 + lane / 4;
          const auto element = [&](int k) {
            const unsigned char* const lines = tile + row / BK * (BK * LINE) + step * Kind::K * LINE;
            return *reinterpret_cast<const u32*>(lines + unit_of_line(k, row % BK / 4) + row % 4 * 4);
          };
          const u32 first = element(lane % 4 + (is_odd ? 4 : 0));
          const u32 second = element(lane % 4 + (is_odd ? 0 : 4));
          at[step][f][r] = is_odd ? second : first;
          at[step][f][2 + r] = is_odd ? first : second;
        }
        hold_sums(at[step][f]);  // complete before the multiplications begin
      }
    }
  }

  __device__ __forceinline__ void multiply(Sums& sums, unsigned columns) const {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int f = 0; f < FRAGMENTS; ++f) {
        const unsigned b = columns + step * (Kind::K * (LINE / BK));
        multiply_tiles<Kind, N0, true>(&sums[f][0], at[step][f], tile_descriptor(b, BK * LINE, 8 * LINE));
        if constexpr (N1 > 0) {
          const u64 next = tile_descriptor(b + N0 * LINE, BK * LINE, 8 * LINE);
          multiply_tiles<Kind, N1, true>(&sums[f][N0 / 2], at[step][f], next);
        }
      }
    }
    wgmma_commit();
  }
};

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

// Sums begin as zeros: were the first multiplication to set them, the compiler would no longer let multiplications
// follow each other without waiting.
__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] = 0;
  }
}

// A stage's rows are read while the stage before is multiplied.
__device__ __forceinline__ void multiply_from_registers(Sums& sums, Shared& shared, const Work& work, int first_row,
                                                        Ring<STAGES>& ring, int rank) {
  clear(sums);
  if (work.steps == 0) return;
  Rows rows[2];
  int before = -1;  // the stage that may still be read
  const auto turn = [&](Rows& mine) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    mine.load(SWAP == 1 ? shared.b[ring.stage] : shared.a[ring.stage], first_row);
    mine.multiply(sums, shared_address(SWAP == 1 ? shared.a[ring.stage] : shared.b[ring.stage]));
    wgmma_wait<1>();
    if (before >= 0) release(shared, before, rank);
    before = ring.stage;
    ring.advance();
  };
  if (work.steps % 2 == 1) turn(rows[1]);
#pragma unroll 1
  for (int step = work.steps % 2; step < work.steps; step += 2) {
    turn(rows[0]);
    turn(rows[1]);
  }
  wgmma_wait<0>();
  release(shared, before, rank);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) hold_sums(sums[f]);
}

__device__ __forceinline__ void add(Sums& sums, Sums& part) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
    hold_sums(part[f]);
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] += part[f][i];
  }
}

// Each stage is summed by itself and added to the sums, which are more precise than those of the tensor cores: while
// the next one is multiplied, where registers hold both.
__device__ __forceinline__ void multiply_and_promote(Sums& sums, Shared& shared, const Work& work, int first_row,
                                                     Ring<STAGES>& ring, int rank) {
  constexpr bool BOTH = 3 * FRAGMENTS * SUMS <= 192;
  clear(sums);
  if (work.steps == 0) return;
  Sums parts[BOTH ? 2 : 1];
  int last = 0;  // the stage that is multiplied
  const auto start = [&](Sums& part) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const unsigned a = shared_address(shared.a[ring.stage]);
    const unsigned b = shared_address(shared.b[ring.stage]);
    multiply_stage<true>(part, (SWAP == 1 ? b : a) + first_row * LINE, SWAP == 1 ? a : b);
  };
  const auto next = [&](Sums& part, Sums& before) {
    start(part);
    wgmma_wait<1>();
    release(shared, last, rank);
    last = ring.stage;
    ring.advance();
    add(sums, before);
  };
  const auto finish = [&](Sums& part) {
    wgmma_wait<0>();
    release(shared, last, rank);
    add(sums, part);
  };
  if constexpr (BOTH) {
    start(parts[0]);
    last = ring.stage;
    ring.advance();
    int step = 1;
#pragma unroll 1
    for (; step + 1 < work.steps; step += 2) {
      next(parts[BOTH], parts[0]);
      next(parts[0], parts[BOTH]);
    }
    if (step < work.steps) {
      next(parts[BOTH], parts[0]);
      finish(parts[BOTH]);
    } else {
      finish(parts[0]);
    }
  } else {
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      start(parts[0]);
      last = ring.stage;
      ring.advance();
      finish(parts[0]);
    }
  }
}

__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, const Work& work, int first_row,
                                         Ring<STAGES>& ring, int rank) {
  clear(sums);
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

// Barriers of the block besides 0, at which the stages are made known: where a consumer of PINGPONG waits for its turn.
constexpr int FIRST_TURN = FIRST_STORE + CONSUMERS;

// REDUCE = 1: hands over what other blocks of the tile add, and stores what this one does.
__device__ __forceinline__ void reduce_parts_in_cluster(const Call& call, Shared& shared, const Sums& sums, int row0,
                                                        int column0, int rank) {
  constexpr int CONSUMER_THREADS = CONSUMERS * WARPGROUP;
  constexpr int SHARE = FRAGMENTS * SUMS / SPLIT;  // of a thread's sums
  static_assert(REDUCE == 0 || SHARE % 4 == 0, "sums are handed over by the four");
  const int thread = threadIdx.x;
  const unsigned complete = shared_address(&shared.complete);
  if (thread == 0) barrier_expect(complete, (SPLIT - 1) * SHARE * CONSUMER_THREADS * 4);
  const auto place = [&](int from, int i) { return ((from * SHARE + i) / 4 * CONSUMER_THREADS + thread) * 4 + i % 4; };
#pragma unroll
  for (int owner = 0; owner < SPLIT; ++owner) {  // not rank alone, so that sums have constant indices
    if (owner == rank) continue;
    const unsigned theirs = remote_address(shared_address(shared.received), owner);
    const unsigned barrier = remote_address(complete, owner);
#pragma unroll
    for (int i = 0; i < SHARE; i += 4) {
      u32 words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int e = owner * SHARE + i + j;
        words[j] = __builtin_bit_cast(u32, sums[e / SUMS][e % SUMS]);
      }
      store_remote(theirs + place(rank, i) * 4, barrier, words);
    }
  }
  barrier_wait(complete, 0);
#pragma unroll
  for (int owner = 0; owner < SPLIT; ++owner) {
    if (owner != rank) continue;
#pragma unroll
    for (int i = 0; i < SHARE; ++i) {
      const int e = owner * SHARE + i;
      Accumulator sum = 0;
#pragma unroll
      for (int from = 0; from < SPLIT; ++from) {
        sum += from == owner ? sums[e / SUMS][e % SUMS] : shared.received[place(from, i)];
      }
      const Place at(e / SUMS, e % SUMS);
      const int row = row0 + at.row;
      const int column = column0 + at.column;
      if (row < call.m && column < call.n) {
        store_result(call.target.C + row * call.target.ldc + column, sum, call.alpha, call.beta);
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
    if constexpr (PROMOTES) {
      multiply_and_promote(sums, shared, work, first_row, ring, rank);
    } else if constexpr (FROM_REGISTERS) {
      multiply_from_registers(sums, shared, work, first_row, ring, rank);
    } else {
      multiply(sums, shared, work, first_row, ring, rank);
    }
    if (PINGPONG == 1 && turn + gridDim.x / CLUSTER < call.turns()) arrive<2 * WARPGROUP>(FIRST_TURN + 1 - consumer);
    const int row = work.row + (SWAP == 1 ? 0 : first_row);
    const int column = work.column + (SWAP == 1 ? first_row : 0);
    if constexpr (REDUCE == 1) {
      reduce_parts_in_cluster(call, shared, sums, row, column, work.part);
    } else if constexpr (SPLIT > 1) {
      store_part(call.target, call.partial, sums, row, column, work.part);
    } else {
      finish(call.target, call.alpha, call.beta, sums, row, column);
      if constexpr (SWAP == 1) {
        store_columns<Role::COLUMNS>(call.target, shared.c[consumer], sums, row, column, buffer);
      } else {
        store_rows<Role::COLUMNS>(call.target, shared.c[consumer], sums, row, column, buffer);
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
                  {C, ldc, static_cast<int>(m), static_cast<int>(n), &map_c},
                  partial,
                  &map_a,
                  &map_b};
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
    if (REDUCE == 1) barrier_init(shared_address(&shared.complete), 1);
    barrier_init_fence();
  }
  if constexpr (SPLIT > 1 && REDUCE == 0) launch_dependents();
  if constexpr (CLUSTER > 1 || REDUCE == 1) cluster_sync();
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
  if constexpr (CLUSTER > 1 || REDUCE == 1) cluster_sync();  // a block stays while others write its shared memory
}

// What a block of pack() copies of an operand of rows x columns: as it is, or transposed.
template <bool TURNS, int VECTOR, class T>
__device__ __forceinline__ void pack_block(i64 block, i64 rows, i64 columns, const T* source, i64 ld, T* target,
                                           i64 target_ld) {
  extern __shared__ __align__(16) unsigned char staged[];
  if constexpr (TURNS) {
    static_assert(PACK_TILE * (PACK_TILE + 1) * sizeof(T) == PACK_SMEM_BYTES, "host and kernel disagree");
    pack_tile<true, PACK_TILE, PACK_THREADS>(staged, source, ld, rows, columns, target, target_ld, block);
  } else {
    const i64 unit = block * PACK_THREADS + threadIdx.x;
    if (unit < rows * units_of_row<T>(target_ld)) copy_unit<VECTOR>(source, ld, columns, target, target_ld, unit);
  }
}

// Copies operands to rows of whole lines: first A in `blocks_a` blocks, then B.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
    pack(i64 rows_a, i64 columns_a, const InputA* __restrict__ A, i64 lda, InputA* __restrict__ copy_a, i64 copy_lda,
         i64 rows_b, i64 columns_b, const InputB* __restrict__ B, i64 ldb, InputB* __restrict__ copy_b, i64 copy_ldb,
         i64 blocks_a) {
  const i64 block = blockIdx.x;
  if (PACK_A && block < blocks_a) {
    pack_block<TURNS_A, VA>(block, rows_a, columns_a, A, lda, copy_a, copy_lda);
  }
  if (PACK_B && block >= blocks_a) {
    pack_block<TURNS_B, VB>(block - blocks_a, rows_b, columns_b, B, ldb, copy_b, copy_ldb);
  }
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, Output* __restrict__ C, i64 ldc, const Accumulator* partial) {
  if constexpr (SPLIT > 1 && REDUCE == 0) reduce_parts<SPLIT>(m, n, alpha, beta, C, ldc, partial);
}
