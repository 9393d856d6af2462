// Matrices of eight rows of 16 bytes in shared memory, which a warp reads (sm_75 and later) and writes (sm_90 and later)
// four at a time. Shared memory addresses are the 32-bit values of shared_address().
#pragma once

#include "mmtune/numeric.cuh"

// Four matrices of eight rows of 16 bytes in shared memory: lane l gives where row l % 8 of matrix l / 8 begins and
// gets the 4 bytes number l % 4 of row l / 4 of each. PTX ISA: ldmatrix.
__device__ __forceinline__ void load_matrices(u32 (&at)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
               : "r"(row)
               : "memory");
}
// The same of 16-bit elements, each matrix transposed: lane l gets elements 2 (l % 4) and the next of column l / 4.
__device__ __forceinline__ void load_transposed_matrices(u32 (&at)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
               : "r"(row)
               : "memory");
}

// An 8 x 8 matrix of 16-bit elements, transposed: lane l gives elements 2 (l % 4) and the next of row l / 4, packed, and
// gets those of the transposed matrix. PTX ISA: movmatrix.
__device__ __forceinline__ u32 transposed_matrix(u32 pair) {
  u32 transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

// Stores four 8 x 8 matrices of 16-bit elements, whose rows begin at the addresses of eight lanes each: lane l gives
// row l % 8 of matrix l / 8. Every lane has two neighbours of row lane / 4 of each, packed. PTX ISA: stmatrix.
__device__ __forceinline__ void store_matrices(unsigned address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3)
               : "memory");
}
// The same, each matrix transposed: lane l gives where column l % 8 of matrix l / 8 begins.
__device__ __forceinline__ void store_transposed_matrices(unsigned address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0),
               "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}
