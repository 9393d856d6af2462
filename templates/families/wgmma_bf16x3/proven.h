// Configurations of `wgmma_bf16x3` that won somewhere, by problem: on an NVIDIA H100 with NVRTC 13.0
// (bench/results/nvidia-h100/bf16_x_fp32_vs_cublas.csv, bf16_x_fp32_sizes_vs_cublas.csv).
#pragma once

#include "templates/family/family.h"

namespace mmtune {

inline std::span<const Proven> proven_wgmma_bf16x3() {
  using enum Precision;
  static constexpr Proven kRows[] = {
      {bf16_x_fp32, 1024, 128, 4096, "BM=128 BN=64 BK=32 CONSUMERS=1 PROMOTE=32 GROUP=1 SPLIT=8 SWAP=1"},
      {bf16_x_fp32, 1024, 160, 5120, "BM=128 BN=64 BK=32 CONSUMERS=1 PROMOTE=32 GROUP=1 SPLIT=5 SWAP=1"},
      {bf16_x_fp32, 1024, 256, 4096, "BM=128 BN=64 BK=32 CONSUMERS=1 PROMOTE=32 GROUP=1 SPLIT=4 SWAP=1"},
      {bf16_x_fp32, 1024, 256, 7168, "BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 GROUP=1 SPLIT=8 SWAP=1"},
      {bf16_x_fp32, 2048, 128, 4096, "BM=128 BN=64 BK=32 CONSUMERS=1 PROMOTE=32 GROUP=1 SPLIT=4 SWAP=1"},
      {bf16_x_fp32, 2048, 160, 5120, "BM=64 BN=160 BK=64 CONSUMERS=1 PROMOTE=32 GROUP=1 SPLIT=4"},
      {bf16_x_fp32, 2048, 192, 5120, "BM=128 BN=96 BK=64 CONSUMERS=2 PROMOTE=32 GROUP=1 SPLIT=4"},
      {bf16_x_fp32, 2048, 256, 7168, "BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 GROUP=16 SPLIT=4 SWAP=1"},
      {bf16_x_fp32, 4096, 128, 7168, "BM=128 BN=128 BK=64 CONSUMERS=2 PROMOTE=32 GROUP=1 SPLIT=4"},
      {bf16_x_fp32, 4096, 160, 5120, "BM=128 BN=160 BK=64 CONSUMERS=2 PROMOTE=32 GROUP=16 SPLIT=4"},
      {bf16_x_fp32, 4096, 256, 7168, "BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 CLUSTER_N=2 GROUP=16 SPLIT=2"},
      {bf16_x_fp32, 8192, 128, 7168, "BM=128 BN=128 BK=64 CONSUMERS=2 PROMOTE=32 GROUP=1 SPLIT=2"},
      {bf16_x_fp32, 8192, 160, 5120, "BM=128 BN=160 BK=64 CONSUMERS=2 PROMOTE=64 GROUP=1 SPLIT=2"},
      {bf16_x_fp32, 8192, 256, 7168, "BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 GROUP=1"},
  };
  return kRows;
}

}  // namespace mmtune
