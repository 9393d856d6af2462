#include <cstddef>
#include <utility>

#include "templates/family/families.h"
#include "tests/shim/kernel_cases.h"

namespace mmtune::shim {
namespace {

void add_default(const Family& family, Precision precision, Layout layout, std::vector<Case>& cases) {
  const Problem problem = typical(precision, layout);
  if (family.legal_plan(problem, family.default_config(problem), device())) {
    cases.push_back({family.name(), precision, layout, ""});
  }
}

}  // namespace

std::vector<Case> covering_cases() {
  constexpr auto kFp32 = Precision::fp32;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  std::vector<Case> cases = {
      {"naive", kFp32, kNt, "MAPPING=3 BX=8 BY=4 COARSE=4"},
      {"tiled", kFp32, kTn, "TILE=4 UNROLL=2"},
      {"tiled_coarsened", kFp32, kNt, "TILE=8 CM=1 CN=2"},
      {"simt", kFp32, kNn, "BM=32 BN=32 TM=4 TN=4 LANES_N=4 LOAD=1 STAGES=3 SPLIT=16"},  // parts without a step
      {"simt",
       kFp32,
       kTt,
       "BM=32 BN=32 TM=4 TN=4 SPLIT=2",
       true,
       {"BM=32 BN=32 TM=4 TN=4 SPLIT=3", "BM=32 BN=32 TM=4 TN=4 SPLIT=5", "BM=32 BN=32 TM=4 TN=4 SPLIT=6",
        "BM=32 BN=32 TM=4 TN=4 SPLIT=7", "BM=32 BN=32 TM=4 TN=4 SPLIT=8", "BM=32 BN=32 TM=4 TN=4 SPLIT=12",
        "BM=32 BN=32 TM=4 TN=4 SPLIT=10", "BM=32 BN=32 TM=4 TN=4 SPLIT=24"}},
      {"simt", kFp32, kTn, "STREAM=1 LOAD=2 STAGES=4 BM=32 BN=32 TM=4 LANES_N=4"},
      {"simt", kFp32, kNt, "STREAM=1 LOAD=2 STAGES=2 PACK=1"},
      {"simt", Precision::fp64, kNn, "STREAM=1 LOAD=1 STAGES=2"},
      {"simt", Precision::fp64, kTn, "LOAD=2 STAGES=4 SPLIT=2"},
      {"simt", Precision::fp64, kTt, "LOAD=1 STAGES=3 TN=2"},
      {"simt", Precision::fp64, kNn, "TN=2 SPLIT=8 REDUCE=1"},
      {"simt", Precision::int32, kTn, "LOAD=1 STAGES=3 PACK=1 SPLIT=4 REDUCE=1"},
      {"simt", Precision::fp16, kTn, "SPLIT=2 REDUCE=1"},
      {"simt", Precision::fp16, kNt, "PACK=1 SPLIT=2"},
      {"simt", kFp32, kNn, "WARPS_K=8 BM=64 BN=32 BK=64 TN=8 LANES_N=4 LOAD=2 STAGES=2"},
      {"simt", kFp32, kTn, "WARPS_K=2 BM=32 BN=32 BK=16 TM=4 TN=8 LANES_N=4 LOAD=1 STAGES=3 SPLIT=4 REDUCE=1"},
      {"simt", Precision::fp64, kNt, "WARPS_K=4 BM=32 BN=32 BK=32 TM=4 TN=4 LANES_N=4 SPLIT=3"},
      {"simt", Precision::fp16, kTt, "WARPS_K=2 BK=16 TN=8 SPLIT=2"},
      {"simt", kFp32, kNn, "CUT=1 BM=32 TM=4 LOAD=2 STAGES=3"},
      {"simt", Precision::fp64, kNt, "CUT=1 PACK=1 LOAD=1 STAGES=2 BK=32"},
      {"skinny", kFp32, kNn, "SIDE=0 FEW=4 OWN=2 UNROLL=2 WARPS=4 WARPS_K=2 SPLIT=4"},
      {"skinny", kFp32, kNn, "SIDE=1 FEW=1 OWN=1 UNROLL=4 WARPS=4 WARPS_K=2 NARROW=1 STAGES=3 LANES=1"},
      {"skinny", Precision::bf16, kTt, "SIDE=0 FEW=1 OWN=1 UNROLL=1 WARPS=8 WARPS_K=1 NARROW=1 STAGES=4 LANES=1"},
      {"skinny", kFp32, kTt, "SIDE=0 FEW=16 OWN=1 UNROLL=2 WARPS=4 WARPS_K=4"},
      {"skinny", kFp32, kNt, "SIDE=1 FEW=4 OWN=1 UNROLL=2 WARPS=4 WARPS_K=4 NARROW=1 STAGES=4 LANES=8"},
      {"skinny", kFp32, kTn, "SIDE=1 FEW=2 OWN=4 UNROLL=8 WARPS=8 WARPS_K=1 SPLIT=2"},
      {"skinny", kFp32, kTt, "SIDE=1 FEW=2 OWN=2 UNROLL=8 WARPS=4 WARPS_K=2 NARROW=1 LANES=8"},
      {"skinny", Precision::fp64, kNt, "SIDE=1 FEW=1 OWN=1 UNROLL=4 WARPS=4 WARPS_K=2 NARROW=1 STAGES=2"},
      {"skinny", Precision::fp16, kTn, "SIDE=1 FEW=1 OWN=2 UNROLL=8 WARPS=4 WARPS_K=2 NARROW=1 LANES=8"},
      {"skinny", Precision::int8, kNt, "SIDE=0 FEW=2 OWN=4 UNROLL=1 WARPS=4 WARPS_K=1 NARROW=1"},
      {"skinny", Precision::e4m3_bf16, kNt, "SIDE=1 FEW=1 OWN=2 UNROLL=1 WARPS=4 WARPS_K=2 NARROW=1"},
      {"skinny", Precision::e5m2_fp32, kTn, "SIDE=0 FEW=1 OWN=1 UNROLL=2 WARPS=4 WARPS_K=1 NARROW=1 LANES=8"},
      {"mma_sync", Precision::fp16, kNn, "BM=32 BN=64 BK_BYTES=32 WM=16 WN=32 STAGES=2"},
      {"mma_sync", Precision::fp16, kTt, "BM=64 BN=32 BK_BYTES=128 WM=32 WN=16 STAGES=3 SPLIT=4"},
      {"mma_sync", Precision::tf32, kTt, "BK_BYTES=128 STAGES=2 SPLIT=2"},
      {"mma_sync", Precision::fp64, kNt, "BK_BYTES=128"},
      {"mma_sync", Precision::e4m3_fp32, kNt, "BK_BYTES=32"},
      {"mma_sync", Precision::e5m2_bf16, kNn, ""},
      {"mma_sync", Precision::fp64, kNn, "STREAM=1 BM=32 BN=32 BK_BYTES=64 WM=16 WN=16 STAGES=2"},
      {"mma_sync", Precision::fp16_fp32, kNt, "STREAM=1 BK_BYTES=32"},
      {"mma_sync", Precision::tf32, kTn, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"mma_sync", Precision::int8, kNn, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"mma_sync", Precision::bf16, kNt, "PACK=1 STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"mma_sync", Precision::fp16, kTn, "PACK=2 SPLIT=2"},
      {"wgmma", Precision::fp16, kTn, "BM=64 BN=64 PINGPONG=1 GROUP=4 LATE=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=192 BN=192 CONSUMERS=3"},
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=176 BN=64 CONSUMERS=1 SPLIT=4"},
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=208 BN=64 CONSUMERS=1 SPLIT=8"},
      {"wgmma", Precision::fp16, kTt, "BM=256 BN=160 CLUSTER_N=2"},  // a buffer, so that there are four stages
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=320 BN=64 CONSUMERS=1 GROUP=16"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=136 BN=64 CONSUMERS=1 CLUSTER_M=2 OWN_PARTS=2"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=96 CONSUMERS=1 SPLIT=6"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=24 CONSUMERS=1"},  // lines of C of 32 bytes that overlap
      {"wgmma", Precision::bf16_fp32, kTt, "BM=64 BN=80 CONSUMERS=1 MIN_BLOCKS=2"},
      {"wgmma", Precision::fp16, kNn, "BM=64 BN=64 CONSUMERS=1 PACK=1"},
      {"wgmma", Precision::bf16, kNn, "BM=64 BN=192 CONSUMERS=1 SPLIT=3 REDUCE=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=160 BN=128 CLUSTER_M=2 CLUSTER_N=2"},
      {"wgmma", Precision::bf16, kNt, "SWAP=1 BM=16 BN=40 CONSUMERS=1 CLUSTER_N=2"},  // columns of no tile
      {"wgmma", Precision::fp16_fp32, kTt, "SWAP=1 BM=32 BN=88 CONSUMERS=1 SPLIT=3 REDUCE=1"},
      {"wgmma", Precision::bf16, kNt, "BM=64 BN=64 CONSUMERS=1 SPLIT=7 REDUCE=1"},  // four of seven blocks add
      {"wgmma", Precision::fp16, kNt, "BM=128 BN=208 SPLIT=12"},
      {"wgmma", Precision::bf16, kNt, "BM=64 BN=272 CONSUMERS=1"},  // two instructions, and boxes of 136 rows of B
      {"wgmma", Precision::fp16, kNn, "BM=64 BN=152 CONSUMERS=1 CLUSTER_M=2"},  // lines of B that end beyond the tile
      {"wgmma", Precision::bf16, kTn, "SWAP=1 BM=168 BN=64 CONSUMERS=1 CLUSTER_N=2 GROUP=1"},
      {"wgmma", Precision::fp16_fp32, kTn, "SWAP=1 BM=32 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::tf32, kTt, "BM=64 BN=64 PINGPONG=1"},  // rows of C from registers
      {"wgmma", Precision::tf32, kNt, "SWAP=1 BM=48 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::int8, kTn, "BM=64 BN=32 CONSUMERS=1"},
      {"wgmma", Precision::int8, kNt, "SWAP=1 BM=48 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::e4m3_fp32, kNt, "SWAP=1 BM=32 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::e5m2_bf16, kNt, "BN=192"},  // It has no registers for two sums.
      {"wgmma_fp16x3", Precision::fp32_emulated, kNn, "BM=64 BN=64 BK=64 CONSUMERS=1 PROMOTE=64"},
      {"wgmma_bf16x3", Precision::bf16_x_fp32, kNt, "BM=64 BN=64 CONSUMERS=1 SWAP=1"},
      {"wgmma_bf16x3", Precision::bf16_x_fp32, kNn, "BM=64 BN=64 CONSUMERS=1 SWAP=1 CLUSTER_M=2 SPLIT=2"},
      {"wgmma_fp16x3", Precision::fp32_emulated, kTt, "BM=64 BN=64 CONSUMERS=1", true},
      {"wgmma_bf16x3", Precision::bf16_x_fp32, kTt, "BM=64 BN=64 CONSUMERS=1", true},
      {"mma_fp16x3", Precision::fp32_emulated, kTn, "BM=32 BN=128 BK_BYTES=32 WM=32 WN=64 AHEAD=0 SPLIT=8", true},
      {"simt", Precision::bf16_x_fp32, kNt, ""},
  };
  for (const Family* family : families()) {
    const Precision shown = shown_in(*family);
    add_default(*family, shown, kNn, cases);
    for (const auto& [precision, layout] :
         {std::pair{Precision::fp64, kTn}, {Precision::int32, kNn}, {Precision::fp16, kNt}, {Precision::bf16, kTt}}) {
      if (precision != shown) add_default(*family, precision, layout, cases);
    }
  }
  return cases;
}

std::vector<Case> further_cases() {
  constexpr auto kFp32 = Precision::fp32;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  std::vector<Case> cases = {
      {"naive", kFp32, kNn, "MAPPING=0 BX=1 BY=1"},
      {"naive", kFp32, kTn, "MAPPING=1 BX=8 BY=16"},
      {"naive", kFp32, kTt, "MAPPING=3 BX=2 BY=2 COARSE=16 UNROLL=1"},
      {"simt", kFp32, kNn, "BM=96 BN=32 TM=2 TN=8 LANES_N=4 ORDER=2 GROUP=1 SPLIT=4 REDUCE=1"},
      {"simt", kFp32, kNt, "BM=32 BN=32 TM=4 TN=4 SPLIT=8 REDUCE=1"},
      {"simt", kFp32, kNn, "BM=32 TM=2 TN=4 SPLIT=8 REDUCE=1"},  // a sum of a thread for each block
      {"simt", kFp32, kTt, "BM=32 BN=32 BK=32 TM=4 TN=4 LANES_N=4 ORDER=0 UNROLL=16 SPLIT=4"},
      {"simt", kFp32, kNn, "LOAD=1 STAGES=3 BM=32 BK=16 TM=4"},
      {"simt", kFp32, kTn, "LOAD=1 STAGES=2 BM=32 BN=96 TM=4 SPLIT=2 REDUCE=1"},
      {"simt", kFp32, kTt, "LOAD=1 STAGES=4 SPLIT=2"},
      {"simt", kFp32, kNt, "LOAD=1 STAGES=3 PACK=1 SPLIT=2"},
      {"simt", kFp32, kNn, "LOAD=2 STAGES=4 BN=32 GROUP=1"},
      {"simt", kFp32, kNt, "LOAD=3 STAGES=3 BM=32 BK=16 TM=4"},
      {"simt", kFp32, kNn, "LOAD=3 STAGES=4 SPLIT=2 REDUCE=1"},
      {"simt", kFp32, kTt, "STREAM=1 LOAD=3 STAGES=2 LANES_N=4"},
      {"simt", kFp32, kTn, "LOAD=2 STAGES=3 SPLIT=4"},
      {"simt", kFp32, kTt, "LOAD=2 STAGES=2 BK=16 UNROLL=16"},
      {"simt", kFp32, kNt, "LOAD=2 STAGES=3 PACK=1 SPLIT=2 REDUCE=1"},
      {"simt", kFp32, kTn, "LOAD=2 STAGES=3 PACK=1 SPLIT=2"},
      {"simt", kFp32, kNn, "STREAM=1 BM=32 TM=4"},
      {"simt", kFp32, kTt, "STREAM=1 LOAD=1 STAGES=3 BN=32 MIN_BLOCKS=2"},
      {"simt", Precision::fp64, kNn, "LOAD=3 STAGES=3"},
      {"skinny", kFp32, kNt, "SIDE=0 FEW=2 OWN=2 UNROLL=8 WARPS=4 WARPS_K=1 NARROW=1 STAGES=2 LANES=1 SPLIT=2"},
      {"skinny", kFp32, kNt, "SIDE=1 FEW=8 OWN=2 UNROLL=1 WARPS=4 WARPS_K=2"},
      {"skinny", kFp32, kNn, "SIDE=1 FEW=1 OWN=2 UNROLL=2 WARPS=4 WARPS_K=2 NARROW=1 STAGES=3 SPLIT=2"},
      {"skinny", Precision::bf16, kNn, "SIDE=1 FEW=1 OWN=2 UNROLL=2 WARPS=4 WARPS_K=1 NARROW=1"},
      {"skinny", Precision::bf16, kNn, "SIDE=0 FEW=1 OWN=1 UNROLL=4 WARPS=4 WARPS_K=4 NARROW=1 LANES=8"},
      {"skinny", Precision::fp16, kTt, "SIDE=0 FEW=1 OWN=1 UNROLL=4 WARPS=4 WARPS_K=1 NARROW=1"},
      {"skinny", Precision::int8, kNn, "SIDE=0 FEW=1 OWN=1 UNROLL=4 WARPS=4 WARPS_K=2 NARROW=1 LANES=16"},
      {"mma_sync", Precision::bf16, kTn, "BM=32 BN=128 WM=16 WN=64 STAGES=4"},
      {"mma_sync", Precision::tf32, kNn, ""},
      {"mma_sync", Precision::int8, kNt, ""},
      {"mma_sync", Precision::int8, kTn, "BK_BYTES=32"},
      {"mma_sync", Precision::fp64, kTt, "STREAM=1 BK_BYTES=128"},
      {"mma_sync", Precision::fp16, kNn, "STREAM=1 BM=32 BN=64 BK_BYTES=32 WM=16 WN=32 MIN_BLOCKS=2"},
      {"mma_sync", Precision::bf16, kTn, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16 STAGES=4"},
      {"mma_sync", Precision::bf16_fp32, kTt, "STREAM=1 BM=32 BK_BYTES=32 WM=16"},
      {"mma_sync", Precision::e4m3_bf16, kNt, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"mma_sync", Precision::e4m3_fp32, kTt, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"mma_sync", Precision::e5m2_bf16, kTn, "STREAM=1 BK_BYTES=32"},
      {"mma_sync", Precision::e5m2_fp32, kNn, "STREAM=1 BK_BYTES=32 BM=32 WM=16"},
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=16 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kTn, "SWAP=1 BM=32 BN=64 CONSUMERS=1 GROUP=1"},  // A in lines of 64 bytes
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=48 BN=64 PINGPONG=1"},
      {"wgmma", Precision::fp16, kNn, "BM=64 BN=32 CONSUMERS=1"},  // B and C in lines of 64 bytes
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=80 BN=128 CLUSTER_M=2"},
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=96 BN=256 CLUSTER_N=4"},
      {"wgmma", Precision::fp16, kNn, "SWAP=1 BM=144 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::bf16, kNn, "BM=64 BN=64 CONSUMERS=1 CLUSTER_M=2 CLUSTER_N=2"},
      {"wgmma", Precision::fp16, kTn, "BM=192 BN=64 CONSUMERS=3 CLUSTER_M=4"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=224 BN=64 CONSUMERS=1 SPLIT=2 REDUCE=1"},
      {"wgmma", Precision::fp16, kTt, "BM=64 BN=320 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kTt, "BM=64 BN=272 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=272 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::bf16, kNn, "BM=192 BN=224 CONSUMERS=3"},  // two instructions of a fragment
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=208 BN=192 CONSUMERS=3"},
      {"wgmma", Precision::fp16, kTt, "BM=64 BN=224 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNn, "BM=64 BN=224 CONSUMERS=1"},  // four lines, the last half filled
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=160 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=88 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::bf16, kNn, "SWAP=1 BM=72 BN=64 CONSUMERS=1 CLUSTER_M=2 CLUSTER_N=4"},
      {"wgmma", Precision::e4m3_bf16, kNt, "SWAP=1 BM=72 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::bf16, kNt, "SWAP=1 BM=56 BN=72 CONSUMERS=1"},
      {"wgmma", Precision::fp16_fp32, kNn, "SWAP=1 BM=56 BN=64 CONSUMERS=1"},  // lines of C that overlap
      {"wgmma", Precision::bf16, kNn, "SWAP=1 BM=40 BN=64 CONSUMERS=1 SPLIT=4 REDUCE=1"},
      {"wgmma", Precision::tf32, kNt, "SWAP=1 BM=40 BN=128 CLUSTER_N=2"},
      {"wgmma", Precision::bf16, kNn, "SWAP=1 BM=24 BN=128 SPLIT=4"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=152 BN=64 CONSUMERS=1 LATE=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=240 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=232 CONSUMERS=1"},
      {"wgmma", Precision::bf16, kNn, "SWAP=1 BM=200 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=232 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=168 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "SWAP=1 BM=104 BN=64 CONSUMERS=1 CLUSTER_N=2"},  // shares of 52 lines
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=104 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=152 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=168 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BN=136 BM=64 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BN=112 CLUSTER_N=2"},  // lines of C that overlap
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=176 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kTn, "BM=256 BN=64"},
      {"wgmma", Precision::fp16, kTt, "BM=64 BN=64 CONSUMERS=1 SPLIT=4 REDUCE=1"},
      {"wgmma", Precision::fp16, kNt, "BM=128 BN=32 SPLIT=16"},
      {"wgmma", Precision::fp16, kNn, "BM=64 BN=64 CONSUMERS=1 SPLIT=32"},
      {"wgmma", Precision::bf16, kTn, "SWAP=1 BM=64 BN=128 PINGPONG=1"},
      {"wgmma", Precision::bf16_fp32, kNt, "BM=64 BN=32 CONSUMERS=1"},
      {"wgmma", Precision::bf16_fp32, kNt, "BM=64 BN=24 CONSUMERS=1"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=40 CONSUMERS=1 CLUSTER_M=4"},  // shares of ten lines
      {"wgmma", Precision::fp16, kTt, "BM=64 BN=48 CONSUMERS=1 SPLIT=3 REDUCE=1"},
      {"wgmma", Precision::fp16, kNt, "BM=64 BN=56 CONSUMERS=1 MIN_BLOCKS=2"},
      {"wgmma", Precision::fp16, kTt, "BM=128 BN=72 PINGPONG=1"},
      {"wgmma", Precision::tf32, kNn, ""},  // columns of C from registers
      {"wgmma", Precision::tf32, kTn, "BM=64 BN=64 CONSUMERS=1 PACK=1"},
      {"wgmma", Precision::tf32, kNt, "BM=64 BN=40 CONSUMERS=1"},
      {"wgmma", Precision::int8, kNt, "BM=64 BN=48 CONSUMERS=1"},
      {"wgmma", Precision::e4m3_bf16, kNt, "BM=64 CONSUMERS=1"},
      {"wgmma", Precision::e4m3_bf16, kNt, "BM=64 BN=72 CONSUMERS=1"},
      {"wgmma_bf16x3", Precision::bf16_x_fp32, kNt, "BM=64 BN=64 BK=64 CONSUMERS=1 PROMOTE=64"},
  };
  std::vector<Case> all = covering_cases();
  const auto first = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), cases.begin(), cases.end());
  for (const Family* family : families()) {
    for (const Layout layout : {kNt, kTn, kTt}) add_default(*family, shown_in(*family), layout, all);
    add_missing_values(*family, all);
  }
  return {all.begin() + first, all.end()};
}

}  // namespace mmtune::shim
