// Configurations of `wgmma_fp16x3` that won somewhere, by problem: on an NVIDIA H200 or H100 with NVRTC 13.0
// (bench/results/nvidia-h200/ and nvidia-h100/emulation_vs_cublas.csv).
#pragma once

#include "templates/family/family.h"

namespace mmtune {

inline std::span<const Proven> proven_wgmma_fp16x3() {
  using enum Precision;
  static constexpr Proven kRows[] = {
      {fp32_emulated, 1024, 1024, 1024, "BM=128 BN=64 BK=64 CONSUMERS=2 PROMOTE=64 GROUP=1"},
      {fp32_emulated, 1536, 1536, 1536, "BM=128 BN=160 BK=64 CONSUMERS=2 PROMOTE=64 CLUSTER_M=2 GROUP=8"},
      {fp32_emulated, 2048, 2048, 2048, "BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 CLUSTER_N=2 GROUP=16"},
      {fp32_emulated, 2047, 2049, 2051, "BM=256 BN=64 BK=64 CONSUMERS=2 PROMOTE=32 CLUSTER_M=2 GROUP=1"},
      {fp32_emulated, 3072, 3072, 3072, "BM=128 BN=192 BK=64 CONSUMERS=2 PROMOTE=64 GROUP=4"},
      {fp32_emulated, 3072, 3072, 3072, "BM=192 BN=96 BK=64 CONSUMERS=3 PROMOTE=64 GROUP=1"},
      {fp32_emulated, 4096, 4096, 4096, "BM=128 BN=192 BK=64 CONSUMERS=2 PROMOTE=64 CLUSTER_M=2 GROUP=4"},
      {fp32_emulated, 4096, 4096, 4096, "BM=128 BN=128 BK=64 CONSUMERS=2 PROMOTE=64 CLUSTER_N=2 GROUP=4"},
      {fp32_emulated, 4096, 4096, 4096, "BM=128 BN=128 BK=64 CONSUMERS=2 PROMOTE=64 GROUP=1"},
      {fp32_emulated, 4096, 4096, 4096, "BM=128 BN=160 BK=64 CONSUMERS=2 PROMOTE=64 CLUSTER_M=2 GROUP=8"},
      {fp32_emulated, 8192, 8192, 8192, "BM=128 BN=192 BK=64 CONSUMERS=2 PROMOTE=64 GROUP=16"},
  };
  return kRows;
}

}  // namespace mmtune
