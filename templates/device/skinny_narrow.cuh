// The narrow operand of the family skinny: through shared memory, or straight to the registers of every thread.
#pragma once

#include "mmtune/skinny_tile.cuh"

constexpr int MANY = 16 / sizeof(Accumulator);                                          // sums in 16 bytes
constexpr int GROUP = ALONG_K ? (VEC < MANY ? VEC : MANY) : (FEW < MANY ? FEW : MANY);  // narrow values read at once
constexpr int ROW = (ALONG_K ? BK : FEW) + MANY;  // padded, so that transposed stores meet fewer bank conflicts
constexpr int ROWS = ALONG_K ? FEW : BK;

// COUNT values that lie `apart` groups apart.
template <int COUNT>
__device__ __forceinline__ void read(Accumulator (&values)[COUNT], const Accumulator* source, int apart) {
#pragma unroll
  for (int g = 0; g < COUNT / GROUP; ++g) {
    const auto group = *reinterpret_cast<const Vector<Accumulator, GROUP>*>(source + g * apart * GROUP);
#pragma unroll
    for (int v = 0; v < GROUP; ++v) values[g * GROUP + v] = group.at[v];
  }
}

// Adds the products of load u where the wide operand is contiguous along its extent: a vector of neighbouring
// positions, and a value of the narrow operand for all of them.
__device__ __forceinline__ void multiply_row(Sums& sums, const WideVectors& wide, const Accumulator (&values)[FEW],
                                             int u) {
  constexpr int CHUNK = Packed<WideInput, VEC>::CHUNK;
#pragma unroll
  for (int o = 0; o < OWN; ++o) {
#pragma unroll
    for (int c = 0; c < VEC / CHUNK; ++c) {
      Accumulator x[CHUNK];
      widen(x, wide[o][u], c);
#pragma unroll
      for (int i = 0; i < CHUNK * FEW; ++i) {
        sums[ALONG_K ? o : o * VEC + c * CHUNK + i / FEW][i % FEW] += x[i / FEW] * values[i % FEW];
      }
    }
  }
}

// NARROW = 0. Moves FEW x BK elements per stage: fetch() reads them, finish() writes them, widened, to shared memory,
// where two stages have room.
struct NarrowInShared {
  using Stage = Accumulator[ROWS][ROW];
  static constexpr int kElements = FEW * BK;
  static constexpr int kPerThread = (kElements + THREADS - 1) / THREADS;

  struct Held {};  // what a thread holds of a stage: nothing

  Stage* stages;
  const NarrowInput* matrix;
  i64 ld;
  int rows;  // the rows of FEW that exist
  NarrowInput staged[kPerThread];

  __device__ __forceinline__ NarrowInShared(Stage* shared, const Operand<NarrowInput>& operand, i64 begin)
      : stages(shared),
        matrix(operand.matrix + offset_of<!NARROW_ALONG_K>(operand.first, begin, operand.ld)),
        ld(operand.ld),
        rows(static_cast<int>(smaller(FEW, operand.extent - operand.first))) {}

  static __device__ __forceinline__ int row(int u) { return NARROW_ALONG_K ? u / BK : u % FEW; }
  static __device__ __forceinline__ int step(int u) { return NARROW_ALONG_K ? u % BK : u / FEW; }

  __device__ __forceinline__ void fetch(Held&, const Lane&, int depth) {
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      const bool exists = u < kElements && row(u) < rows && step(u) < depth;
      staged[s] = exists ? matrix[offset_of<!NARROW_ALONG_K>(row(u), step(u), ld)] : NarrowInput{};
    }
    matrix += NARROW_ALONG_K ? BK : BK * ld;
  }

  // Along k, a span of steps is stored as lanes read it: the first GROUP steps of every lane, then the next.
  static __device__ __forceinline__ int slot(int step) {
    return step / SPAN * SPAN + step % VEC / GROUP * (LANES * GROUP) + step % SPAN / VEC * GROUP + step % GROUP;
  }

  __device__ __forceinline__ void finish(int stage) {
    Stage& narrow = stages[stage];
#pragma unroll
    for (int s = 0; s < kPerThread; ++s) {
      const int u = threadIdx.x + s * THREADS;
      if (kElements % THREADS != 0 && u >= kElements) continue;
      Accumulator& target = ALONG_K ? narrow[row(u)][slot(step(u))] : narrow[step(u)][row(u)];
      target = value_of(staged[s]);
    }
    __syncthreads();
  }

  // Adds the products of a thread's vectors of load u.
  __device__ __forceinline__ void multiply(Sums& sums, const WideVectors& wide, const Held&, int u, int stage,
                                           const Lane& at) const {
    constexpr int CHUNK = Packed<WideInput, VEC>::CHUNK;
    if constexpr (ALONG_K) {
      const int step = (at.k * UNROLL + u) * STEPS;
#pragma unroll
      for (int j = 0; j < FEW; ++j) {
        Accumulator values[VEC];
        read(values, &stages[stage][j][step + at.along * GROUP], LANES);
#pragma unroll
        for (int c = 0; c < VEC / CHUNK; ++c) {
#pragma unroll
          for (int o = 0; o < OWN; ++o) {
            Accumulator x[CHUNK];
            widen(x, wide[o][u], c);
#pragma unroll
            for (int i = 0; i < CHUNK; ++i) sums[o][j] += x[i] * values[c * CHUNK + i];
          }
        }
      }
    } else {
      Accumulator values[FEW];
      read(values, stages[stage][at.step + u], 1);
      multiply_row(sums, wide, values, u);
    }
  }
};

// NARROW = 1. Every thread loads what it multiplies, and other warps find that in L1; no thread waits for another one.
// IS_FLAT: the steps of a thread lie side by side though the layout does not say so, as those of a single column do.
template <bool IS_FLAT>
struct NarrowInRegisters {
  static constexpr int RUN = ALONG_K ? VEC : UNROLL;  // neighbouring steps of a thread
  static constexpr int RUNS = ALONG_K ? UNROLL : 1;
  static constexpr int WIDEST = 16 / sizeof(NarrowInput);
  static constexpr int WIDTH = RUN < WIDEST ? RUN : WIDEST;  // steps that are held in one piece
  static constexpr int LOADED = IS_FLAT ? WIDTH : NARROW_ALONG_K ? NARROW_VEC : 1;
  static constexpr int PIECE = LOADED < WIDTH ? LOADED : WIDTH;  // steps that are held and loaded in one piece

  using Held = Packed<NarrowInput, WIDTH>[FEW][RUNS][RUN / WIDTH];  // what a thread holds of a stage

  const NarrowInput* source;
  i64 ld;
  int rows;  // the rows of FEW that exist

  __device__ __forceinline__ NarrowInRegisters(const Operand<NarrowInput>& operand, const Lane& at, i64 begin)
      : source(operand.matrix + offset_of<!NARROW_ALONG_K>(operand.first, begin + at.step, operand.ld)),
        ld(operand.ld),
        rows(static_cast<int>(smaller(FEW, operand.extent - operand.first))) {}

  static __device__ __forceinline__ bool is_flat(const Operand<NarrowInput>& operand, i64 k) {
    const auto address = reinterpret_cast<u64>(operand.matrix + operand.first);
    return !NARROW_ALONG_K && FEW == 1 && operand.ld == 1 && k % WIDTH == 0 &&
           address % (WIDTH * sizeof(NarrowInput)) == 0;
  }

  __device__ __forceinline__ void fetch(Held& held, const Lane& at, int depth) {
    const i64 apart = NARROW_ALONG_K ? PIECE : PIECE * ld;
#pragma unroll
    for (int j = 0; j < FEW; ++j) {
#pragma unroll
      for (int r = 0; r < RUNS; ++r) {
#pragma unroll
        for (int w = 0; w < RUN / WIDTH; ++w) {
          const int offset = r * SPAN + w * WIDTH;
          const int left = j < rows ? depth - at.step - offset : 0;
          held[j][r][w] = gather_packed<PIECE, WIDTH / PIECE>(source + offset_of<!NARROW_ALONG_K>(j, offset, ld), apart,
                                                              [left](int piece) { return piece * PIECE < left; });
        }
      }
    }
    source += NARROW_ALONG_K ? BK : BK * ld;
  }

  __device__ __forceinline__ void finish(int) {}

  // Adds the products of a thread's vectors of load u.
  __device__ __forceinline__ void multiply(Sums& sums, const WideVectors& wide, const Held& held, int u, int,
                                           const Lane&) const {
    if constexpr (!ALONG_K) {
      Accumulator values[FEW];
#pragma unroll
      for (int j = 0; j < FEW; ++j) values[j] = value_of(held[j][0][u / WIDTH].element(u % WIDTH));
      multiply_row(sums, wide, values, u);
    } else {
#pragma unroll
      for (int c = 0; c < Chunks::CHUNKS; ++c) multiply_chunk(sums, wide, held, u, c);
    }
  }

  using Chunks = Packed<WideInput, VEC>;

  static __device__ __forceinline__ void multiply_chunk(Sums& sums, const WideVectors& wide, const Held& held, int u,
                                                        int c) {
    if constexpr (MULTIPLIES_PACKED<WideInput, NarrowInput, Chunks::CHUNK>) {
#pragma unroll
      for (int i = 0; i < OWN * FEW; ++i) {
        add_products(sums[i / FEW][i % FEW], wide[i / FEW][u], held[i % FEW][u][0], c);
      }
    } else {
      Accumulator values[FEW][Chunks::CHUNK];
#pragma unroll
      for (int j = 0; j < FEW; ++j) widen(values[j], held[j][u][0], c);
#pragma unroll
      for (int o = 0; o < OWN; ++o) {
        Accumulator x[Chunks::CHUNK];
        widen(x, wide[o][u], c);
#pragma unroll
        for (int i = 0; i < FEW * Chunks::CHUNK; ++i) {
          sums[o][i % FEW] += x[i / FEW] * values[i % FEW][i / FEW];
        }
      }
    }
  }
};
