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
// STAGES - 1 tiles ahead.
//
// PACK = 1 first copies the operands that are contiguous along k, or whose rows are not aligned to 16 bytes, into the
// workspace as [k][extent] with aligned rows: a pass over m*k + k*n elements that lets the m*n*k part take the fast way.
//
// SPLIT blocks share one tile of C. They add their partial sums in a fixed order: REDUCE = 0 through the workspace and
// the kernel reduce(), REDUCE = 1 as a cluster through distributed shared memory.
#include "mmtune/copy.cuh"
#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/tma.cuh"

using Value = Accumulator;  // what shared memory holds: elements are widened once, when they are staged

constexpr int WIDE = 16 / sizeof(Value);
constexpr int V = WIDE < TM && WIDE < TN ? WIDE : (TM < TN ? TM : TN);
constexpr int LANES_M = 32 / LANES_N;
constexpr int WM = TM * LANES_M;
constexpr int WN = TN * LANES_N;
constexpr int WARPS_N = BN / WN;

constexpr int ALIGNED = 16 / sizeof(Element);
constexpr bool PACK_A = PACK == 1 && (!TRANSPOSE_A || VA < ALIGNED);
constexpr bool PACK_B = PACK == 1 && (TRANSPOSE_B || VB < ALIGNED);
constexpr bool A_ALONG_K = !TRANSPOSE_A && !PACK_A;  // as the main loop finds it
constexpr bool B_ALONG_K = TRANSPOSE_B && !PACK_B;
constexpr int A_VECTOR = PACK_A ? ALIGNED : VA;
constexpr int B_VECTOR = PACK_B ? ALIGNED : VB;
constexpr bool CLUSTER = SPLIT > 1 && REDUCE == 1;

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
    Value partial[CLUSTER ? BM * BN : 1];  // when the stages are done with; never the barriers' memory
  };
  alignas(128) u64 full[STAGES];  // barriers that the accelerator completes
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (BM / TM) * (BN / TN), "host and kernel disagree on the block");

// What a loader needs to know of its operand.
struct Operand {
  const Element* matrix;
  const TensorMap* map;
  i64 ld;
  i64 extent;   // of the matrix, in the direction that is not k
  i64 first;    // this block's first position there
  i64 k_begin;  // this block's part of k
};

// Moves EXTENT x BK elements per tile through registers, in vectors of VEC elements: fetch() reads the next tile,
// finish() writes it to shared memory.
template <int EXTENT, int ROW, bool ALONG_K, int VEC>
struct RegisterLoader {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;
  // Along k, neighbouring lanes take one 32-byte sector, then the next row: full sectors, distinct banks.
  static constexpr int kSector = 32 / (VEC * sizeof(Element)) < BK / VEC ? 32 / (VEC * sizeof(Element)) : BK / VEC;

  const Element* source[kPerThread];
  Vector<Element, VEC> staged[kPerThread];
  i64 step;  // elements from one tile to the next

  static __device__ __forceinline__ int outer(int u) {  // position in 0..EXTENT of vector u
    return ALONG_K ? u / kSector % EXTENT : u % (EXTENT / VEC) * VEC;
  }
  static __device__ __forceinline__ int inner(int u) {  // position in 0..BK of vector u
    return ALONG_K ? (u / (kSector * EXTENT) * kSector + u % kSector) * VEC : u / (EXTENT / VEC);
  }
  static __device__ __forceinline__ bool mine(int u) { return kVectors % THREADS == 0 || u < kVectors; }

  __device__ __forceinline__ explicit RegisterLoader(const Operand& operand) {
    step = ALONG_K ? BK : BK * operand.ld;
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const i64 row = smaller(operand.first + outer(u), operand.extent - (ALONG_K ? 1 : VEC));
      const i64 l = operand.k_begin + inner(u);
      source[s] = operand.matrix + (ALONG_K ? row * operand.ld + l : l * operand.ld + row);
    }
  }

  template <bool GUARDED>
  __device__ __forceinline__ void read(int depth) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (!mine(u)) continue;
      const Vector<Element, VEC> zero = {};
      const bool valid = !GUARDED || inner(u) < depth;
      staged[s] = valid ? *reinterpret_cast<const Vector<Element, VEC>*>(source[s]) : zero;
      source[s] += step;
    }
  }

  // The next tile, of which `depth` steps exist.
  __device__ __forceinline__ void fetch(int depth) { depth < BK ? read<true>(depth) : read<false>(depth); }

  __device__ __forceinline__ void finish(Value (*tile)[ROW]) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (!mine(u)) continue;
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        tile[inner(u) + (ALONG_K ? v : 0)][outer(u) + (ALONG_K ? 0 : v)] = value_of(staged[s].at[v]);
      }
    }
  }

  __device__ __forceinline__ void fetch_ahead(Value (*)[ROW], int, unsigned) {}
};

// The same by cp.async, for an operand that lies as shared memory wants it; fetch_ahead() starts the copies.
template <int EXTENT, int ROW, int VEC>
struct AsyncLoader {
  static constexpr int kVectors = EXTENT * BK / VEC;
  static constexpr int kPerThread = (kVectors + THREADS - 1) / THREADS;

  const Element* source[kPerThread];
  i64 step;

  __device__ __forceinline__ explicit AsyncLoader(const Operand& operand) {
    step = BK * operand.ld;
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const i64 row = smaller(operand.first + u % (EXTENT / VEC) * VEC, operand.extent - VEC);
      source[s] = operand.matrix + (operand.k_begin + u / (EXTENT / VEC)) * operand.ld + row;
    }
  }

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Value (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Value (*tile)[ROW], int depth, unsigned) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (kVectors % THREADS != 0 && u >= kVectors) continue;
      const int l = u / (EXTENT / VEC);
      copy_async<sizeof(Element) * VEC>(shared_address(&tile[l][u % (EXTENT / VEC) * VEC]), source[s], l < depth);
      source[s] += step;
    }
  }
};

// The same by the tensor memory accelerator, asked by one thread. It fills what lies beyond the matrix with zeros.
template <int EXTENT, int ROW>
struct TmaLoader {
  const TensorMap* map;
  int column;
  int row;

  __device__ __forceinline__ explicit TmaLoader(const Operand& operand)
      : map(operand.map), column(static_cast<int>(operand.first)), row(static_cast<int>(operand.k_begin)) {}

  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void finish(Value (*)[ROW]) {}

  __device__ __forceinline__ void fetch_ahead(Value (*tile)[ROW], int, unsigned full) {
    if (threadIdx.x == 0) copy_box(shared_address(tile), map, column, row, full);
    row += BK;
  }
};

template <int KIND, int EXTENT, int ROW, bool ALONG_K, int VEC>
struct LoaderOf {
  using type = RegisterLoader<EXTENT, ROW, ALONG_K, VEC>;
};
template <int EXTENT, int ROW, int VEC>
struct LoaderOf<1, EXTENT, ROW, false, VEC> {
  using type = AsyncLoader<EXTENT, ROW, VEC>;
};
template <int EXTENT, int ROW, int VEC>
struct LoaderOf<2, EXTENT, ROW, false, VEC> {
  using type = TmaLoader<EXTENT, ROW>;
};

constexpr int TMA_BYTES = LOAD == 2 ? ((A_ALONG_K ? 0 : BM) + (B_ALONG_K ? 0 : BN)) * BK * int(sizeof(Element)) : 0;

// Both operands' loaders and the order in which a tile is moved.
struct Loaders {
  LoaderOf<LOAD, BM, A_ROW, A_ALONG_K, A_VECTOR>::type a;
  LoaderOf<LOAD, BN, B_ROW, B_ALONG_K, B_VECTOR>::type b;

  __device__ __forceinline__ Loaders(const Operand& of_a, const Operand& of_b) : a(of_a), b(of_b) {}

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

// The outer product; serpentine orders reuse the operand that a turn keeps.
__device__ __forceinline__ void accumulate(Accumulator (&sum)[TM][TN], const Fragment& f) {
  constexpr int OUTER = ORDER == 2 ? TN : TM;
  constexpr int INNER = ORDER == 2 ? TM : TN;
#pragma unroll
  for (int x = 0; x < OUTER; ++x) {
#pragma unroll
    for (int y = 0; y < INNER; ++y) {
      const int turned = ORDER >= 1 && x % 2 == 1 ? INNER - 1 - y : y;
      const int i = ORDER == 2 ? turned : x;
      const int j = ORDER == 2 ? x : turned;
      sum[i][j] += f.a[i] * f.b[j];
    }
  }
}

// Where a thread's results lie in the block's tile.
struct Position {
  int row0;
  int column0;

  __device__ __forceinline__ Position() {
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    // Eight neighbouring lanes hold two columns and four rows of lanes, which keeps 16-byte reads conflict free.
    const int lane_n = 2 * (lane / (2 * LANES_M)) + lane % 2;
    const int lane_m = lane / 2 % LANES_M;
    row0 = warp / WARPS_N * WM + lane_m * V;
    column0 = warp % WARPS_N * WN + lane_n * V;
  }
  __device__ __forceinline__ int row(int i) const { return row0 + i / V * (LANES_M * V) + i % V; }
  __device__ __forceinline__ int column(int j) const { return column0 + j / V * (LANES_N * V) + j % V; }
};

// This block's tiles along k.
struct Part {
  i64 k_begin;
  int tiles;
  int last_depth;  // steps of the last tile

  __device__ __forceinline__ Part(i64 k, int split) {
    const i64 share = ceil_div(ceil_div(k, BK), SPLIT) * BK;
    k_begin = split * share;
    const i64 length = smaller(share, k - k_begin);
    tiles = length > 0 ? static_cast<int>(ceil_div(length, BK)) : 0;
    last_depth = static_cast<int>(length - static_cast<i64>(tiles - 1) * BK);
  }
  __device__ __forceinline__ int depth(int tile) const { return tile + 1 < tiles ? BK : last_depth; }
};

// The sums of this block's part of k.
__device__ __forceinline__ void multiply(Accumulator (&sum)[TM][TN], Shared& shared, Loaders& loaders,
                                         const Part& part, const Position& position) {
  Stages& stages = shared.stages;
  if (part.tiles == 0) return;
  if constexpr (TMA_BYTES > 0) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < STAGES; ++s) barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init_fence();
    }
    __syncthreads();
  }
  loaders.fetch(part.depth(0));
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < part.tiles) loaders.fetch_ahead(shared, s, part.depth(s));
    if constexpr (LOAD == 1) commit_copies();
  }
  loaders.finish(stages, 0);
  if constexpr (LOAD == 1) wait_copies<STAGES - 2>();
  if constexpr (TMA_BYTES > 0) barrier_wait(shared_address(&shared.full[0]), 0);
  __syncthreads();

  // Stages lie one behind the other: fragments are read along a ring of STAGES * BK rows.
  const Value* const a_begin = &stages.a[0][0][position.row0];
  const Value* const b_begin = &stages.b[0][0][position.column0];
  const Value* a_row = a_begin;
  const Value* b_row = b_begin;
  Fragment fragment[2];
  fragment[0].load(a_row, b_row);

  int next = 1 % STAGES;    // the stage of the next tile
  int fill = STAGES - 1;    // the stage that is fetched ahead
  unsigned parity = 0;      // of the phase of full[next] that is awaited
  for (int t = 0; t < part.tiles; ++t) {
    const bool more = t + 1 < part.tiles;
    // A round is short enough for the instruction cache, however deep the stages are.
#pragma unroll 1
    for (int round = 0; round < BK / UNROLL; ++round) {
      const bool wraps = round == BK / UNROLL - 1 && next == 0;
      const Value* const a_next = wraps ? a_begin : a_row + UNROLL * A_ROW;
      const Value* const b_next = wraps ? b_begin : b_row + UNROLL * B_ROW;
#pragma unroll
      for (int step = 0; step < UNROLL; ++step) {
        if (step == UNROLL - 1) {
          if (round == BK / UNROLL - 1) {
            if (more) loaders.finish(stages, next);
            if constexpr (LOAD == 1) wait_copies<STAGES - 2>();
            if constexpr (TMA_BYTES > 0) {
              if (more) barrier_wait(shared_address(&shared.full[next]), parity);
            }
            __syncthreads();
          }
          fragment[0].load(a_next, b_next);
        } else {
          fragment[(step + 1) % 2].load(a_row + (step + 1) * A_ROW, b_row + (step + 1) * B_ROW);
        }
        if (step == 0 && round == 0) {
          if (more) loaders.fetch(part.depth(t + 1));
          if (t + STAGES - 1 < part.tiles) loaders.fetch_ahead(shared, fill, part.depth(t + STAGES - 1));
          if constexpr (LOAD == 1) commit_copies();
        }
        accumulate(sum, fragment[step % 2]);
      }
      a_row = a_next;
      b_row = b_next;
    }
    fill = fill + 1 == STAGES ? 0 : fill + 1;
    next = next + 1 == STAGES ? 0 : next + 1;
    if (next == 0) parity ^= 1;
  }
}

// The block's tile of C and what is done to it.
struct Output {
  i64 m, n;
  i64 first_row, first_column;
  Scalar alpha, beta;
  Element* C;
  i64 ldc;

  // N neighbouring results.
  template <int N>
  __device__ __forceinline__ void store(int row, int column, const Accumulator* sums) const {
    if (first_row + row < m) {
      store_results<N, VC>(C + (first_row + row) * ldc + first_column + column, sums, alpha, beta,
                           n - first_column - column);
    }
  }
};

// Adds the cluster's partial tiles, each block the rows of its rank, and stores the results.
__device__ __forceinline__ void reduce_cluster(Value* partial, const Accumulator (&sum)[TM][TN],
                                               const Position& position, const Output& output) {
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      *reinterpret_cast<Vector<Value, V>*>(partial + position.row(i) * BN + position.column(j)) =
          *reinterpret_cast<const Vector<Value, V>*>(&sum[i][j]);
    }
  }
  cluster_sync();
  constexpr int ROWS = BM / SPLIT;
  const int first = cluster_rank() * ROWS;
  for (int v = threadIdx.x; v < ROWS * BN / WIDE; v += THREADS) {
    const int row = first + v / (BN / WIDE);
    const int column = v % (BN / WIDE) * WIDE;
    Accumulator total[WIDE] = {};
#pragma unroll
    for (int r = 0; r < SPLIT; ++r) {
      Vector<Value, WIDE> part;
      load_remote(&part, shared_address(partial + row * BN + column), r);
#pragma unroll
      for (int w = 0; w < WIDE; ++w) total[w] += part.at[w];
    }
    output.store<WIDE>(row, column, total);
  }
  cluster_sync();  // nobody leaves while others read its shared memory
}

// How the workspace is divided: packed A, packed B, partial sums; each part starts at a multiple of 256 bytes.
struct Workspace {
  Element* a;
  Element* b;
  Accumulator* partial;
  i64 lda;  // elements
  i64 ldb;

  __device__ __forceinline__ Workspace(void* memory, i64 m, i64 n, i64 k)
      : lda(ceil_div(m, ALIGNED) * ALIGNED), ldb(ceil_div(n, ALIGNED) * ALIGNED) {
    unsigned char* bytes = static_cast<unsigned char*>(memory);
    a = reinterpret_cast<Element*>(bytes);
    b = reinterpret_cast<Element*>(bytes + (PACK_A ? rounded(k * lda) : 0));
    partial = reinterpret_cast<Accumulator*>(reinterpret_cast<unsigned char*>(b) + (PACK_B ? rounded(k * ldb) : 0));
  }
  static __device__ __forceinline__ i64 rounded(i64 elements) {
    return ceil_div(elements * static_cast<i64>(sizeof(Element)), 256) * 256;
  }
};

__device__ __forceinline__ void run(i64 m, i64 n, i64 k, Scalar alpha, const Element* A, i64 lda, const Element* B,
                                    i64 ldb, Scalar beta, Element* C, i64 ldc, void* memory,
                                    const TensorMap* map_a, const TensorMap* map_b) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);

  const int split = SPLIT > 1 ? blockIdx.x % SPLIT : 0;
  const TileIndex tile = tile_of_block(blockIdx.x / SPLIT, ceil_div(m, BM), ceil_div(n, BN), GROUP);
  const Part part(k, split);
  const Output output{m, n, tile.m * BM, tile.n * BN, alpha, beta, C, ldc};
  const Workspace workspace(memory, m, n, k);
  const Operand operand_a{PACK_A ? workspace.a : A, map_a, PACK_A ? workspace.lda : lda,
                          PACK_A ? workspace.lda : m, output.first_row, part.k_begin};
  const Operand operand_b{PACK_B ? workspace.b : B, map_b, PACK_B ? workspace.ldb : ldb,
                          PACK_B ? workspace.ldb : n, output.first_column, part.k_begin};
  Loaders loaders(operand_a, operand_b);
  const Position position;

  Accumulator sum[TM][TN] = {};
  multiply(sum, shared, loaders, part, position);

  if constexpr (CLUSTER) {
    reduce_cluster(shared.partial, sum, position, output);
  } else {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += V) {
        if constexpr (SPLIT > 1) {
          const i64 row = output.first_row + position.row(i);
          const i64 column = output.first_column + position.column(j);
          if (row < m) store_partial<V>(workspace.partial + (split * m + row) * n + column, &sum[i][j], n - column);
        } else {
          output.store<V>(position.row(i), position.column(j), &sum[i][j]);
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B,
         i64 ldb, Scalar beta, Element* __restrict__ C, i64 ldc, void* __restrict__ workspace) {
  if constexpr (LOAD < 2) run(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, workspace, nullptr, nullptr);
}

// The same with tensor maps; the operand that passes through registers is read from its address.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_tma(i64 m, i64 n, i64 k, Scalar alpha, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B,
             i64 ldb, Scalar beta, Element* __restrict__ C, i64 ldc, void* __restrict__ workspace,
             const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  if constexpr (LOAD == 2) run(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, workspace, &map_a, &map_b);
}

// Copies one 32 x 32 tile of a stored operand to target[k][extent], transposed if the operand is contiguous along k.
template <bool ALONG_K>
__device__ __forceinline__ void pack_tile(const Element* source, i64 ld, i64 extent, i64 k, Element* target,
                                          i64 target_ld, i64 tile) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto& staged = *reinterpret_cast<Element(*)[32][33]>(shared_bytes);
  const int x = threadIdx.x % 32;
  const i64 tiles = ceil_div(extent, 32);
  const i64 first = tile % tiles * 32;
  const i64 k0 = tile / tiles * 32;
#pragma unroll
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    const i64 row = ALONG_K ? first + y : first + x;
    const i64 l = ALONG_K ? k0 + x : k0 + y;
    if (row < extent && l < k) staged[y][x] = source[ALONG_K ? row * ld + l : l * ld + row];
  }
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    if (first + x < extent && k0 + y < k) target[(k0 + y) * target_ld + first + x] = ALONG_K ? staged[x][y] : staged[y][x];
  }
}

// Packs what PACK says, one tile a block: first all of A, then all of B.
extern "C" __global__ void __launch_bounds__(256)
    pack(i64 m, i64 n, i64 k, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B, i64 ldb,
         void* __restrict__ memory) {
  if constexpr (PACK == 1) {
    const Workspace workspace(memory, m, n, k);
    const i64 tiles_a = PACK_A ? ceil_div(m, 32) * ceil_div(k, 32) : 0;
    const i64 tiles_b = PACK_B ? ceil_div(n, 32) * ceil_div(k, 32) : 0;
    const i64 tile = blockIdx.x;
    if (tile < tiles_a) {
      pack_tile<!TRANSPOSE_A>(A, lda, m, k, workspace.a, workspace.lda, tile);
    } else if (tile < tiles_a + tiles_b) {
      pack_tile<TRANSPOSE_B>(B, ldb, n, k, workspace.b, workspace.ldb, tile - tiles_a);
    }
  }
}

// Adds the SPLIT partial sums of every element in order: the same bits every time.
extern "C" __global__ void __launch_bounds__(256)
    reduce(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, Element* __restrict__ C, i64 ldc, void* __restrict__ memory) {
  if constexpr (SPLIT > 1 && REDUCE == 0) {
    const Accumulator* partial = Workspace(memory, m, n, k).partial;
    const i64 index = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
    if (index >= m * n) return;
    Accumulator sum = partial[index];
    for (int s = 1; s < SPLIT; ++s) sum += partial[s * m * n + index];
    store_result(C + index / n * ldc + index % n, sum, alpha, beta);
  }
}
