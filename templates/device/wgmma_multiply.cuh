// What consumers of the family wgmma do with stages. Needs the family's rendered constants.
#pragma once

#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// The first of the barriers of the block at which a consumer of PINGPONG waits for its turn, one a consumer.
constexpr int FIRST_TURN = FIRST_STORE + CONSUMERS;

// When a consumer multiplies its tile: if it takes turns, once the other has issued all products of the tile before,
// which the tensor cores go on with while this one's first are on their way.
template <bool TAKES_TURNS>
struct Turn {
  int consumer;
  bool is_last;  // whether no tile follows

  __device__ __forceinline__ void await() const {
    if constexpr (TAKES_TURNS) meet<2 * WARPGROUP>(FIRST_TURN + consumer);
  }
  __device__ __forceinline__ void pass() const {
    if (TAKES_TURNS && !is_last) arrive<2 * WARPGROUP>(FIRST_TURN + 1 - consumer);
  }
};

// Descriptors of a consumer's part of the stages, which are made once: another stage, or another of its steps, is only
// a sum away.
struct Tiles {
  u64 rows, columns;  // the tiles of stage 0 whose parts are the instructions' rows and columns

  __device__ __forceinline__ Tiles(Shared& shared, int first_row)
      : rows(tile_descriptor<LINE>(shared_address(SWAP == 1 ? shared.b[0] : shared.a[0]) + first_row * LINE, BK)),
        columns(tile_descriptor<Role::COLUMNS_LINE>(shared_address(SWAP == 1 ? shared.a[0] : shared.b[0]), BK)) {}

  __device__ __forceinline__ u64 rows_of(int stage) const { return moved(rows, stage * (Role::HELD_ROWS * LINE)); }
  __device__ __forceinline__ u64 columns_of(int stage) const {
    return moved(columns, stage * (Role::HELD_COLUMNS * LINE));
  }
};

// `rows` and `columns`: the descriptors of a stage. SETS: the sums begin here.
template <bool SETS = false>
__device__ __forceinline__ void multiply_stage(Sums& sums, u64 rows, u64 columns) {
  // The way from an instruction's steps to the next one's: within the lines, or as many lines on.
  constexpr int ROWS_STEP = Kind::K * (Role::ROWS_ALONG_K ? LINE / BK : LINE);
  constexpr int COLUMNS_STEP = Kind::K * (Role::COLUMNS_ALONG_K ? LINE / BK : Role::COLUMNS_LINE);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < BK / Kind::K; ++step) {
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
      const u64 a = moved(rows, step * ROWS_STEP + f * 64 * LINE);
      const u64 b = moved(columns, step * COLUMNS_STEP);
      if (SETS && step == 0) {
        multiply_tiles<Kind, FIRST_COLUMNS, false>(&sums[f][0], a, b);
      } else {
        multiply_tiles<Kind, FIRST_COLUMNS, true>(&sums[f][0], a, b);
      }
      if constexpr (SECOND_COLUMNS > 0) {
        multiply_tiles<Kind, SECOND_COLUMNS, true>(&sums[f][FIRST_COLUMNS / 2], a,
                                                   moved(columns, step * COLUMNS_STEP + FIRST_COLUMNS * LINE));
      }
    }
  }
  wgmma_commit();
}

// The instructions' rows of a stage, as multiply_tiles() takes them.
struct Rows {
  static constexpr int STEPS = BK / Kind::K;
  u32 at[STEPS][FRAGMENTS][4];

  // Lines along m or n, from the warpgroup's first row on. The four lines that a warp would read for one of the numbers
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
            return *reinterpret_cast<const u32*>(lines + unit_of_line<LINE>(k, row % BK / 4) + row % 4 * 4);
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

  __device__ __forceinline__ void multiply(Sums& sums, u64 columns) const {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int f = 0; f < FRAGMENTS; ++f) {
        constexpr int STEP = Kind::K * (LINE / BK);
        multiply_tiles<Kind, FIRST_COLUMNS, true>(&sums[f][0], at[step][f], moved(columns, step * STEP));
        if constexpr (SECOND_COLUMNS > 0) {
          multiply_tiles<Kind, SECOND_COLUMNS, true>(&sums[f][FIRST_COLUMNS / 2], at[step][f],
                                                     moved(columns, step * STEP + FIRST_COLUMNS * LINE));
        }
      }
    }
    wgmma_commit();
  }
};

// Whether this thread says to the block of its number in the cluster that the warpgroup is done with a stage which that
// block writes. The compiler would find out anew for each stage.
__device__ __forceinline__ bool tells_block(const ClusterPlace& place) {
  constexpr int MOST_BLOCKS = 16;  // of a cluster
  const int thread = threadIdx.x % WARPGROUP;
  if constexpr (!CLUSTERED) return thread == 0;
  u32 tells = thread < MOST_BLOCKS ? (place.same_rows | place.same_columns) >> thread & 1 : 0;
  asm volatile("" : "+r"(tells));
  return tells != 0;
}

// This warpgroup is done with a stage.
__device__ __forceinline__ void release(Shared& shared, int stage, bool tells) {
  const unsigned empty = shared_address(&shared.empty[stage]);
  if constexpr (CLUSTERED) {
    if (tells) barrier_arrive_remote(remote_address(empty, threadIdx.x % WARPGROUP));
  } else {
    if (tells) barrier_arrive(empty);
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
template <bool TAKES_TURNS>
__device__ __forceinline__ void multiply_from_registers(Sums& sums, Shared& shared, const Work& work, int first_row,
                                                        Ring<STAGES>& ring, bool tells, const Turn<TAKES_TURNS>& turn) {
  if (work.steps == 0) return turn.pass();
  const Tiles tiles(shared, first_row);
  Rows rows[2];
  int before = -1;  // the stage that may still be read
  const auto multiply_one = [&](Rows& mine) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    mine.load(SWAP == 1 ? shared.b[ring.stage] : shared.a[ring.stage], first_row);
    mine.multiply(sums, tiles.columns_of(ring.stage));
    wgmma_wait<1>();
    if (before >= 0) release(shared, before, tells);
    before = ring.stage;
    ring.advance();
  };
  if (work.steps % 2 == 1) multiply_one(rows[1]);
#pragma unroll 1
  for (int step = work.steps % 2; step < work.steps; step += 2) {
    multiply_one(rows[0]);
    multiply_one(rows[1]);
  }
  turn.pass();
  wgmma_wait<0>();
  release(shared, before, tells);
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
template <bool TAKES_TURNS>
__device__ __forceinline__ void multiply_and_promote(Sums& sums, Shared& shared, const Work& work, int first_row,
                                                     Ring<STAGES>& ring, bool tells, const Turn<TAKES_TURNS>& turn) {
  constexpr bool BOTH = 3 * FRAGMENTS * SUMS <= 192;
  if (work.steps == 0) return turn.pass();
  const Tiles tiles(shared, first_row);
  Sums parts[BOTH ? 2 : 1];
  int last = 0;  // the stage that is multiplied
  const auto start = [&](Sums& part) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    multiply_stage<true>(part, tiles.rows_of(ring.stage), tiles.columns_of(ring.stage));
  };
  const auto next = [&](Sums& part, Sums& before) {
    start(part);
    wgmma_wait<1>();
    release(shared, last, tells);
    last = ring.stage;
    ring.advance();
    add(sums, before);
  };
  const auto finish = [&](Sums& part) {
    wgmma_wait<0>();
    release(shared, last, tells);
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
      turn.pass();
      finish(parts[BOTH]);
    } else {
      turn.pass();
      finish(parts[0]);
    }
  } else {
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      start(parts[0]);
      last = ring.stage;
      ring.advance();
      if (step + 1 == work.steps) turn.pass();
      finish(parts[0]);
    }
  }
}

template <bool TAKES_TURNS>
__device__ __forceinline__ void multiply(Sums& sums, Shared& shared, const Work& work, int first_row,
                                         Ring<STAGES>& ring, bool tells, const Turn<TAKES_TURNS>& turn) {
  if (work.steps == 0) return turn.pass();
  const Tiles tiles(shared, first_row);
  int before = -1;  // the stage that may still be read
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    multiply_stage(sums, tiles.rows_of(ring.stage), tiles.columns_of(ring.stage));
    wgmma_wait<1>();
    if (before >= 0) release(shared, before, tells);
    before = ring.stage;
    ring.advance();
  }
  turn.pass();
  wgmma_wait<0>();
  release(shared, before, tells);
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) hold_sums(sums[f]);
}

// All steps of `work`, in a turn, before which the sums are made zeros.
template <bool TAKES_TURNS>
__device__ __forceinline__ void multiply_steps(Sums& sums, Shared& shared, const Work& work, int first_row,
                                               Ring<STAGES>& ring, bool tells, const Turn<TAKES_TURNS>& turn) {
  clear(sums);
  turn.await();
  if constexpr (PROMOTES) {
    multiply_and_promote(sums, shared, work, first_row, ring, tells, turn);
  } else if constexpr (FROM_REGISTERS) {
    multiply_from_registers(sums, shared, work, first_row, ring, tells, turn);
  } else {
    multiply(sums, shared, work, first_row, ring, tells, turn);
  }
}

// The same in parts of `part_steps`, whose sums are added to zeros in the order of k, as those of blocks are.
template <bool TAKES_TURNS>
__device__ __forceinline__ void multiply_parts(Sums& sums, Shared& shared, Work work, int part_steps, int first_row,
                                               Ring<STAGES>& ring, bool tells, const Turn<TAKES_TURNS>& turn) {
  clear(sums);
  turn.await();
#pragma unroll 1
  for (int left = work.steps; left > 0; left -= part_steps) {
    work.steps = left < part_steps ? left : part_steps;
    Sums part;
    multiply_steps(part, shared, work, first_row, ring, tells, Turn<false>{});
    add(sums, part);
  }
  turn.pass();
}
