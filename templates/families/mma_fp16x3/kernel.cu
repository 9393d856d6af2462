// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C for fp32, as precise as by fused multiply-adds, on fp16 tensor
// cores by instructions of a warp. The steps split, decide and reduce are those of the family wgmma_fp16x3:
//
//   split   scales and splits A and B into two planes of fp16 each (fp16x3_planes.cuh).
//
//   decide  looks whether these are precise enough, else multiplies A and B as they are (fp16x3_decide.cuh).
//
//   gemm    multiplies the planes as the family mma_sync does (mma_product.cuh): STAGES stages of all four, of BK_BYTES
//           along k of each. For each step of 16 along k a warp adds low * high + high * low + high * high by the
//           instruction, which truncates, from zero, and that to its sums by fp32 additions, which round to nearest.
//
//   reduce  adds the sums of blocks that share a tile's k, where SPLIT says so (split.cuh).
//
// Registers of a thread: WM * WN / 32 sums, 4 (WM + WN) / 16 * 2 of pieces, twice where AHEAD = 1, and WN / 2 of what
// one row of pieces adds. Shared memory: STAGES * 2 planes * (BM + BN) * BK_BYTES.
#include "mmtune/batch.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/fp16x3_decide.cuh"
#include "mmtune/mma_product.cuh"
#include "mmtune/reduce.cuh"

// Both planes of an operand's tile, which lie one below the other, `whole` rows each.
template <int EXTENT>
struct PlanesLoader {
  using Element = half_t;
  using Plane = TileLoader<half_t, EXTENT, true, PLANE_UNIT>;
  static constexpr int BK = Plane::BK;
  using Tiles = unsigned char[2][Plane::BYTES];

  Plane high, low;

  __device__ __forceinline__ PlanesLoader(const half_t* planes, i64 planes_ld, i64 whole, i64 first, i64 k_begin)
      : high(planes, planes_ld, whole, first, k_begin),
        low(planes + whole * planes_ld, planes_ld, whole, first, k_begin) {}

  __device__ __forceinline__ void fetch(Tiles& tiles, int depth) {
    high.fetch(tiles[0], depth);
    low.fetch(tiles[1], depth);
  }
  __device__ __forceinline__ void finish(Tiles&) const {}
};
using LoaderA = PlanesLoader<BM>;
using LoaderB = PlanesLoader<BN>;

struct Shared {
  alignas(128) LoaderA::Tiles a[STAGES];
  alignas(128) LoaderB::Tiles b[STAGES];
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");

// What a warp multiplies at a time: high pieces and low ones.
struct Pieces {
  static constexpr bool READS_AHEAD = AHEAD == 1;

  Piece<half_t> a[2][PIECES_M];
  Piece<half_t> b[2][PIECES_N];

  __device__ __forceinline__ void load(const Fetcher<Shared, LoaderA, LoaderB>& from, int stage, int row0, int column0,
                                       int step) {
#pragma unroll
    for (int plane = 0; plane < 2; ++plane) {
#pragma unroll
      for (int i = 0; i < PIECES_M; ++i) {
        LoaderA::Plane::load<false>(a[plane][i], from.shared.a[stage][plane], row0 + 16 * i, step);
      }
#pragma unroll
      for (int j = 0; j < PIECES_N; ++j) {
        LoaderB::Plane::load<true>(b[plane][j], from.shared.b[stage][plane], column0 + 16 * j, step);
      }
    }
  }

  // Small products come first, so that as little as possible is lost where tensor cores truncate.
  __device__ __forceinline__ void multiply(Sums& sums) {
    constexpr int PLANE_OF_A[] = {1, 0, 0}, PLANE_OF_B[] = {0, 1, 0};
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
      float part[2 * PIECES_N][4] = {};
#pragma unroll
      for (int product = 0; product < 3; ++product) {
#pragma unroll
        for (int j = 0; j < 2 * PIECES_N; ++j) {
          multiply_pieces(part[j], a[PLANE_OF_A[product]][i], b[PLANE_OF_B[product]][j / 2], j % 2);
        }
      }
#pragma unroll
      for (int j = 0; j < 2 * PIECES_N; ++j) {
#pragma unroll
        for (int s = 0; s < 4; ++s) sums[i][j][s] += part[j][s];
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 2)
    split(i64 m, i64 n, i64 k, PerProduct<const float*> A, i64 lda, PerProduct<const float*> B, i64 ldb,
          PerProduct<half_t*> planes_a, PerProduct<half_t*> planes_b, i64 planes_ld, PerProduct<float*> inverse_a,
          PerProduct<float*> inverse_b, PerProduct<Stripe*> stripes, i64 stripes_a, i64 stripes_b) {
  extern __shared__ __align__(16) unsigned char split_bytes[];
  SplitShared& shared = *reinterpret_cast<SplitShared*>(split_bytes);
  wait_for_previous();
  split_stripes({A, lda, m, k, planes_a, planes_ld, inverse_a, stripes},
                {B, ldb, n, k, planes_b, planes_ld, inverse_b, stripes + stripes_a}, stripes_a, stripes_b, shared);
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(DECIDE_THREADS, 2)
    decide(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const float*> A, i64 lda, PerProduct<const float*> B, i64 ldb,
           Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<const Stripe*> stripes, i64 stripes_a, i64 stripes_b,
           PerProduct<half_t*> planes_a, PerProduct<half_t*> planes_b, i64 planes_ld, PerProduct<u32*> by) {
  extern __shared__ __align__(16) unsigned char decide_bytes[];
  DecideShared& shared = *reinterpret_cast<DecideShared*>(decide_bytes);
  wait_for_previous();
  launch_dependents();
  decide_product(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stripes, stripes_a, stripes_b, planes_a, planes_b,
                 planes_ld, by, shared);
}

// Takes the powers of two by which rows of A and columns of B were scaled out of their products, of the block's tile
// that begins there.
__device__ __forceinline__ void unscale(Sums& sums, i64 m, i64 n, const float* inverse_a, const float* inverse_b,
                                        i64 first_row, i64 first_column) {
  const Position position;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float of_row = inverse_a[smaller(first_row + position.row0 + 16 * i + 8 * r + lane / 4, m - 1)];
#pragma unroll
      for (int j = 0; j < 2 * PIECES_N; ++j) {
        sums[i][j][2 * r] *= of_row;
        sums[i][j][2 * r + 1] *= of_row;
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 2 * PIECES_N; ++j) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float of_column =
          inverse_b[smaller(first_column + position.column0 + 8 * j + 2 * (lane % 4) + c, n - 1)];
#pragma unroll
      for (int i = 0; i < PIECES_M; ++i) {
        sums[i][j][c] *= of_column;
        sums[i][j][2 + c] *= of_column;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
         PerProduct<const half_t*> planes_a, PerProduct<const half_t*> planes_b, i64 planes_ld,
         PerProduct<const float*> inverse_a, PerProduct<const float*> inverse_b, PerProduct<const u32*> by,
         PerProduct<Accumulator*> partial, i64 k_tiles) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  wait_for_previous();
  if (*by != BY_FP16) return;  // all blocks do
  using Product = ProductOfTiles<LoaderA, LoaderB, Pieces>;
  const Product product{m, n, k, alpha, planes_a, planes_ld, planes_b, planes_ld, beta, C, ldc, partial};
  compute_tile(product, shared, k_tiles_of_part(ceil_div(k, Product::BK), k_tiles),
               [&](Sums& sums, i64 row, i64 column) { unscale(sums, m, n, inverse_a, inverse_b, row, column); });
}

// Adds the sums of parts of k, where planes were multiplied.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, PerProduct<const u32*> by, i64 parts) {
  wait_for_previous();
  if (*by != BY_FP16) return;
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
