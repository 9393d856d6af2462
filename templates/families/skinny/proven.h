// Configurations of `skinny` that won somewhere, by problem: on an NVIDIA H200 with NVRTC 13.0
// (bench/results/nvidia-h200/tensor_vs_cublas.csv), and of searches that tried every candidate of a list.
#pragma once

#include "templates/family/family.h"

namespace mmtune {

inline std::span<const Proven> proven_skinny() {
  using enum Precision;
  static constexpr Proven kRows[] = {
      {fp16, 1, 8192, 8192, "SIDE=0 FEW=1 OWN=1 UNROLL=8 WARPS=8 WARPS_K=8 MIN_BLOCKS=4 NARROW=1 STAGES=3 LANES=8"},
      {fp16, 8192, 1, 8192, "SIDE=1 FEW=1 OWN=2 UNROLL=1 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=3 LANES=32"},
      {bf16, 1, 8192, 8192,
       "SIDE=0 FEW=1 OWN=1 UNROLL=8 WARPS=4 WARPS_K=2 MIN_BLOCKS=4 SPLIT=16 NARROW=1 STAGES=2 LANES=16"},
      {bf16, 8192, 1, 8192, "SIDE=1 FEW=1 OWN=2 UNROLL=1 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=4 LANES=32"},
      {fp64, 1, 8192, 8192,
       "SIDE=0 FEW=1 OWN=4 UNROLL=2 WARPS=4 WARPS_K=4 MIN_BLOCKS=4 SPLIT=2 NARROW=1 STAGES=3 LANES=8"},
      {fp64, 8192, 1, 8192, "SIDE=1 FEW=1 OWN=2 UNROLL=1 WARPS=8 WARPS_K=2 MIN_BLOCKS=4 NARROW=1 STAGES=3 LANES=32"},
      {int8, 1, 8192, 8192, "SIDE=0 FEW=1 OWN=2 UNROLL=1 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=3 LANES=32"},
      {int8, 8192, 1, 8192, "SIDE=1 FEW=1 OWN=2 UNROLL=2 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=2 LANES=32"},
      {e4m3_bf16, 1, 8192, 8192,
       "SIDE=0 FEW=1 OWN=2 UNROLL=2 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=2 LANES=32"},
      {e4m3_bf16, 8192, 1, 8192,
       "SIDE=1 FEW=1 OWN=4 UNROLL=2 WARPS=4 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=2 LANES=32"},
  };
  return kRows;
}

}  // namespace mmtune
