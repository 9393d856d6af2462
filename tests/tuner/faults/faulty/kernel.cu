// C[row, column] by one thread each, in blocks of 16 x 16, with the fault that FAULT names: tests/tuner/faults/faults.h.
#include "mmtune/index.cuh"

static_assert(FAULT != REFUSED, "refused on purpose");

// Constants that the compiler has to work out one by one: a third of a second each.
__device__ constexpr u32 slow(u32 x) {
  for (int i = 0; i < 400000; ++i) x = x * 1664525u + 1013904223u;
  return x;
}
template <int CHAIN, int LENGTH>
struct Slow {
  static constexpr u32 value = Slow<CHAIN, LENGTH - 1>::value ^ slow(1000 * CHAIN + LENGTH);
};
template <int CHAIN>
struct Slow<CHAIN, 0> {
  static constexpr u32 value = 0;
};
constexpr int CHAIN = FAULT == ENDLESS ? 190 : 0;
constexpr u32 ZERO = (Slow<0, CHAIN>::value ^ Slow<1, CHAIN>::value ^ Slow<2, CHAIN>::value ^ Slow<3, CHAIN>::value ^
                      Slow<4, CHAIN>::value ^ Slow<5, CHAIN>::value ^ Slow<6, CHAIN>::value) & 0;

__device__ unsigned launches = 0;

// True for every fifth moment, in no order.
__device__ bool by_chance() { return (static_cast<u32>(clock64()) * 2654435761u >> 16) % 5 == 0; }

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, const InputA* A, i64 lda, const InputB* B, i64 ldb, Scalar beta,
         Output* C, i64 ldc) {
  constexpr unsigned RIGHT_LAUNCHES = FAULT == LATER ? 2 : 16;  // the launches before timing, or before a race
  constexpr i64 FAR_AWAY = i64(1) << 42;  // bytes

  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, 16), ceil_div(n, 16), 1);
  const i64 row = tile.m * 16 + threadIdx.y;
  const i64 column = tile.n * 16 + threadIdx.x;
  const bool first = row == 0 && column == 0;
  if (row >= m || column >= n) return;

  if constexpr (FAULT == CEASES) {
    if (*static_cast<volatile unsigned*>(&launches) > RIGHT_LAUNCHES) return;
    if (first) atomicAdd(&launches, 1u);
  }
  if constexpr (FAULT == HANG) {
    while (k > 0) __nanosleep(1000);
  }
  Accumulator sum = ZERO;
  const i64 terms = FAULT == SHORT ? k - 1 : k;
  for (i64 l = 0; l < terms; ++l) {
    multiply_add(A[offset_of<TRANSPOSE_A>(row, l, lda)], B[offset_of<TRANSPOSE_B>(l, column, ldb)], sum);
  }

  Output* c = C + row * ldc + column;
  if constexpr (FAULT == FAR) c = reinterpret_cast<Output*>(reinterpret_cast<char*>(c) + FAR_AWAY);
  if constexpr (FAULT == MISALIGNED) {
    // As PTX, and both halves used, because a compiler that sees through it loads only what is needed.
    u64 value;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"((reinterpret_cast<u64>(A) & ~u64(7)) + 4));
    sum += static_cast<Accumulator>((value ^ value >> 32) & 1);
  }
  if constexpr (FAULT == NOT_A_NUMBER || FAULT == WILD) sum = static_cast<Accumulator>(__int_as_float(0x7fc00000));
  if constexpr (FAULT == NEGATED) sum = -sum;
  if constexpr (FAULT == READS_C) sum += static_cast<Accumulator>(value_of(*c));
  if constexpr (FAULT == LATER) {
    if (first && atomicAdd(&launches, 1u) >= RIGHT_LAUNCHES) sum += static_cast<Accumulator>(1);
  }
  if constexpr (FAULT == RARELY) {
    if (first && by_chance()) sum += static_cast<Accumulator>(1);
  }
  if constexpr (FAULT == TRAPS) {
    if (first && by_chance()) __trap();
  }
  if constexpr (FAULT != SILENT) store_result(c, sum, alpha, beta);

  if constexpr (FAULT == ABOVE || FAULT == WILD) {
    if (first) assign(C[m * ldc], Accumulator(1));
  }
  if constexpr (FAULT == BELOW) {
    if (first) assign(C[-1], Accumulator(1));
  }
  if constexpr (FAULT == OPERAND) {
    if (first) {
      for (int i = 0; i < 100; ++i) __nanosleep(10000);  // all others have read it by then
      assign(const_cast<InputA*>(A)[0], Accumulator(9));
    }
  }
  if constexpr (FAULT == PADDING) {
    if (column == n - 1 && ldc > n) assign(c[1], Accumulator(1));
  }
}
