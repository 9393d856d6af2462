// What a compute capability fixes: limits of a GPU that is not there, and the rates of every GPU's units.
#pragma once

#include <array>

#include "templates/problem/dtype.h"

namespace mmtune {

/// All have 1024 threads per block, 65536 registers per block and SM, and 48 KiB of shared memory without opting in.
struct Architecture {
  int cc;  ///< the compute capability, 90 for 9.0
  int threads_per_sm;
  int blocks_per_sm;
  int registers_per_thread;
  int smem_per_sm_kib;
  int smem_per_block_kib;  ///< the most after opting in
  int smem_reserved_kib;   ///< the part of every block's share that the system keeps
  int max_cluster_size;
  std::array<int, kUnits> rates;  ///< multiply-adds a clock and SM, dense, by Unit; 0: it has no such unit
};

// Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; 12.1 by the toolkit's
// cuda_occupancy.h, which has 12.0 and 12.1 alike.
//
// Rates of CUDA cores: ibid., "Arithmetic Instructions", rows "16-bit", "32-bit" and "64-bit floating-point add,
// multiply, multiply-add" and "32-bit integer multiply, multiply-add". Compute capabilities 5.x and 6.x have no 32-bit
// integer multiply-add: the table says "multiple instructions", which are three 16-bit XMADs at the fp32 rate.
//
// Rates of tensor cores: NVIDIA's white papers on Volta, Turing, GA100, GA102, Ada, Hopper and RTX Blackwell and the
// B200's data sheet, whose Tflop/s at their clock are these rates (the test PeaksAgreeWithDataSheets). With sums in
// fp32, int32 or fp64; GeForce GPUs are slower, see fma_per_clock_per_sm(). 0 for mma shapes that run as other
// instructions.
//
// Ascending by compute capability.
// clang-format off
inline constexpr std::array kArchitectures{
    //       threads blocks regs  smem KiB  cluster cores: fp32, 64, int32, half2 tensor: fp64, tf32, fp16, bf16, int8, fp8
    Architecture{ 30, 2048, 16,  63,  48,  48, 0, 1, {192,  8, 32,   0,     0,    0,    0,    0,    0,    0}},
    Architecture{ 35, 2048, 16, 255,  48,  48, 0, 1, {192, 64, 32,   0,     0,    0,    0,    0,    0,    0}},
    Architecture{ 50, 2048, 32, 255,  64,  48, 0, 1, {128,  4, 42,   0,     0,    0,    0,    0,    0,    0}},
    Architecture{ 52, 2048, 32, 255,  96,  48, 0, 1, {128,  4, 42,   0,     0,    0,    0,    0,    0,    0}},
    Architecture{ 60, 2048, 32, 255,  64,  48, 0, 1, { 64, 32, 21, 128,     0,    0,    0,    0,    0,    0}},
    Architecture{ 61, 2048, 32, 255,  96,  48, 0, 1, {128,  4, 42,   2,     0,    0,    0,    0,    0,    0}},
    Architecture{ 70, 2048, 32, 255,  96,  96, 0, 1, { 64, 32, 64, 128,     0,    0,  512,    0,    0,    0}},
    Architecture{ 75, 1024, 16, 255,  64,  64, 0, 1, { 64,  2, 64, 128,     0,    0,  512,    0, 1024,    0}},
    Architecture{ 80, 2048, 32, 255, 164, 163, 1, 1, { 64, 32, 64, 256,    64,  512, 1024, 1024, 2048,    0}},
    Architecture{ 86, 1536, 16, 255, 100,  99, 1, 1, {128,  2, 64, 128,     0,  256,  512,  512, 1024,    0}},
    Architecture{ 89, 1536, 24, 255, 100,  99, 1, 1, {128,  2, 64, 128,     0,  256,  512,  512, 1024, 1024}},
    Architecture{ 90, 2048, 32, 255, 228, 227, 1, 8, {128, 64, 64, 256,   128, 1024, 2048, 2048, 4096, 4096}},
    Architecture{100, 2048, 32, 255, 228, 227, 1, 8, {128, 64, 64, 256,    64, 2048, 4096, 4096, 8192, 8192}},
    Architecture{120, 1536, 24, 255, 100,  99, 1, 8, {128,  2, 64, 128,     0,  256,  512,  512, 1024, 1024}},
    Architecture{121, 1536, 24, 255, 100,  99, 1, 8, {128,  2, 64, 128,     0,  256,  512,  512, 1024, 1024}},
};
// clang-format on

/// The row of this compute capability; null if there is none.
constexpr const Architecture* find_architecture(int cc) {
  for (const Architecture& row : kArchitectures) {
    if (row.cc == cc) return &row;
  }
  return nullptr;
}

/// The row of this compute capability, or else of the newest that is older, or else the oldest: what is known of a GPU
/// that is newer than this page.
constexpr const Architecture& nearest_architecture(int cc) {
  const Architecture* nearest = &kArchitectures.front();
  for (const Architecture& row : kArchitectures) {
    if (row.cc <= cc) nearest = &row;
  }
  return *nearest;
}

}  // namespace mmtune
