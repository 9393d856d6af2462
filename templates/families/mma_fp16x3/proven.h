// Configurations of `mma_fp16x3` that won somewhere, by problem: on an NVIDIA H100 with NVRTC 13.0
// (bench/results/nvidia-h100/emulation_mma_vs_cublas.csv).
#pragma once

#include "templates/family/family.h"

namespace mmtune {

inline std::span<const Proven> proven_mma_fp16x3() {
  using enum Precision;
  static constexpr Proven kRows[] = {
      {fp32_emulated, 512, 512, 512, "BM=64 BN=64 BK_BYTES=128 WM=32 WN=32 STAGES=5 AHEAD=1 GROUP=4 SPLIT=2"},
      {fp32_emulated, 1024, 1024, 1024, "BM=64 BN=64 BK_BYTES=128 WM=32 WN=32 STAGES=2 AHEAD=1 MIN_BLOCKS=2 GROUP=1"},
      {fp32_emulated, 4096, 4096, 4096, "BM=64 BN=128 BK_BYTES=64 WM=64 WN=64 STAGES=2 AHEAD=0 MIN_BLOCKS=2 GROUP=1"},
      {fp32_emulated, 4096, 4096, 4096, "BM=128 BN=128 BK_BYTES=64 WM=64 WN=64 STAGES=3 AHEAD=0 MIN_BLOCKS=2 GROUP=4"},
      {fp32_emulated, 8192, 8192, 8192, "BM=128 BN=128 BK_BYTES=32 WM=64 WN=64 STAGES=5 AHEAD=0 GROUP=16"},
  };
  return kRows;
}

}  // namespace mmtune
