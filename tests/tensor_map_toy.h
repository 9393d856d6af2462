// A toy kernel that reads a matrix through a tensor map of three dimensions, for tests on the simulated machine and on
// a GPU: pieces of a row, as wide as the swizzle, lie one behind the other in shared memory.
//
//      A[m,k], k a multiple of COLUMNS          shared memory of a block: 2 boxes of kPieces / 2 pieces
//      ┌────────┬────────┬─                     ┌────────┐
//      │ piece 0│ piece 1│  ...  ROWS of it     │ piece 0│ ROWS rows of COLUMNS elements, swizzled
//      └────────┴────────┴─                     ├────────┤
//        COLUMNS                                │ piece 1│ ...
//
//      C[i,j] = A[i,j], and 0 in the columns that A has not
#pragma once

#include <fmt/format.h>

#include <string>

#include "templates/plan/launch_plan.h"

namespace mmtune::test {

/// A problem fp32 nn: C is m x n, A is m x k, B is not read.
struct TensorMapToy {
  int swizzle_bytes = 128;

  static constexpr int kRows = 24;
  static constexpr int kPieces = 6;
  static constexpr int kThreads = 64;

  int columns() const { return swizzle_bytes > 0 ? swizzle_bytes / 4 : 12; }
  int box_bytes() const { return kPieces / 2 * kRows * columns() * 4; }

  LaunchPlan plan(const Problem& problem) const {
    LaunchPlan plan;
    plan.needs = {16, 4, 4};
    const Arg map = plan.add_map({.name = "A",
                                  .base = Arg::operand(Operand::a),
                                  .format = MapFormat::f32,
                                  .dimensions = {{columns(), columns()},
                                                 {problem.m, kRows, {.rows = 1}},
                                                 {problem.k / columns(), kPieces / 2, {.bytes = 4 * columns()}}},
                                  .swizzle_bytes = swizzle_bytes});
    plan.steps.push_back(
        {.grid = {(problem.m + kRows - 1) / kRows},
         .block = {kThreads},
         .smem_bytes = 2 * box_bytes() + 16,
         .args = {map, Arg::extent(Extent::m), Arg::extent(Extent::n), Arg::operand(Operand::c), Arg::ld(Operand::c)}});
    return plan;
  }

  /// The rendered source.
  std::string text() const {
    return fmt::format(
               "#include \"mmtune/tma.cuh\"\nconstexpr int SWIZZLE = {}, COLUMNS = {}, ROWS = {}, PIECES = {};\n",
               swizzle_bytes, columns(), kRows, kPieces) +
           R"(
constexpr int BOX_BYTES = PIECES / 2 * ROWS * COLUMNS * 4;

extern "C" __global__ void gemm(const __grid_constant__ TensorMap map, i64 m, i64 n, float* C, i64 ldc) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned full = shared_address(memory + 2 * BOX_BYTES);
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    barrier_expect(full, 2 * BOX_BYTES);
    const int row = static_cast<int>(blockIdx.x) * ROWS;
    copy_box(shared_address(memory), &map, full, 0, row, 0);
    copy_box(shared_address(memory + BOX_BYTES), &map, full, 0, row, PIECES / 2);
  }
  barrier_wait(full, 0);
  for (int e = threadIdx.x; e < PIECES * ROWS * COLUMNS; e += 64) {
    const int line = e / COLUMNS;  // the line of shared memory
    const i64 row = static_cast<i64>(blockIdx.x) * ROWS + line % ROWS;
    const i64 column = line / ROWS * COLUMNS + e % COLUMNS;
    int chunk = e % COLUMNS / 4;  // the number of the 16 bytes
    if (SWIZZLE > 0) chunk ^= line / (128 / SWIZZLE) % (SWIZZLE / 16);
    const float* const values = reinterpret_cast<const float*>(memory) + line * COLUMNS + chunk * 4;
    if (row < m && column < n) C[row * ldc + column] = values[e % 4];
  }
}
)";
  }
};

}  // namespace mmtune::test
