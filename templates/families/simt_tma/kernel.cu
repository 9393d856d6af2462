// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C on the CUDA cores, fed by the tensor memory accelerator:
//
//            BN                     one block: BM x BN of C; STAGES tiles of A and B are in flight, brought by one
//      ┌───────────────┐            thread's requests, so that nobody spends registers or instructions on copying
//   BM │ ┌─────┐       │
//      │ │ WM  │ warp  │            one warp:  WM x WN = (TM * LANES_M) x (TN * LANES_N)
//      │ │ xWN │ tile  │            one thread: TM x TN results in registers
//      │ └─────┘       │
//      └───────────────┘
//
// An operand that is contiguous along k stays so in shared memory, [extent][BK], its 16-byte chunks swizzled by the
// accelerator; a thread reads DEPTH steps along k at once, for interleaved positions lane + LANES * i. The other kind
// lies as [BK][extent]; a thread reads 16 bytes along the extent, for positions
// (i / 4) * LANES * 4 + lane * 4 + i % 4. Either way fragments are double buffered and free of bank conflicts.
//
// Stages are handed over by barriers: full[s] completes when both tiles have arrived, empty[s] when every warp has
// read them. Tails of m, n and k arrive as zeros.
//
// SPLIT blocks of a cluster share one tile of C, each with its part of k; they exchange partial sums through
// distributed shared memory and add them in the order of their ranks, so that the bits are always the same.
#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/tma.cuh"

using Value = Accumulator;
static_assert(sizeof(Element) == 4, "written for 4-byte elements");

constexpr int LANES_M = 32 / LANES_N;
constexpr int WM = TM * LANES_M;
constexpr int WN = TN * LANES_N;
constexpr int WARPS_N = BN / WN;
constexpr int WARPS = THREADS / 32;
constexpr bool A_ALONG_K = !TRANSPOSE_A;
constexpr bool B_ALONG_K = TRANSPOSE_B;

struct Stages {
  alignas(1024) Value a[STAGES][BM * BK];
  alignas(1024) Value b[STAGES][BN * BK];
};

struct Shared {
  union alignas(1024) {
    Stages stages;
    Value partial[SPLIT > 1 ? BM * BN : 1];  // when the stages are done with; never the barriers' memory
  };
  u64 full[STAGES];
  u64 empty[STAGES];
};
static_assert(sizeof(Shared) + 1024 == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (BM / TM) * (BN / TN), "host and kernel disagree on the block");

// One operand's fragments: T positions of this thread, STEPS steps along k at a time, two of them in turn.
template <int T, int EXTENT, int LANES, bool ALONG_K>
struct Fragments {
  static constexpr int STEPS = ALONG_K ? DEPTH : 1;
  static constexpr int V = T < 4 ? T : 4;
  Value values[2][STEPS * T];

  // The position of result i relative to the warp's first.
  static __device__ __forceinline__ int position(int lane, int i) {
    return ALONG_K ? lane + LANES * i : i / V * (LANES * V) + lane * V + i % V;
  }

  // Reads the group of steps that starts at `round` + `in_round` of the tile; `first` is the warp's first position.
  __device__ __forceinline__ void load(const Value* tile, int first, int lane, int round, int in_round) {
    Value* target = values[in_round / STEPS % 2];
    const int step = round + in_round;
    if constexpr (ALONG_K) {
      // The accelerator stored chunk c of row r at c ^ (r % 8) in rows of 128 bytes, at c ^ (r / 2 % 4) in rows of 64.
#pragma unroll
      for (int i = 0; i < T; ++i) {
        const int r = lane + LANES * i;
        const int x = BK == 32 ? r % 8 : r / 2 % 4;
        const Value* source = tile + (first + r) * BK + ((step / 4) ^ x) * 4 + step % 4;
        *reinterpret_cast<Vector<Value, STEPS>*>(&target[i * STEPS]) =
            *reinterpret_cast<const Vector<Value, STEPS>*>(source);
      }
    } else {
#pragma unroll
      for (int g = 0; g < T / V; ++g) {
        *reinterpret_cast<Vector<Value, V>*>(&target[g * V]) =
            *reinterpret_cast<const Vector<Value, V>*>(tile + step * EXTENT + first + g * LANES * V + lane * V);
      }
    }
  }

  __device__ __forceinline__ Value at(int step, int i) const {
    return values[step / STEPS % 2][ALONG_K ? i * STEPS + step % STEPS : i];
  }
};

using FragmentsA = Fragments<TM, BM, LANES_M, A_ALONG_K>;
using FragmentsB = Fragments<TN, BN, LANES_N, B_ALONG_K>;

// The outer product of step `step`; the order decides which operand the register reuse cache holds.
__device__ __forceinline__ void accumulate(Value (&sum)[TM][TN], const FragmentsA& a, const FragmentsB& b, int step) {
  constexpr int OUTER = ORDER == 2 ? TN : TM;
  constexpr int INNER = ORDER == 2 ? TM : TN;
#pragma unroll
  for (int x = 0; x < OUTER; ++x) {
#pragma unroll
    for (int y = 0; y < INNER; ++y) {
      const int turned = ORDER >= 1 && x % 2 == 1 ? INNER - 1 - y : y;  // serpentine
      const int i = ORDER == 2 ? turned : x;
      const int j = ORDER == 2 ? x : turned;
      sum[i][j] += a.at(step, i) * b.at(step, j);
    }
  }
}

// Adds the cluster's partial tiles, each block the rows of its rank, and stores the results.
__device__ __forceinline__ void reduce_cluster(Value* partial, const Value (&sum)[TM][TN], int row0, int lane_m,
                                               int column0, int lane_n, i64 m, i64 n, i64 first_row, i64 first_column,
                                               Scalar alpha, Scalar beta, Element* C, i64 ldc) {
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      partial[(row0 + FragmentsA::position(lane_m, i)) * BN + column0 + FragmentsB::position(lane_n, j)] = sum[i][j];
    }
  }
  cluster_sync();
  constexpr int ROWS = BM / SPLIT;
  const int rank = cluster_rank();
  for (int v = threadIdx.x; v < ROWS * BN / 4; v += THREADS) {
    const int row = rank * ROWS + v / (BN / 4);
    const int column = v % (BN / 4) * 4;
    const unsigned own = shared_address(partial + row * BN + column);
    Value total[4] = {};
#pragma unroll
    for (int r = 0; r < SPLIT; ++r) {
      u32 words[4];
      load_remote(words, own, r);
#pragma unroll
      for (int w = 0; w < 4; ++w) total[w] += *reinterpret_cast<const Value*>(&words[w]);
    }
    if (first_row + row < m) {
      store_results<4, VC>(C + (first_row + row) * ldc + first_column + column, total, alpha, beta,
                           n - first_column - column);
    }
  }
  cluster_sync();  // nobody leaves while others read its shared memory
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, const __grid_constant__ TensorMap map_a,
         const __grid_constant__ TensorMap map_b, Scalar beta, Element* __restrict__ C, i64 ldc) {
  extern __shared__ unsigned char shared_bytes[];
  // The swizzle counts from multiples of 1024 bytes.
  const unsigned misaligned = shared_address(shared_bytes) % 1024;
  unsigned char* const base = shared_bytes + (misaligned == 0 ? 0 : 1024 - misaligned);
  Shared& shared = *reinterpret_cast<Shared*>(base);

  const TileIndex tile = tile_of_block(blockIdx.x / SPLIT, ceil_div(m, BM), ceil_div(n, BN), GROUP);
  const i64 first_row = tile.m * BM;
  const i64 first_column = tile.n * BN;

  const int rank = SPLIT > 1 ? cluster_rank() : 0;
  const int all_tiles = static_cast<int>(ceil_div(k, BK));
  const int share = (all_tiles + SPLIT - 1) / SPLIT;
  const int first_tile = rank * share;
  const int tiles = first_tile + share < all_tiles ? share : (all_tiles > first_tile ? all_tiles - first_tile : 0);

  const auto request = [&](int t) {
    const int stage = t % STAGES;
    const unsigned full = shared_address(&shared.full[stage]);
    const int k0 = (first_tile + t) * BK;
    barrier_expect(full, (BM + BN) * BK * 4);
    copy_box(shared_address(shared.stages.a[stage]), &map_a, A_ALONG_K ? k0 : static_cast<int>(first_row),
             A_ALONG_K ? static_cast<int>(first_row) : k0, full);
    copy_box(shared_address(shared.stages.b[stage]), &map_b, B_ALONG_K ? k0 : static_cast<int>(first_column),
             B_ALONG_K ? static_cast<int>(first_column) : k0, full);
  };

  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int s = 0; s < STAGES; ++s) {
      barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init(shared_address(&shared.empty[s]), WARPS);
    }
    barrier_init_fence();
    for (int t = 0; t < STAGES && t < tiles; ++t) request(t);
  }
  __syncthreads();

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int lane_n = 2 * (lane / (2 * LANES_M)) + lane % 2;
  const int lane_m = lane / 2 % LANES_M;
  const int row0 = warp / WARPS_N * WM;
  const int column0 = warp % WARPS_N * WN;

  Value sum[TM][TN] = {};
  FragmentsA a;
  FragmentsB b;

  int stage = 0;
  unsigned parity = 0;  // of the phase of full[stage] that is awaited
  static_assert(UNROLL % (2 * DEPTH) == 0, "a round ends with the fragments it began with");
  if (tiles > 0) {
    barrier_wait(shared_address(&shared.full[0]), 0);
    a.load(shared.stages.a[0], row0, lane_m, 0, 0);
    b.load(shared.stages.b[0], column0, lane_n, 0, 0);
  }
  for (int t = 0; t < tiles; ++t) {
    const int next = stage + 1 == STAGES ? 0 : stage + 1;
    const unsigned next_parity = next == 0 ? parity ^ 1 : parity;
    // A round is short enough for the instruction cache, however deep the stages are.
#pragma unroll 1
    for (int round = 0; round < BK / UNROLL; ++round) {
      const bool last_round = round == BK / UNROLL - 1;
      const int first = round * UNROLL;
      const int ahead_stage = last_round ? next : stage;
      const int ahead_first = last_round ? 0 : first + UNROLL;
      if (last_round && t + 1 < tiles) barrier_wait(shared_address(&shared.full[next]), next_parity);
      if (round == BK / UNROLL / 2 && t > 0 && threadIdx.x == 0 && t - 1 + STAGES < tiles) {
        // The stage of the tile before was left behind a while ago: wait for the slowest warp, then fill it again.
        const int before = stage == 0 ? STAGES - 1 : stage - 1;
        barrier_wait(shared_address(&shared.empty[before]), stage == 0 ? parity ^ 1 : parity);
        request(t - 1 + STAGES);
      }
#pragma unroll
      for (int step = 0; step < UNROLL; ++step) {
        if (step % FragmentsA::STEPS == 0) {
          const int ahead = step + FragmentsA::STEPS;
          if (ahead < UNROLL) {
            a.load(shared.stages.a[stage], row0, lane_m, first, ahead);
          } else {
            a.load(shared.stages.a[ahead_stage], row0, lane_m, ahead_first, 0);
          }
        }
        if (step % FragmentsB::STEPS == 0) {
          const int ahead = step + FragmentsB::STEPS;
          if (ahead < UNROLL) {
            b.load(shared.stages.b[stage], column0, lane_n, first, ahead);
          } else {
            b.load(shared.stages.b[ahead_stage], column0, lane_n, ahead_first, 0);
          }
        }
        accumulate(sum, a, b, step);
      }
    }
    __syncwarp();
    if (lane == 0) barrier_arrive(shared_address(&shared.empty[stage]));
    stage = next;
    parity = next_parity;
  }

  if constexpr (SPLIT > 1) {
    reduce_cluster(shared.partial, sum, row0, lane_m, column0, lane_n, m, n, first_row, first_column, alpha, beta, C, ldc);
  } else {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const i64 row = first_row + row0 + FragmentsA::position(lane_m, i);
      if (row >= m) continue;
      constexpr int RUN = B_ALONG_K ? 1 : FragmentsB::V;  // neighbouring columns of a thread
#pragma unroll
      for (int j = 0; j < TN; j += RUN) {
        const i64 column = first_column + column0 + FragmentsB::position(lane_n, j);
        store_results<RUN, VC>(C + row * ldc + column, &sum[i][j], alpha, beta, n - column);
      }
    }
  }
}
