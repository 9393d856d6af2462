// Stands in for templates/device/matrices.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include <string.h>

#include "mmtune/numeric.cuh"
#include "tensor_core.h"

inline void load_matrices(u32 (&at)[4], unsigned row) {
  const mmtune::shim::MatrixRows rows(row);
  const int lane = mmtune::shim::lane();
  for (int matrix = 0; matrix < 4; ++matrix) memcpy(&at[matrix], rows.find(matrix, lane / 4, lane % 4 * 4, 4), 4);
}
inline void load_transposed_matrices(u32 (&at)[4], unsigned row) {
  const mmtune::shim::MatrixRows rows(row);
  const int lane = mmtune::shim::lane();
  for (int matrix = 0; matrix < 4; ++matrix) {
    unsigned short pair[2];
    for (int i = 0; i < 2; ++i) memcpy(&pair[i], rows.find(matrix, lane % 4 * 2 + i, lane / 4 * 2, 2), 2);
    memcpy(&at[matrix], pair, 4);
  }
}

inline void store_matrices(unsigned address, u32 m0, u32 m1, u32 m2, u32 m3) {
  const mmtune::shim::MatrixRows rows(address);
  const int lane = mmtune::shim::lane();
  const u32 pairs[] = {m0, m1, m2, m3};
  for (int matrix = 0; matrix < 4; ++matrix) memcpy(rows.find(matrix, lane / 4, lane % 4 * 4, 4), &pairs[matrix], 4);
}
inline void store_transposed_matrices(unsigned address, u32 m0, u32 m1, u32 m2, u32 m3) {
  const mmtune::shim::MatrixRows rows(address);
  const int lane = mmtune::shim::lane();
  const u32 pairs[] = {m0, m1, m2, m3};
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int i = 0; i < 2; ++i) {
      const auto element = static_cast<unsigned short>(pairs[matrix] >> 16 * i);
      memcpy(rows.find(matrix, lane % 4 * 2 + i, lane / 4 * 2, 2), &element, 2);
    }
  }
}

inline u32 transposed_matrix(u32 pair) {
  unsigned short rows[32][2];
  mmtune::shim::gather(&pair, rows, sizeof(pair));
  const int lane = mmtune::shim::lane();
  unsigned short column[2];
  for (int i = 0; i < 2; ++i) column[i] = rows[(lane % 4 * 2 + i) * 4 + lane / 8][lane / 4 % 2];
  u32 transposed;
  memcpy(&transposed, column, sizeof(transposed));
  return transposed;
}
