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
// of LANES_N * 16 bytes of C. The first tile along k takes the remainder of k (zero filled); all later ones are full,
// so the main loop has no guard. Rows and columns beyond C are clamped to valid addresses: they feed only results that
// are never stored. SPLIT blocks share one tile of C; their partial sums go to the workspace and reduce() adds them
// in a fixed order.
#include "mmtune/copy.cuh"
#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"

using Value = Accumulator;  // what shared memory holds: elements are widened once, when they are staged

constexpr int V = 16 / sizeof(Value) < TM && 16 / sizeof(Value) < TN ? 16 / sizeof(Value) : (TM < TN ? TM : TN);
constexpr int LANES_M = 32 / LANES_N;
constexpr int WM = TM * LANES_M;
constexpr int WN = TN * LANES_N;
constexpr int WARPS_N = BN / WN;

constexpr bool A_ALONG_K = !TRANSPOSE_A;  // the stored matrix is contiguous along k, staging transposes it
constexpr bool B_ALONG_K = TRANSPOSE_B;
constexpr bool ASYNC = LOAD == 1;

// Padding keeps rows 16-byte aligned and moves the transposed stores of one warp to different banks.
constexpr int PAD = ASYNC ? 0 : 16 / sizeof(Value);
constexpr int A_ROW = BM + (A_ALONG_K ? PAD : 0);
constexpr int B_ROW = BN + (B_ALONG_K ? PAD : 0);

struct Shared {
  alignas(16) Value a[STAGES][BK][A_ROW];
  alignas(16) Value b[STAGES][BK][B_ROW];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (BM / TM) * (BN / TN), "host and kernel disagree on the block");

// One operand's share of a stage, EXTENT x BK elements, moved by all threads in vectors of VEC elements.
template <int EXTENT, int ROW, bool ALONG_K, int VEC>
struct VectorLoader {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;
  static constexpr bool kEven = kVectors % THREADS == 0;
  // Along k, neighbouring lanes take one 32-byte sector, then the next row: full sectors, distinct banks.
  static constexpr int kSector = 32 / (VEC * sizeof(Element)) < BK / VEC ? 32 / (VEC * sizeof(Element)) : BK / VEC;

  const Element* source[kPerThread];
  Vector<Element, VEC> staged[ASYNC ? 1 : kPerThread];

  static __device__ __forceinline__ int outer(int u) {  // position in 0..EXTENT of vector u
    return ALONG_K ? u / kSector % EXTENT : u % (EXTENT / VEC) * VEC;
  }
  static __device__ __forceinline__ int inner(int u) {  // position in 0..BK of vector u
    return ALONG_K ? (u / (kSector * EXTENT) * kSector + u % kSector) * VEC : u / (EXTENT / VEC);
  }
  static __device__ __forceinline__ bool mine(int u) { return kEven || u < kVectors; }

  // Positions at the first element along k; `extent` is the matrix' size in the other direction.
  __device__ __forceinline__ void start(const Element* matrix, i64 ld, i64 first, i64 extent, i64 k_begin) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      i64 row = first + outer(u);
      const i64 last = extent - (ALONG_K ? 1 : VEC);
      row = row < last ? row : last;
      const i64 l = k_begin + inner(u);
      source[s] = matrix + (ALONG_K ? row * ld + l : l * ld + row);
    }
  }

  __device__ __forceinline__ void advance(i64 ld, int steps) {
    const i64 distance = ALONG_K ? steps : steps * ld;
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) source[s] += distance;
  }

  // Starts moving the next `depth` steps along k (BK if !GUARDED). They arrive with finish().
  template <bool GUARDED>
  __device__ __forceinline__ void fetch(Value (*tile)[ROW], int depth) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (!mine(u)) continue;
      const bool valid = !GUARDED || inner(u) < depth;
      if constexpr (!ASYNC) {
        Vector<Element, VEC> zero = {};
        staged[s] = valid ? *reinterpret_cast<const Vector<Element, VEC>*>(source[s]) : zero;
      } else {
        copy_async<sizeof(Element) * VEC>(shared_address(&tile[inner(u)][outer(u)]), source[s], valid);
      }
    }
  }

  __device__ __forceinline__ void finish(Value (*tile)[ROW]) {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int s = 0; s < kPerThread; ++s) {
        const int u = threadIdx.x + s * THREADS;
        if (!mine(u)) continue;
        if constexpr (ALONG_K) {
#pragma unroll
          for (int v = 0; v < VEC; ++v) tile[inner(u) + v][outer(u)] = value_of(staged[s].at[v]);
        } else {
#pragma unroll
          for (int v = 0; v < VEC; ++v) tile[inner(u)][outer(u) + v] = value_of(staged[s].at[v]);
        }
      }
    }
  }
};

// The same for asynchronous copies of an operand that is contiguous along k. Each thread follows runs of k in rows of
// its own, one element at a time: a warp writes neighbouring positions of shared memory, all addresses but the first
// are immediate offsets, and the cache holds the rest of each sector for the copies that follow at once.
template <int EXTENT, int ROW>
struct RowLoader {
  static constexpr int kRows = EXTENT > THREADS ? EXTENT / THREADS : 1;          // of a thread
  static constexpr int kRuns = EXTENT > THREADS ? 1 : THREADS / EXTENT;          // threads that share a row
  static constexpr int kRun = BK / kRuns;                                        // elements of a run

  const Element* source[kRows];

  static __device__ __forceinline__ int outer(int s) { return threadIdx.x % EXTENT + s * THREADS; }
  static __device__ __forceinline__ int inner() { return EXTENT > THREADS ? 0 : threadIdx.x / EXTENT * kRun; }
  static __device__ __forceinline__ bool mine() { return EXTENT > THREADS || threadIdx.x < EXTENT * kRuns; }

  __device__ __forceinline__ void start(const Element* matrix, i64 ld, i64 first, i64 extent, i64 k_begin) {
#pragma unroll
    for (int s = 0; s < kRows; ++s) source[s] = matrix + smaller(first + outer(s), extent - 1) * ld + k_begin + inner();
  }

  __device__ __forceinline__ void advance(i64, int steps) {
#pragma unroll
    for (int s = 0; s < kRows; ++s) source[s] += steps;
  }

  template <bool GUARDED>
  __device__ __forceinline__ void fetch(Value (*tile)[ROW], int depth) {
    if (!mine()) return;
#pragma unroll
    for (int s = 0; s < kRows; ++s) {
#pragma unroll
      for (int l = 0; l < kRun; ++l) {
        const bool valid = !GUARDED || inner() + l < depth;
        copy_async<sizeof(Element)>(shared_address(&tile[inner() + l][outer(s)]), source[s] + l, valid);
      }
    }
  }

  __device__ __forceinline__ void finish(Value (*)[ROW]) {}
};

template <bool ROWS, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderChoice {
  using type = VectorLoader<EXTENT, ROW, ALONG_K, VEC>;
};
template <int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderChoice<true, EXTENT, ROW, ALONG_K, VEC> {
  using type = RowLoader<EXTENT, ROW>;
};
template <int EXTENT, int ROW, bool ALONG_K, int VEC>
using Loader = typename LoaderChoice<ASYNC && ALONG_K, EXTENT, ROW, ALONG_K, VEC>::type;

struct Fragment {
  Value a[TM];
  Value b[TN];

  __device__ __forceinline__ void load(const Value* a_row, const Value* b_row) {
#pragma unroll
    for (int g = 0; g < TM / V; ++g) {
      *reinterpret_cast<Vector<Value, V>*>(&a[g * V]) =
          *reinterpret_cast<const Vector<Value, V>*>(a_row + g * LANES_M * V);
    }
#pragma unroll
    for (int g = 0; g < TN / V; ++g) {
      *reinterpret_cast<Vector<Value, V>*>(&b[g * V]) =
          *reinterpret_cast<const Vector<Value, V>*>(b_row + g * LANES_N * V);
    }
  }
};

__device__ __forceinline__ void accumulate(Accumulator (&sum)[TM][TN], const Fragment& f) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      // Serpentine order reuses the last b of a row for the next row.
      const int column = ORDER == 1 && i % 2 == 1 ? TN - 1 - j : j;
      sum[i][column] += f.a[i] * f.b[column];
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B,
         i64 ldb, Scalar beta, Element* __restrict__ C, i64 ldc, Accumulator* __restrict__ workspace) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);

  const i64 tiles_m = ceil_div(m, BM);
  const i64 tiles_n = ceil_div(n, BN);
  const i64 block = blockIdx.x;
  const int split = SPLIT > 1 ? static_cast<int>(block / (tiles_m * tiles_n)) : 0;
  const TileIndex tile = tile_of_block(SPLIT > 1 ? block % (tiles_m * tiles_n) : block, tiles_m, tiles_n, GROUP);
  const i64 first_row = tile.m * BM;
  const i64 first_column = tile.n * BN;

  // This block's part of k, in whole tiles but for the end of the last part.
  const i64 share = ceil_div(ceil_div(k, BK), SPLIT) * BK;
  const i64 k_begin = SPLIT > 1 ? split * share : 0;
  const i64 k_end = SPLIT > 1 ? smaller(k_begin + share, k) : k;
  const int tiles = k_end > k_begin ? static_cast<int>(ceil_div(k_end - k_begin, BK)) : 0;
  const int first_depth = static_cast<int>(k_end - k_begin - static_cast<i64>(tiles - 1) * BK);

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // Eight neighbouring lanes hold two columns and four rows of lanes, which keeps 16-byte reads conflict free.
  const int lane_n = LANES_N == 1 ? 0 : 2 * (lane / (2 * LANES_M)) + lane % 2;
  const int lane_m = LANES_N == 1 ? lane : lane / 2 % LANES_M;
  const int row0 = warp / WARPS_N * WM + lane_m * V;
  const int column0 = warp % WARPS_N * WN + lane_n * V;

  Accumulator sum[TM][TN] = {};

  if (tiles > 0) {
    Loader<BM, A_ROW, A_ALONG_K, VA> load_a;
    Loader<BN, B_ROW, B_ALONG_K, VB> load_b;
    load_a.start(A, lda, first_row, m, k_begin);
    load_b.start(B, ldb, first_column, n, k_begin);

    load_a.template fetch<true>(shared.a[0], first_depth);
    load_b.template fetch<true>(shared.b[0], first_depth);
    load_a.advance(lda, first_depth);
    load_b.advance(ldb, first_depth);
    load_a.finish(shared.a[0]);
    load_b.finish(shared.b[0]);
    if constexpr (ASYNC) {
      commit_copies();
#pragma unroll
      for (int s = 1; s < STAGES - 1; ++s) {
        if (s < tiles) {
          load_a.template fetch<false>(shared.a[s], BK);
          load_b.template fetch<false>(shared.b[s], BK);
          load_a.advance(lda, BK);
          load_b.advance(ldb, BK);
        }
        commit_copies();
      }
      wait_copies<STAGES - 2>();
    }
    __syncthreads();

    Fragment fragment[2];
    fragment[0].load(&shared.a[0][0][row0], &shared.b[0][0][column0]);

    int stage = 0;
    int fill = STAGES - 1;  // the stage that the next fetch goes to
    for (int t = 0; t < tiles; ++t) {
      const bool more = t + (ASYNC ? STAGES - 1 : 1) < tiles;
      const int next = stage + 1 == STAGES ? 0 : stage + 1;
      // A round is short enough for the instruction cache, however deep the stages are.
#pragma unroll 1
      for (int round = 0; round < BK / UNROLL; ++round) {
        const bool last_round = round == BK / UNROLL - 1;
        const Value* const a_row = &shared.a[stage][round * UNROLL][row0];
        const Value* const b_row = &shared.b[stage][round * UNROLL][column0];
#pragma unroll
        for (int step = 0; step < UNROLL; ++step) {
          if (step == UNROLL - 1 && last_round) {
            if constexpr (ASYNC) {
              wait_copies<STAGES - 2>();
            } else if (more) {
              load_a.finish(shared.a[next]);
              load_b.finish(shared.b[next]);
            }
            __syncthreads();
          }
          if (step == UNROLL - 1) {
            fragment[0].load(last_round ? &shared.a[next][0][row0] : a_row + UNROLL * A_ROW,
                             last_round ? &shared.b[next][0][column0] : b_row + UNROLL * B_ROW);
          } else {
            fragment[(step + 1) % 2].load(a_row + (step + 1) * A_ROW, b_row + (step + 1) * B_ROW);
          }
          if (step == 0 && round == 0) {
            if (more) {
              load_a.template fetch<false>(shared.a[fill], BK);
              load_b.template fetch<false>(shared.b[fill], BK);
              load_a.advance(lda, BK);
              load_b.advance(ldb, BK);
            }
            if constexpr (ASYNC) commit_copies();
          }
          accumulate(sum, fragment[step % 2]);
        }
      }
      stage = next;
      fill = fill + 1 == STAGES ? 0 : fill + 1;
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const i64 row = first_row + row0 + i / V * (LANES_M * V) + i % V;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      const i64 column = first_column + column0 + j / V * (LANES_N * V);
      if constexpr (SPLIT > 1) {
        store_partial<V>(workspace + (split * m + row) * n + column, &sum[i][j], n - column);
      } else {
        store_results<V, VC>(C + row * ldc + column, &sum[i][j], alpha, beta, n - column);
      }
    }
  }
}

// Adds the SPLIT partial sums of every element in order: the same bits every time.
extern "C" __global__ void __launch_bounds__(256)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, Element* __restrict__ C, i64 ldc,
           const Accumulator* __restrict__ workspace) {
  const i64 index = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= m * n) return;
  Accumulator sum = workspace[index];
  for (int s = 1; s < SPLIT; ++s) sum += workspace[s * m * n + index];
  store_result(C + index / n * ldc + index % n, sum, alpha, beta);
}
