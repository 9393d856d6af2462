// Where things are: tiles of C by block number, elements of an operand by row and column. Everything that grows with
// the matrices is 64-bit.
#pragma once

#include "mmtune/numeric.cuh"

__device__ constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

__device__ constexpr i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// The position of a tile of C, counted in tiles.
struct TileIndex {
  i64 m;
  i64 n;
};

// The tile that block number `block` of a one-dimensional grid computes. Blocks walk down the columns of a band of
// `group` tile rows, then on to the next band (the last one may be lower), so that neighbours in time share tiles of A
// and of B in the L2 cache; group = 1 walks row by row. For group = 2 and tiles_m = 3, tiles_n = 4:
//
//      0  2  4  6
//      1  3  5  7
//      8  9 10 11
//
// A bijection from [0, tiles_m * tiles_n) for any group >= 1. The product fits 31 bits, as a grid must, so 32-bit
// division is enough.
__device__ constexpr TileIndex tile_of_block(i64 block, i64 tiles_m, i64 tiles_n, int group) {
  const u32 band_rows = static_cast<u32>(smaller(group, tiles_m));
  const u32 band_tiles = band_rows * static_cast<u32>(tiles_n);
  const u32 band = static_cast<u32>(block) / band_tiles;
  const u32 inside = static_cast<u32>(block) - band * band_tiles;
  const u32 first_row = band * band_rows;
  const u32 rows = static_cast<u32>(smaller(band_rows, tiles_m - first_row));
  const u32 column = inside / rows;
  return {first_row + (inside - column * rows), column};
}

// Offset of element [row, column] of op(X) from X, where X is stored row-major with leading dimension ld.
template <bool TRANSPOSED>
__device__ constexpr i64 offset_of(i64 row, i64 column, i64 ld) {
  return TRANSPOSED ? column * ld + row : row * ld + column;
}

// Element [row, column] of op(X)[rows, columns], or zero outside of it: what fills the edge of a tile.
template <bool TRANSPOSED, class Input>
__device__ inline Input element_or_zero(const Input* x, i64 row, i64 column, i64 rows, i64 columns, i64 ld) {
  return row < rows && column < columns ? x[offset_of<TRANSPOSED>(row, column, ld)] : Input{};
}
