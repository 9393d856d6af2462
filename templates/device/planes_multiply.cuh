// What the producer and the consumers of products of planes do with stages. Needs the family's rendered constants.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/planes_tile.cuh"

constexpr int PRODUCER = CONSUMERS * WARPGROUP;  // the first thread of the warp, one of which fills stages

// What the thread that fills stages does first.
__device__ __forceinline__ void begin_stages(Shared& shared, const ProductMap* map_a, const ProductMap* map_b,
                                             const ProductMap* map_c) {
  prefetch_map(map_a);
  prefetch_map(map_b);
  if (STORE_BOXES) prefetch_map(map_c);
  for (int s = 0; s < STAGES; ++s) {
    barrier_init(shared_address(&shared.full[s]), 1);
    barrier_init(shared_address(&shared.empty[s]), CONSUMERS * (CLUSTER_M + CLUSTER_N - 1));
  }
  barrier_init_fence();
}

// Copies this block's share of all planes of an operand's tile to all that need it. The planes lie one below the
// other, `extent` rows each.
template <int PLANES, int ROWS_OF_TILE, int SHARERS, int PLANE_BYTES>
__device__ __forceinline__ void fetch_planes(unsigned char (&tiles)[PLANES][PLANE_BYTES], const ProductMap* map,
                                             int extent, int row, int k0, int share, unsigned short blocks,
                                             unsigned barrier) {
  constexpr int ROWS = ROWS_OF_TILE / SHARERS;
#pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) {
    const unsigned target = shared_address(tiles[plane]) + share * (PLANE_BYTES / SHARERS);
    const int first = plane * extent + row + share * ROWS;
    if constexpr (SHARERS == 1) {
      copy_box(target, map, barrier, k0, first);
    } else {
      copy_box_to(blocks, target, map, barrier, k0, first);
    }
  }
}

// The fetch of B as it is where it lies along n: boxes of BOX_COLUMNS columns and all steps, one below the other.
__device__ __forceinline__ void fetch_across_k(unsigned char* tile, const ProductMap* map, int column, int k0,
                                               int share, unsigned short blocks, unsigned barrier) {
  constexpr int STEPS = BK / CLUSTER_M;
#pragma unroll
  for (int first = 0; first < BN; first += BOX_COLUMNS) {
    const unsigned target = shared_address(tile) + (first / BOX_COLUMNS * BK + share * STEPS) * LINE;
    if constexpr (CLUSTER_M == 1) {
      copy_box(target, map, barrier, column + first, k0);
    } else {
      copy_box_to(blocks, target, map, barrier, column + first, k0 + share * STEPS);
    }
  }
}

__device__ __forceinline__ void produce(const Extents& extents, const ProductMap* map_a, const ProductMap* map_b,
                                        Shared& shared) {
  Ring<STAGES> ring;
  const int rank = own_rank();
  const int rank_m = rank % CLUSTER_M;
  const int rank_n = rank / CLUSTER_M;
  // Blocks of the same rows of C need the same tile of A, those of the same columns the same of B.
  unsigned short same_rows = 0;
  for (int i = 0; i < CLUSTER_N; ++i) same_rows |= 1 << (rank_m + i * CLUSTER_M);
  const unsigned short same_columns = ((1 << CLUSTER_M) - 1) << (rank_n * CLUSTER_M);
  if constexpr (CLUSTER > 1) cluster_wait();  // the others' barriers are there
  extents.for_each_turn([&](int turn) {
    const TilePlace tile = extents.place(turn);
    const int first_step = extents.first_step(turn);
    const int end_step = first_step + extents.steps(turn);
#pragma unroll 1
    for (int step = first_step; step < end_step; ++step) {
      const unsigned full = shared_address(&shared.full[ring.stage]);
      barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      barrier_expect(full, PLANES_A * BM * LINE_A + HELD_B * BN * LINE_B);
      fetch_planes<PLANES_A, BM, CLUSTER_N>(shared.a[ring.stage], map_a, extents.m, tile.row, step * BK, rank_n,
                                            same_rows, full);
      if constexpr (SWAP == 1 && !TRANSPOSE_B) {
        fetch_across_k(shared.b[ring.stage][0], map_b, tile.column, step * BK, rank_m, same_columns, full);
      } else {
        fetch_planes<HELD_B, BN, CLUSTER_M>(shared.b[ring.stage], map_b, extents.n, tile.column, step * BK, rank_m,
                                              same_columns, full);
      }
      ring.advance();
    }
  });
  if constexpr (CLUSTER > 1) {  // a block stays while others arrive at its barriers
#pragma unroll 1
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      ring.advance();
    }
  }
}

// How a consumer says to every block that writes a stage that it is done with it: a thread for each such block.
struct Release {
  unsigned first;  // barrier of that block
  bool is_told;

  __device__ __forceinline__ explicit Release(Shared& shared) : first(shared_address(&shared.empty[0])) {
    const int rank = own_rank();
    const int thread = threadIdx.x % WARPGROUP;
    if constexpr (CLUSTER == 1) {
      is_told = thread == 0;
    } else {
      is_told = thread < CLUSTER && (thread % CLUSTER_M == rank % CLUSTER_M || thread / CLUSTER_M == rank / CLUSTER_M);
      if (is_told) first = remote_address(first, thread);
    }
  }
  __device__ __forceinline__ void operator()(int stage) const {
    if (!is_told) return;
    const unsigned barrier = first + stage * int(sizeof(u64));
    if constexpr (CLUSTER == 1) {
      barrier_arrive(barrier);
    } else {
      barrier_arrive_remote(barrier);
    }
  }
};

// Begins a chunk's sums of a fragment, by three products of planes: small ones, as low * high and high * low, before
// high * high, so that as little as possible is lost where tensor cores truncate. Plane 0 has the high parts.
__device__ __forceinline__ void start_chunk(Accumulator (&part)[SUMS],
                                            const unsigned char (&a)[PLANES_A][BM * LINE_A],
                                            const unsigned char (&b)[HELD_B][BN * LINE_B], int chunk, int row) {
  constexpr int PLANE_OF_A[] = {PLANES_A - 1, 0, 0}, PLANE_OF_B[] = {PLANES_B - PLANES_A, 1, 0};
  const int offset = chunk * (PROMOTE * int(sizeof(Part)));
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < 3; ++product) {
    const u64 rows = tile_descriptor<LINE_A>(shared_address(a[PLANE_OF_A[product]]) + row * LINE_A + offset, 1);
    const u64 columns = tile_descriptor<LINE_B>(shared_address(b[PLANE_OF_B[product]]) + offset, 1);
#pragma unroll
    for (int step = 0; step < PROMOTE; step += Kind::K) {
      const u64 tile_a = moved(rows, step * int(sizeof(Part)));
      const u64 tile_b = moved(columns, step * int(sizeof(Part)));
      if (product == 0 && step == 0) {
        multiply_tiles<Kind, BN, false>(&part[0], tile_a, tile_b);
      } else {
        multiply_tiles<Kind, BN, true>(&part[0], tile_a, tile_b);
      }
    }
  }
  wgmma_commit();
}

__device__ __forceinline__ void promote(Accumulator (&sums)[SUMS], Accumulator (&part)[SUMS]) {
  hold_sums(part);
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sums[i] += part[i];
}

// Where a consumer is in the stages.
struct Progress {
  Ring<STAGES> ring;
  int chunk = 0;

  // Goes on to the next chunk; returns the stage that ends with this one, else -1.
  __device__ __forceinline__ int advance() {
    if (++chunk < CHUNKS) return -1;
    const int stage = ring.stage;
    chunk = 0;
    ring.advance();
    return stage;
  }
};

// Two sums of chunks, one of which is promoted while the other is multiplied, where registers hold both and a stage is
// one chunk: the compiler lets no multiplications follow each other across a branch. Else the other consumers multiply
// meanwhile.
__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, int chunks, int first_row, Progress& at,
                                         const Release& release) {
  constexpr bool BOTH = CHUNKS == 1 && FRAGMENTS == 1 && 3 * SUMS <= (CONSUMERS == 3 ? 96 : 192);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] = 0;
  }
  if (chunks == 0) return;
  Accumulator parts[BOTH ? 2 : 1][SUMS];
  int ended = -1;  // the stage to be released with the chunk that is multiplied
  const auto start = [&](Accumulator(&part)[SUMS]) {
    const int stage = at.ring.stage;
    if (at.chunk == 0) barrier_wait(shared_address(&shared.full[stage]), at.ring.parity);
    start_chunk(part, shared.a[stage], shared.b[stage], at.chunk, first_row);
  };
  const auto release_ended = [&] {
    if (ended >= 0) release(ended);
  };
  if constexpr (BOTH) {
    const auto next = [&](Accumulator(&part)[SUMS], Accumulator(&before)[SUMS]) {
      start(part);
      wgmma_wait<1>();
      release_ended();
      ended = at.advance();
      promote(sums[0], before);
    };
    const auto finish_last = [&](Accumulator(&part)[SUMS]) {
      wgmma_wait<0>();
      release_ended();
      promote(sums[0], part);
    };
    start(parts[0]);
    ended = at.advance();
    int done = 1;
#pragma unroll 1
    for (; done + 1 < chunks; done += 2) {
      next(parts[BOTH], parts[0]);
      next(parts[0], parts[BOTH]);
    }
    if (done < chunks) {
      next(parts[BOTH], parts[0]);
      finish_last(parts[BOTH]);
    } else {
      finish_last(parts[0]);
    }
  } else {
#pragma unroll 1
    for (int done = 0; done < chunks; ++done) {
      const int stage = at.ring.stage;
      if (at.chunk == 0) barrier_wait(shared_address(&shared.full[stage]), at.ring.parity);
#pragma unroll
      for (int f = 0; f < FRAGMENTS; ++f) {
        start_chunk(parts[0], shared.a[stage], shared.b[stage], at.chunk, first_row + f * 64);
        wgmma_wait<0>();
        if (f == FRAGMENTS - 1) {
          ended = at.advance();
          release_ended();
        }
        promote(sums[f], parts[0]);
      }
    }
  }
}

// SWAP = 1: rows of the next stage are split while one is multiplied.
template <class Rows>
__device__ __forceinline__ void multiply_split(Sums& sums, Shared& shared, int steps, int first_row, Ring<STAGES>& ring,
                                               const Release& release) {
  static_assert(SWAP == 0 || (FRAGMENTS == 1 && CHUNKS == 1), "rows of one fragment, promoted once a stage");
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sums[0][i] = 0;
  if (steps == 0) return;
  Accumulator part[SUMS];
  Rows rows[2];
  const auto load = [&](Rows& next) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    next.load(shared.b[ring.stage][0], first_row);
  };
  const auto finish_stage = [&](int stage) {
    wgmma_wait<0>();
    release(stage);
    promote(sums[0], part);
  };
  const auto turn = [&](const Rows& mine, Rows& next) {
    const int stage = ring.stage;
    mine.multiply(part, shared_address(shared.a[stage][0]));
    ring.advance();
    load(next);
    finish_stage(stage);
  };
  const auto last_turn = [&](const Rows& mine) {
    mine.multiply(part, shared_address(shared.a[ring.stage][0]));
    finish_stage(ring.stage);
    ring.advance();
  };
  load(rows[0]);
#pragma unroll 1
  for (; steps > 2; steps -= 2) {
    turn(rows[0], rows[1]);
    turn(rows[1], rows[0]);
  }
  if (steps == 2) {
    turn(rows[0], rows[1]);
    last_turn(rows[1]);
  } else {
    last_turn(rows[0]);
  }
}

// What a consumer does with the block's tiles. SWAP = 1: it splits `Rows`. rescale(sums, row, column) sees the sums of
// each tile before they are stored.
template <class Rows, class Rescale>
__device__ __forceinline__ void consume(const Extents& extents, const Target& target, Scalar alpha, Scalar beta,
                                        Accumulator* partial, Shared& shared, const Rescale& rescale) {
  const int consumer = group_of_warp<WARPGROUP>();
  const int first_row = consumer * WG_ROWS;
  const Release release(shared);
  Progress progress;
  int buffer = 0;
  extents.for_each_turn([&](int turn) {
    Sums sums;
    if constexpr (SWAP == 1) {
      multiply_split<Rows>(sums, shared, extents.steps(turn), first_row, progress.ring, release);
    } else {
      multiply(sums, shared, extents.steps(turn) * CHUNKS, first_row, progress, release);
    }
    if (extents.is_last(turn)) launch_dependents();  // a block has the SM for itself: what follows cannot crowd
    const TilePlace tile = extents.place(turn);
    const int row = tile.row + (SWAP == 1 ? 0 : first_row);
    const int column = tile.column + (SWAP == 1 ? first_row : 0);
    rescale(sums, row, column);
    if constexpr (SPLIT == 0) {
      store_part(target, partial, sums, row, column, extents.part(turn));
    } else {
      finish<Role::COLUMNS>(target, alpha, beta, shared.c[consumer], sums, row, column);
      if constexpr (SWAP == 1) {
        store_columns<Role::COLUMNS>(target, shared.c[consumer], sums, row, column, buffer);
      } else {
        store_rows<Role::COLUMNS>(target, shared.c[consumer], sums, row, column, buffer);
      }
    }
  });
  if (is_elected()) wait_stores_read<0>();  // the block's shared memory must stay until then
}

// What a block does once its threads know the stages: one thread fills them, and consumers compute tiles.
template <class Rows, class Rescale>
__device__ __forceinline__ void compute_tiles(const Extents& extents, const ProductMap* map_a, const ProductMap* map_b,
                                              const Target& target, Scalar alpha, Scalar beta, Accumulator* partial,
                                              Shared& shared, const Rescale& rescale) {
  if constexpr (CLUSTER > 1) cluster_arrive();  // waited for where others' shared memory is first needed
  if (threadIdx.x >= PRODUCER) {
    if constexpr (CONSUMERS > 1) give_registers_back<PRODUCER_REGISTERS>();
    const bool produces = threadIdx.x < PRODUCER + WARP && is_elected();
    if (produces) produce(extents, map_a, map_b, shared);
    if (CLUSTER > 1 && !produces) cluster_wait();
  } else {
    if constexpr (CONSUMERS > 1) take_registers<CONSUMER_REGISTERS>();
    consume<Rows>(extents, target, alpha, beta, partial, shared, rescale);
    if constexpr (CLUSTER > 1) cluster_wait();
  }
}
