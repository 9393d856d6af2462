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
//
// STREAM = 1 launches BLOCKS blocks, as many as the GPU holds at once: each computes whole tiles in turn, and the tiles
// that do not fill a last wave are shared evenly by all, whoever has a tile's first steps adding the others' sums to its
// own in the order of k. Sums of more than SLICE steps are taken in slices, whose errors do not add up as they would in
// one long sum.
#include "mmtune/copy.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/loaders.cuh"
#include "mmtune/shares.cuh"
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

// A run of tiles along k.
struct Segment {
  i64 k_begin;
  int tiles;
  int last_depth;  // steps of the last tile

  // `count` tiles of BK steps from number `first` on, as far as k reaches.
  __device__ __forceinline__ Segment(i64 k, i64 first, i64 count) {
    k_begin = first * BK;
    const i64 length = smaller(count * BK, k - k_begin);
    tiles = length > 0 ? static_cast<int>(ceil_div(length, BK)) : 0;
    last_depth = static_cast<int>(length - static_cast<i64>(tiles - 1) * BK);
  }
  __device__ __forceinline__ int depth(int tile) const { return tile + 1 < tiles ? BK : last_depth; }
};

// Where a tile lies in the ring of stages, and which phase of the barrier there tells that it has arrived.
struct RingPosition {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    if (stage == 0) parity ^= 1;
  }
};

using Sums = StoredSums<TM * TN, THREADS, Accumulator>;

// Adds a segment's products to sum. `ring` is where its first tile goes, and becomes where the next segment's will.
// `aside` keeps the sums of slices.
__device__ __forceinline__ void multiply(Accumulator (&sum)[TM][TN], Shared& shared, Loaders& loaders,
                                         const Segment& segment, const Position& position, RingPosition& ring,
                                         const Sums& aside) {
  Stages& stages = shared.stages;
  if constexpr (PACK == 1) wait_for_previous();  // for the packed operands
  if (segment.tiles == 0) return;
  loaders.fetch(segment.depth(0));
  RingPosition fill = ring;  // the tile that is fetched ahead
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < segment.tiles) loaders.fetch_ahead(shared, fill.stage, segment.depth(s));
    if constexpr (LOAD == 1) commit_copies();
    fill.advance();
  }
  loaders.finish(stages, ring.stage);
  if constexpr (LOAD == 1) wait_copies<STAGES - 2>();
  if constexpr (TMA_BYTES > 0) barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
  __syncthreads();

  // Stages lie one behind the other: fragments are read along a ring of STAGES * BK rows.
  const Value* const a_begin = &stages.a[0][0][position.row0];
  const Value* const b_begin = &stages.b[0][0][position.column0];
  const Value* a_row = a_begin + ring.stage * (BK * A_ROW);
  const Value* b_row = b_begin + ring.stage * (BK * B_ROW);
  Fragment fragment[2];
  fragment[0].load(a_row, b_row);

  // Equal slices: the longest decides how large the error is.
  const int slices = STREAM == 1 ? static_cast<int>(ceil_div(segment.tiles, SLICE / BK)) : 1;
  const int slice_tiles = static_cast<int>(ceil_div(segment.tiles, slices));
  int slice_end = slice_tiles;
  for (int t = 0; t < segment.tiles; ++t) {
    const bool more = t + 1 < segment.tiles;
    ring.advance();
    if (STREAM == 1 && t == slice_end) {
      if constexpr (PACK == 0) wait_for_previous();
      if (slice_end > slice_tiles) aside.add_to(&sum[0][0]);
      aside.store(&sum[0][0]);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] = 0;
      }
      slice_end += slice_tiles;
    }
    // A round is short enough for the instruction cache, however deep the stages are.
#pragma unroll 1
    for (int round = 0; round < BK / UNROLL; ++round) {
      const bool wraps = round == BK / UNROLL - 1 && ring.stage == 0;
      const Value* const a_next = wraps ? a_begin : a_row + UNROLL * A_ROW;
      const Value* const b_next = wraps ? b_begin : b_row + UNROLL * B_ROW;
#pragma unroll
      for (int step = 0; step < UNROLL; ++step) {
        if (step == UNROLL - 1) {
          if (round == BK / UNROLL - 1) {
            if (more) loaders.finish(stages, ring.stage);
            if constexpr (LOAD == 1) wait_copies<STAGES - 2>();
            if constexpr (TMA_BYTES > 0) {
              if (more) barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
            }
            __syncthreads();
          }
          fragment[0].load(a_next, b_next);
        } else {
          fragment[(step + 1) % 2].load(a_row + (step + 1) * A_ROW, b_row + (step + 1) * B_ROW);
        }
        if (step == 0 && round == 0) {
          if (more) loaders.fetch(segment.depth(t + 1));
          if (t + STAGES - 1 < segment.tiles) loaders.fetch_ahead(shared, fill.stage, segment.depth(t + STAGES - 1));
          if constexpr (LOAD == 1) commit_copies();
        }
        accumulate(sum, fragment[step % 2]);
      }
      a_row = a_next;
      b_row = b_next;
    }
    fill.advance();
  }
  if (STREAM == 1 && slice_end > slice_tiles) aside.add_to(&sum[0][0]);
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

// Adds the cluster's partial tiles in the order of ranks and stores the results. Each block finishes SHARE of every
// thread's sums, counted row by row from rank * SHARE on. What others finish is handed over one by one, for the reason
// that StoredSums gives.
__device__ __forceinline__ void reduce_cluster(Value* partial, const Accumulator (&sum)[TM][TN],
                                               const Position& position, const Output& output) {
  constexpr int SHARE = CLUSTER ? TM * TN / SPLIT : 1;
  constexpr int WIDTH = SHARE < V ? SHARE : V;
  static_assert(!CLUSTER || (SHARE * SPLIT == TM * TN && SHARE % WIDTH == 0 && V % WIDTH == 0), "equal shares");
  const int rank = cluster_rank();
  Value* const handed = partial + threadIdx.x;
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int e = 0; e < TM * TN; ++e) {
    if (e / SHARE != rank) handed[e * THREADS] = sum[e / TN][e % TN];
  }
  cluster_sync();  // all is handed over
  Accumulator total[SHARE] = {};
#pragma unroll
  for (int owner = 0; owner < SPLIT; ++owner) {  // not rank alone, so that sum has constant indices
    if (owner != rank) continue;
#pragma unroll
    for (int r = 0; r < SPLIT; ++r) {
      const unsigned theirs = remote_address(shared_address(handed), r);
#pragma unroll
      for (int i = 0; i < SHARE; ++i) {
        const int e = owner * SHARE + i;
        const unsigned offset = e * THREADS * static_cast<unsigned>(sizeof(Value));
        total[i] += r == owner ? sum[e / TN][e % TN] : load_remote<Value>(theirs + offset);
      }
    }
  }
  cluster_arrive();  // this block has read what it needs of the others
  const int first = rank * SHARE;
#pragma unroll
  for (int i = 0; i < SHARE; i += WIDTH) {
    output.store<WIDTH>(position.row((first + i) / TN), position.column((first + i) % TN), &total[i]);
  }
  cluster_wait();  // nobody leaves while others read its shared memory
}

// How the workspace is divided: packed A, packed B, then either partial sums, or for every block the sums of slices and
// the sums it hands over, and a flag. Each part starts at a multiple of 256 bytes.
struct Workspace {
  Element* a;
  Element* b;
  Accumulator* partial;
  i64 lda;  // elements
  i64 ldb;

  __device__ __forceinline__ Sums aside(int block) const { return Sums(partial + static_cast<i64>(block) * (BM * BN)); }
  __device__ __forceinline__ Sums handed(int block) const { return aside(BLOCKS + block); }
  __device__ __forceinline__ u32* flag(int block) const {
    return reinterpret_cast<u32*>(partial + static_cast<i64>(2 * BLOCKS) * (BM * BN)) + block;
  }

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

// What all tiles of a call have in common.
struct Call {
  i64 m, n, k;
  Scalar alpha;
  const Element* A;
  i64 lda;
  const Element* B;
  i64 ldb;
  Scalar beta;
  Element* C;
  i64 ldc;
  Workspace workspace;
  const TensorMap* map_a;
  const TensorMap* map_b;

  __device__ __forceinline__ i64 tiles() const { return ceil_div(m, BM) * ceil_div(n, BN); }
  __device__ __forceinline__ Output output(i64 tile) const {
    const TileIndex index = tile_of_block(tile, ceil_div(m, BM), ceil_div(n, BN), GROUP);
    return {m, n, index.m * BM, index.n * BN, alpha, beta, C, ldc};
  }
  __device__ __forceinline__ Loaders loaders(const Output& output, i64 k_begin) const {
    const Operand operand_a{PACK_A ? workspace.a : A, map_a, PACK_A ? workspace.lda : lda,
                            PACK_A ? workspace.lda : m, output.first_row, k_begin};
    const Operand operand_b{PACK_B ? workspace.b : B, map_b, PACK_B ? workspace.ldb : ldb,
                            PACK_B ? workspace.ldb : n, output.first_column, k_begin};
    return Loaders(operand_a, operand_b);
  }
};

__device__ __forceinline__ void store_tile(const Accumulator (&sum)[TM][TN], const Position& position,
                                           const Output& output) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += V) output.store<V>(position.row(i), position.column(j), &sum[i][j]);
  }
}

// STREAM = 0: one tile of C, or one part of its k.
__device__ __forceinline__ void compute_tile(const Call& call, Shared& shared) {
  const int split = SPLIT > 1 ? blockIdx.x % SPLIT : 0;
  const i64 share = ceil_div(ceil_div(call.k, BK), SPLIT);
  const Segment segment(call.k, split * share, share);
  const Output output = call.output(blockIdx.x / SPLIT);
  Loaders loaders = call.loaders(output, segment.k_begin);
  const Position position;
  RingPosition ring;
  Accumulator sum[TM][TN] = {};
  multiply(sum, shared, loaders, segment, position, ring, Sums(nullptr));

  if constexpr (CLUSTER) {
    reduce_cluster(shared.partial, sum, position, output);
  } else if constexpr (SPLIT > 1) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += V) {
        const i64 row = output.first_row + position.row(i);
        const i64 column = output.first_column + position.column(j);
        if (row < call.m) {
          store_partial<V>(call.workspace.partial + (split * call.m + row) * call.n + column, &sum[i][j],
                           call.n - column);
        }
      }
    }
  } else {
    store_tile(sum, position, output);
  }
}

// STREAM = 1: this block's share of tiles that are divided, then its whole tiles.
__device__ __forceinline__ void compute_stream(const Call& call, Shared& shared) {
  const int block = blockIdx.x;
  const i64 k_tiles = call.k > 0 ? ceil_div(call.k, BK) : 1;
  const StreamSchedule schedule(call.tiles(), static_cast<int>(k_tiles), BLOCKS);
  const Position position;
  RingPosition ring;
  i64 at = schedule.begin(block);
  const i64 shared_end = schedule.begin(block + 1);
  i64 whole = schedule.rest + block;
#pragma unroll 1
  while (at < shared_end || whole < schedule.tiles) {
    i64 tile = whole;
    i64 first = 0;
    i64 count = k_tiles;
    if (at < shared_end) {
      tile = at / k_tiles;
      first = at - tile * k_tiles;
      count = smaller(shared_end - at, k_tiles - first);
      at += count;
    } else {
      whole += BLOCKS;
    }
    const Segment segment(call.k, first, count);
    const Output output = call.output(tile);
    Loaders loaders = call.loaders(output, segment.k_begin);
    Accumulator sum[TM][TN] = {};
    __syncthreads();  // the stages are done with
    multiply(sum, shared, loaders, segment, position, ring, call.workspace.aside(block));
    if constexpr (PACK == 0) wait_for_previous();  // for the flags
    if (first > 0) {
      call.workspace.handed(block).store(&sum[0][0]);
      __syncthreads();
      if (threadIdx.x == 0) raise_flag(call.workspace.flag(block));
      continue;
    }
    for (int giver = block + 1; count < k_tiles && schedule.begin(giver) < (tile + 1) * k_tiles; ++giver) {
      if (threadIdx.x == 0) await_flag(call.workspace.flag(giver));
      __syncthreads();
      call.workspace.handed(giver).add_to(&sum[0][0]);
    }
    store_tile(sum, position, output);
  }
}

__device__ __forceinline__ void run(const Call& call) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  if constexpr (SPLIT > 1 && REDUCE == 0) launch_dependents();
  if constexpr (TMA_BYTES > 0) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < STAGES; ++s) barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init_fence();
    }
    __syncthreads();
  }
  if constexpr (STREAM == 1) {
    compute_stream(call, shared);
  } else {
    compute_tile(call, shared);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B,
         i64 ldb, Scalar beta, Element* __restrict__ C, i64 ldc, void* workspace) {
  if constexpr (LOAD < 2) {
    run({m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, Workspace(workspace, m, n, k), nullptr, nullptr});
  }
}

// The same with tensor maps; the operand that passes through registers is read from its address.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_tma(i64 m, i64 n, i64 k, Scalar alpha, const Element* __restrict__ A, i64 lda, const Element* __restrict__ B,
             i64 ldb, Scalar beta, Element* __restrict__ C, i64 ldc, void* workspace,
             const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  if constexpr (LOAD == 2) {
    run({m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, Workspace(workspace, m, n, k), &map_a, &map_b});
  }
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

__device__ __forceinline__ void lower_flags(const Workspace& workspace) {
  for (int block = threadIdx.x; block < BLOCKS; block += 256) *workspace.flag(block) = 0;
}

// What must be done before a gemm that shares tiles and does not pack.
extern "C" __global__ void __launch_bounds__(256) prepare(i64 m, i64 n, i64 k, void* __restrict__ memory) {
  launch_dependents();
  if constexpr (STREAM == 1) lower_flags(Workspace(memory, m, n, k));
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
    if (STREAM == 1 && tile == 0) lower_flags(workspace);
    if (tile < tiles_a) {
      pack_tile<!TRANSPOSE_A>(A, lda, m, k, workspace.a, workspace.lda, tile);
    } else if (tile < tiles_a + tiles_b) {
      pack_tile<TRANSPOSE_B>(B, ldb, n, k, workspace.b, workspace.ldb, tile - tiles_a);
    }
  }
  // Not earlier: the blocks of gemm would crowd onto the SMs that have room beside those of pack.
  launch_dependents();
}

// Adds the SPLIT partial sums of every element in order: the same bits every time.
extern "C" __global__ void __launch_bounds__(256)
    reduce(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, Element* __restrict__ C, i64 ldc, void* memory) {
  if constexpr (SPLIT > 1 && REDUCE == 0) {
    const Accumulator* partial = Workspace(memory, m, n, k).partial;
    const i64 index = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
    if (index >= m * n) return;
    wait_for_previous();
    Accumulator sum = partial[index];
    for (int s = 1; s < SPLIT; ++s) sum += partial[s * m * n + index];
    store_result(C + index / n * ldc + index % n, sum, alpha, beta);
  }
}
