// What the consumers of products of planes do with stages. Needs the family's rendered constants.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/planes_produce.cuh"

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

// Begins products of planes of a stage, PLANES_OF_A[i] by PLANES_OF_B[i], for a chunk's sums of 64 rows and as many
// columns, from `column` on, as `part` has room for; without ADDS these are set.
template <class Kind, bool ADDS, int COUNT, int WIDTH>
__device__ __forceinline__ void start_products(Accumulator (&part)[WIDTH],
                                               const unsigned char (&a)[PLANES_A][BM * LINE_A],
                                               const unsigned char (&b)[HELD_B][BN * LINE_B],
                                               const int (&planes_of_a)[COUNT], const int (&planes_of_b)[COUNT],
                                               int chunk, int row, int column = 0) {
  const int offset = chunk * (PROMOTE * int(sizeof(Part)));
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < COUNT; ++product) {
    const u64 rows = tile_descriptor<LINE_A>(shared_address(a[planes_of_a[product]]) + row * LINE_A + offset, 1);
    const u64 columns =
        tile_descriptor<LINE_B>(shared_address(b[planes_of_b[product]]) + column * LINE_B + offset, 1);
#pragma unroll
    for (int step = 0; step < PROMOTE; step += Kind::K) {
      const u64 tile_a = moved(rows, step * int(sizeof(Part)));
      const u64 tile_b = moved(columns, step * int(sizeof(Part)));
      if (!ADDS && product == 0 && step == 0) {
        multiply_tiles<Kind, 2 * WIDTH, false>(&part[0], tile_a, tile_b);
      } else {
        multiply_tiles<Kind, 2 * WIDTH, true>(&part[0], tile_a, tile_b);
      }
    }
  }
  wgmma_commit();
}

// Begins a chunk's sums of a fragment, by three products: small ones, as low * high and high * low, before high * high,
// so that as little as possible is lost where tensor cores truncate. Plane 0 has the high parts.
__device__ __forceinline__ void start_chunk(Accumulator (&part)[SUMS],
                                            const unsigned char (&a)[PLANES_A][BM * LINE_A],
                                            const unsigned char (&b)[HELD_B][BN * LINE_B], int chunk, int row) {
  start_products<Kind, false>(part, a, b, {PLANES_A - 1, 0, 0}, {PLANES_B - PLANES_A, 1, 0}, chunk, row);
}

__device__ __forceinline__ void promote(Accumulator (&sums)[SUMS], Accumulator (&part)[SUMS]) {
  hold_sums(part);
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sums[i] += part[i];
}

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] = 0;
  }
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
  clear(sums);
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

// Adds a chunk of planes of bf16: all products of high, middle and low parts but low * low. What high * high adds up to
// stands alone until it is complete: of few terms it is exact, as the sum of all else nearly is. Half of a tile's columns
// at a time leave registers for both. Two stages have the planes: high and low, high and middle.
__device__ __forceinline__ void add_wide_chunk(Sums& sums, const Shared& shared, int low, int middle, int chunk,
                                               int first_row) {
  using Wide = Wgmma<bfloat_t, bfloat_t, true, true>;
  constexpr int HALF = SUMS / 2;
  const auto &a_low = shared.a[low], &a_middle = shared.a[middle];
  const auto &b_low = shared.b[low], &b_middle = shared.b[middle];
#pragma unroll
  for (int part = 0; part < FRAGMENTS * 2; ++part) {
    const int fragment = part / 2, half = part % 2;
    const int row = first_row + fragment * 64, column = half * (BN / 2);
    Accumulator high_sums[HALF], other_sums[HALF];
    start_products<Wide, false>(high_sums, a_low, b_low, {0}, {0}, chunk, row, column);
    start_products<Wide, false>(other_sums, a_middle, b_low, {1}, {1}, chunk, row, column);
    start_products<Wide, true>(other_sums, a_low, b_middle, {1}, {1}, chunk, row, column);
    start_products<Wide, true>(other_sums, a_low, b_low, {1, 0}, {0, 1}, chunk, row, column);
    start_products<Wide, true>(other_sums, a_middle, b_middle, {1, 1, 0}, {1, 0, 1}, chunk, row, column);
    wgmma_wait<0>();
    hold_sums(high_sums);
    hold_sums(other_sums);
#pragma unroll
    for (int i = 0; i < HALF; ++i) sums[fragment][half * HALF + i] += high_sums[i] + other_sums[i];
  }
}

// Planes of bf16, of which a step along k takes two stages.
__device__ __forceinline__ void multiply_wide(Sums& sums, Shared& shared, int steps, int first_row,
                                              Ring<STAGES>& ring, const Release& release) {
  clear(sums);
  const auto next_stage = [&] {
    const int stage = ring.stage;
    barrier_wait(shared_address(&shared.full[stage]), ring.parity);
    ring.advance();
    return stage;
  };
#pragma unroll 1
  for (; steps > 0; --steps) {
    const int low = next_stage(), middle = next_stage();
    // More chunks in one block of instructions would have more sums under way than there are registers.
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; ++chunk) add_wide_chunk(sums, shared, low, middle, chunk, first_row);
    release(low);
    release(middle);
  }
}

// SWAP = 1: rows of the next stage are split while one is multiplied.
template <class Rows>
__device__ __forceinline__ void multiply_split(Sums& sums, Shared& shared, int steps, int first_row, Ring<STAGES>& ring,
                                               const Release& release) {
  static_assert(SWAP == 0 || (FRAGMENTS == 1 && CHUNKS == 1), "rows of one fragment, promoted once a stage");
  clear(sums);
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

// What a consumer does with the block's tiles. SWAP = 1: it splits `Rows`. is_wide(): operands have three planes each.
// rescale(sums, row, column) sees the sums of each tile before they are stored.
template <class Rows, class IsWide, class Rescale>
__device__ __forceinline__ void consume(const Extents& extents, const Target& target, Scalar alpha, Scalar beta,
                                        Accumulator* partial, Shared& shared, const IsWide& is_wide,
                                        const Rescale& rescale) {
  const int consumer = group_of_warp<WARPGROUP>();
  const int first_row = consumer * WG_ROWS;
  const Release release(shared);
  const u32 unfinished = is_unfinished(alpha, beta);
  Progress progress;
  int buffer = 0;
  extents.for_each_turn([&](int turn) {
    Sums sums;
    if constexpr (SWAP == 1) {
      multiply_split<Rows>(sums, shared, extents.steps(turn), first_row, progress.ring, release);
    } else if (PLANES_A > 1 && is_wide()) {
      multiply_wide(sums, shared, extents.steps(turn), first_row, progress.ring, release);
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
      if (unfinished) finish<Role::COLUMNS>(target, alpha, beta, shared.c[consumer], sums, row, column);
      const auto buffer_of = [&](int) { return free_buffer(shared.c[consumer], buffer); };
      if constexpr (SWAP == 1) {
        store_columns<Role::COLUMNS>(target, buffer_of, sums, row, column);
      } else {
        store_rows<Role::COLUMNS>(target, buffer_of, sums, row, column);
      }
    }
  });
  if (is_elected()) wait_stores_read<0>();  // the block's shared memory must stay until then
}

// What a block does once its threads know the stages: one thread fills them, and consumers compute tiles.
template <class Rows, class IsWide, class Rescale>
__device__ __forceinline__ void compute_tiles(const Extents& extents, const ProductMap* map_a, const ProductMap* map_b,
                                              const Target& target, Scalar alpha, Scalar beta, Accumulator* partial,
                                              Shared& shared, const IsWide& is_wide, const Rescale& rescale) {
  if constexpr (CLUSTER > 1) cluster_arrive_relaxed();  // Barriers are waited for where they are first needed.
  if (threadIdx.x >= PRODUCER) {
    if constexpr (CONSUMERS > 1) give_registers_back<PRODUCER_REGISTERS>();
    const bool produces = threadIdx.x < PRODUCER + WARP && is_elected();
    if (produces) produce(extents, map_a, map_b, shared, is_wide());
    if (CLUSTER > 1 && !produces) cluster_wait();
  } else {
    if constexpr (CONSUMERS > 1) take_registers<CONSUMER_REGISTERS>();
    consume<Rows>(extents, target, alpha, beta, partial, shared, is_wide, rescale);
    if constexpr (CLUSTER > 1) cluster_wait();
  }
}
