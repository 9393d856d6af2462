// Matrix multiply-accumulate by a warp (sm_75 and later): PTX ISA, Matrix Multiply-Accumulate Operation Using mma
// Instruction. All formats are multiplied in pieces of the same shape in bytes, 16 rows of A or 16 columns of B by 32
// bytes along k; those of fp64 have PIECE_BYTES along k, 32 or 64. With lane = thread % 32, g = lane / 4, t = lane % 4,
// a thread has of a piece
//
//     at[2 h + r]  of A, at[2 r + h] of B: the 4 bytes number t of half h along k, in row g + 8 r  (1, 2 or 4 bytes)
//     at[2 h + r]  of A, at[HALVES r + h] of B: the same of elements of fp64, of which 4 are a half
//
// so that what one instruction takes lies in neighbouring registers, which it needs: others would first be copied. And
// of the 16 x 8 sums that a piece of A and 8 columns of a piece of B add to, sum[2 r + c] in row g + 8 r, column
// 2 t + c. Needs the rendered constants ARCH and PIECE_BYTES.
#pragma once

#include "mmtune/matrices.cuh"
#include "mmtune/numeric.cuh"

template <class Input>
struct Piece {
  u32 at[4];
};
template <>
struct Piece<double> {
  static constexpr int HALVES = PIECE_BYTES / 32;
  double at[2 * HALVES];
};

#define MMTUNE_MMA(SHAPE, SUM)                                                                              \
  asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : SUM(sum[0]), SUM(sum[1]), SUM(sum[2]), SUM(sum[3])                                         \
               : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[2 * columns]),            \
                 "r"(b.at[2 * columns + 1]))

// sum += a * b for columns 0 to 7 or 8 to 15 of the piece of B: `columns` is 0 or 1.
__device__ __forceinline__ void multiply_pieces(float (&sum)[4], const Piece<half_t>& a, const Piece<half_t>& b,
                                                int columns) {
  if constexpr (ARCH >= 80) {
    MMTUNE_MMA("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  } else {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a.at[2 * h]), "r"(a.at[2 * h + 1]), "r"(b.at[2 * columns + h]));
    }
  }
}
__device__ __forceinline__ void multiply_pieces(float (&sum)[4], const Piece<bfloat_t>& a, const Piece<bfloat_t>& b,
                                                int columns) {
  MMTUNE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
}
// fp32 that has been rounded by round_piece().
__device__ __forceinline__ void multiply_pieces(float (&sum)[4], const Piece<float>& a, const Piece<float>& b,
                                                int columns) {
  MMTUNE_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
}
__device__ __forceinline__ void multiply_pieces(float (&sum)[4], const Piece<e4m3_t>& a, const Piece<e4m3_t>& b,
                                                int columns) {
  MMTUNE_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
}
__device__ __forceinline__ void multiply_pieces(float (&sum)[4], const Piece<e5m2_t>& a, const Piece<e5m2_t>& b,
                                                int columns) {
  MMTUNE_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", "+f");
}
__device__ __forceinline__ void multiply_pieces(u32 (&sum)[4], const Piece<signed char>& a, const Piece<signed char>& b,
                                                int columns) {
  if constexpr (ARCH >= 80) {
    MMTUNE_MMA("m16n8k32.row.col.s32.s8.s8.s32", "+r");
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = i % 2;
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(sum[2 * r]), "+r"(sum[2 * r + 1])
                   : "r"(a.at[i]), "r"(b.at[2 * columns + i / 2]));
    }
  }
}
// Hopper alone multiplies 16 rows of fp64 at once.
__device__ __forceinline__ void multiply_pieces(double (&sum)[4], const Piece<double>& a, const Piece<double>& b,
                                                int columns) {
  constexpr int HALVES = Piece<double>::HALVES;
  const double* const right = &b.at[HALVES * columns];
  if constexpr (ARCH == 90 && HALVES == 2) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(a.at[0]), "d"(a.at[1]), "d"(a.at[2]), "d"(a.at[3]), "d"(right[0]), "d"(right[1]));
  } else if constexpr (ARCH == 90) {
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(a.at[0]), "d"(a.at[1]), "d"(right[0]));
  } else {
#pragma unroll
    for (int i = 0; i < 2 * HALVES; ++i) {
      const int r = i % 2;
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sum[2 * r]), "+d"(sum[2 * r + 1])
                   : "d"(a.at[i]), "d"(right[i / 2]));
    }
  }
}
#undef MMTUNE_MMA

// What tensor cores read of fp32: the nearest number of 11 significant bits, ties away from zero, as cvt.rna.tf32 has
// it. They ignore the lower 13 bits themselves, so that half of what these count is all that is added. Others stay.
template <class Input>
__device__ __forceinline__ void round_piece(Piece<Input>&) {}
__device__ __forceinline__ void round_piece(Piece<float>& piece) {
#pragma unroll
  for (u32& each : piece.at) {
    if (fabsf(__uint_as_float(each)) < __uint_as_float(0x7f800000u)) each += 0x1000u;
  }
}
