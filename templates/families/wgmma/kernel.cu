// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C on Hopper's tensor cores:
//
//              BN
//      ┌─────────────────┐           one block: BM x BN of C at a time, BK = 128 bytes along k per stage
//      │  consumer 0     │ WG_ROWS   one consumer, a warpgroup: WG_ROWS x BN sums in registers, multiplied by wgmma
//   BM ├─────────────────┤           from tiles in shared memory, 64 rows an instruction
//      │  consumer 1     │ WG_ROWS
//      └─────────────────┘           one producer thread keeps STAGES stages filled by the tensor memory accelerator
//
// Stages hold A and B as they are stored, in lines of 128 bytes along k, or along m or n where the operand is
// contiguous there, swizzled by 128 bytes. What lies outside of A and B arrives as zeros, so that no edge needs care
// before C.
//
// SWAP = 1 computes the transposed product, so that the 64 rows of an instruction are columns of C, and tiles along m
// may be any multiple of 8: consumers then lie side by side. Where BN is no multiple of 64, the last rows of the only
// consumer's instructions are of no tile.
//
// PINGPONG = 1: each consumer computes tiles of its own, BM x BN each, and one multiplies while the other stores.
//
// Blocks may form a cluster: neighbours along m share a tile of B, along n one of A. Each fetches a part of what is
// shared and sends it to all that need it. The launch says how many there are along m where there are several
// (CLUSTER_M = 0), how many along n, and how many rows of tiles are walked together (GROUP = 0).
//
// Blocks are persistent: as many as the GPU has room for take tiles in turn, in the order of index.cuh, or parts of a
// tile's steps along k, as split.cuh says, whose sums reduce() adds in a fixed order. With REDUCE = 1 a cluster of
// SPLIT blocks has the parts of one tile, and ADDERS of them add an equal share of every thread's sums each, in the same
// order, which the others have written to its shared memory.
//
// MIN_BLOCKS = 2: two blocks share an SM, with half of its stages each, and one multiplies while the other stores. Where
// there are no more blocks than SMs, those of the next call have their place beside them, and are ready when these end.
//
// Results pass through shared memory, in lines of 128 bytes: STORE_BOXES says whether C is aligned so
// that the accelerator can store them while the next tile is multiplied, else the warp does. Few sums of SWAP = 1 leave
// from registers (STORES_EACH).
//
// A block that begins while the call before ends asks L2 for its first `prefetched` stages, but for what another block
// asks for.
//
// Operands whose rows do not begin at multiples of 16 bytes, which the accelerator needs, are first copied by pack(),
// and so are those that lie along m or n, unless their elements have 16 bits: no others can be multiplied from there.
//
// FROM_REGISTERS: warps read the instructions' rows from shared memory themselves, so that 32-bit elements along m or n
// need no copy.
//
// PROMOTES: sums of tensor cores are less precise than fp32, and each stage's are added to sums in registers.
//
// OWN_PARTS > 1: a block adds up so many parts of a tile's k one after the other, and their sums as reduce() does.
//
// The launch says when the next call is let in, is_late or not: before the last results of this one are stored, or after
// (LATE), so that its blocks begin where those of this one lay; and where it has room beside these, before or after this
// one's fetches.
#include "mmtune/batch.cuh"
#include "mmtune/copy_rows.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/pack.cuh"
#include "mmtune/reduce.cuh"
#include "mmtune/wgmma_load.cuh"
#include "mmtune/wgmma_multiply.cuh"
#include "mmtune/wgmma_reduce.cuh"

__device__ __forceinline__ void consume(const Call& call, Shared& shared) {
  const int consumer = group_of_warp<WARPGROUP>();
  const ClusterPlace place = call.place();
  const bool tells = tells_block(place);
  const int first_row = PINGPONG == 1 ? 0 : consumer * WG_ROWS;  // the first of the instructions' rows
  Ring<STAGES> ring;
  int buffer = 0;
  const u32 unfinished = is_unfinished(call.alpha, call.beta);
  if constexpr (REDUCE == 1) cluster_wait();  // the others' barriers are there
  bool is_mine = consumer == 1;  // the turn before the first
  if (PINGPONG == 1 && consumer == 1) arrive<2 * WARPGROUP>(FIRST_TURN);
  for (Walk walk(call, place); walk.more();) {
    const Work work = walk.next();
    wait_for_previous();  // C may still be read or written.
    if constexpr (PINGPONG == 1) {
      is_mine = !is_mine;
      if (!is_mine) {
        ring.advance(work.steps);
        continue;
      }
    }
    Sums sums;
    const Turn<PINGPONG == 1> turn{consumer, !walk.more()};
    if constexpr (OWN_PARTS > 1) {
      multiply_parts(sums, shared, work, call.part_steps, first_row, ring, tells, turn);
    } else {
      multiply_steps(sums, shared, work, first_row, ring, tells, turn);
    }
    if (LATE && !call.is_late && !walk.more()) launch_dependents();  // It has no room before a block leaves.
    const int row = work.row + (SWAP == 1 ? 0 : first_row);
    const int column = work.column + (SWAP == 1 ? first_row : 0);
    if constexpr (REDUCE == 1) {
      reduce_parts_in_cluster(call, shared, sums, row, column, work.part, unfinished);
    } else if constexpr (SPLIT == 0) {
      store_part(call.target, call.partial, sums, row, column, work.part);
    } else {
      if (unfinished) finish<Role::COLUMNS>(call.target, call.alpha, call.beta, shared.c[consumer], sums, row, column);
      const auto buffer_of = [&](int slice) {
        return LEAVES_THROUGH_STAGES && !walk.more()
                   ? shared.b[slice % STAGES] + (first_row + slice / STAGES * 64) * LINE
                   : free_buffer(shared.c[consumer], buffer);
      };
      if constexpr (STORES_EACH) {
        store_each<FRAGMENTS * SUMS>(call.target, sums, 0, row, column);
      } else if constexpr (SWAP == 1) {
        store_columns<Role::COLUMNS>(call.target, buffer_of, sums, row, column);
      } else {
        store_rows<Role::COLUMNS>(call.target, buffer_of, sums, row, column);
      }
    }
    if (LATE && call.is_late && !walk.more()) launch_dependents();
  }
  if (is_elected()) wait_stores_read<0>();  // the block's shared memory must stay until then
}

// Numbers have 32 bits and stand before the maps: all that a block reads is then in two lines of 64 bytes of constant
// memory, for which it waits when it begins.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
         PerProduct<Accumulator*> partial, u32 parts, u32 k_tiles, u32 is_late, u32 prefetched, u32 cluster_m_log2,
         u32 cluster_n_log2, u32 tiles_m, u32 tiles_n, u32 group_log2, u32 band_reciprocal, u32 last_reciprocal,
         const __grid_constant__ ProductMap map_a, const __grid_constant__ ProductMap map_b,
         const __grid_constant__ ProductMap map_c) {
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
                  &map_b,
                  SPLIT == 0 ? static_cast<int>(parts) : SPLIT,
                  static_cast<int>(k_tiles),
                  is_late != 0,
                  SHARES_B ? cluster_m_log2 : 0,
                  SHARES_A ? cluster_n_log2 : 0,
                  {tiles_m, tiles_n, group_log2, band_reciprocal, last_reciprocal}};
  constexpr int PRODUCER = CONSUMERS * WARPGROUP;  // the first thread of the warp, one of which fills stages
  constexpr int READY = PRODUCER + WARP;           // threads that must know the stages' barriers
  if (threadIdx.x == PRODUCER) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    if (STORE_BOXES) prefetch_map(&map_c);
    for (int s = 0; s < STAGES; ++s) {
      barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init(shared_address(&shared.empty[s]), (PINGPONG == 1 ? 1 : CONSUMERS) * call.sharers());
    }
    if constexpr (REDUCE == 1) {
      barrier_init(shared_address(&shared.complete), 1);  // complete when all is there that others hand over
      barrier_expect(shared_address(&shared.complete), cluster_rank() < ADDERS ? sizeof(shared.received) : 0);
    }
    barrier_init_fence();
  }
  // Others' barriers are waited for where they are first needed.
  if constexpr (CLUSTERED || REDUCE == 1) cluster_arrive_relaxed();
  if (threadIdx.x >= PRODUCER) {
    if constexpr (MOVES_REGISTERS) give_registers_back<PRODUCER_REGISTERS>();
    bool has_waited = !CLUSTERED && REDUCE == 0;
    if (threadIdx.x < READY) {
      __syncwarp();
      arrive<READY>(0);
      if (is_elected()) {
        produce(call, shared);
        if (CLUSTERED) has_waited = true;
      }
    } else if (PACK == 0 && !BATCHED && threadIdx.x < READY + WARP && is_elected()) {
      prefetch(call, static_cast<int>(prefetched));
    }
    if (!has_waited) cluster_wait();
  } else {
    if constexpr (MOVES_REGISTERS) take_registers<CONSUMER_REGISTERS>();
    meet<READY>(0);
    consume(call, shared);
    wait_for_previous();  // A block without a turn has not waited yet.
    if constexpr (CLUSTERED) cluster_wait();
  }
}

// What a block of pack() copies of an operand of rows x columns: as it is, or transposed.
template <bool TURNS, int VECTOR, class T>
__device__ __forceinline__ void pack_block(i64 block, i64 rows, i64 columns, const T* source, i64 ld, T* target,
                                           i64 target_ld) {
  extern __shared__ __align__(16) unsigned char staged[];
  if (rows == 0 || columns == 0) return;  // The product is empty.
  if constexpr (TURNS) {
    static_assert(PACK_TILE * (PACK_TILE + 1) * sizeof(T) == PACK_SMEM_BYTES, "host and kernel disagree");
    pack_tile<true, PACK_TILE, PACK_THREADS>(staged, source, ld, rows, columns, target, target_ld, block);
  } else {
    const i64 unit = block * PACK_THREADS + threadIdx.x;
    if (unit < rows * units_of_row<T>(target_ld)) copy_unit<VECTOR>(source, ld, columns, target, target_ld, unit);
  }
}

// Copies operands to rows of whole lines: first A in `blocks_a` blocks, then B in `blocks_b`. An operand that stays
// where it is has none, which its rows' length decides, not this program.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
    pack(i64 rows_a, i64 columns_a, PerProduct<const InputA*> A, i64 lda, PerProduct<InputA*> copy_a, i64 copy_lda,
         i64 rows_b, i64 columns_b, PerProduct<const InputB*> B, i64 ldb, PerProduct<InputB*> copy_b, i64 copy_ldb,
         i64 blocks_a, i64 blocks_b) {
  wait_for_previous();
  const i64 block = blockIdx.x;
  if constexpr (PACK == 1) {
    if (block < blocks_a) {
      pack_block<TURNS_A, VA, InputA>(block, rows_a, columns_a, A, lda, copy_a, copy_lda);
    } else if (block < blocks_a + blocks_b) {
      pack_block<TURNS_B, VB, InputB>(block - blocks_a, rows_b, columns_b, B, ldb, copy_b, copy_ldb);
    }
  }
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
