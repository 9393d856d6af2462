// The parameters of the family simt: names, values and what they mean.
#pragma once

#include "templates/family/family_of.h"

namespace mmtune {

struct SimtParams {
  Param bm{64}, bn{64}, bk{8}, tm{8}, tn{4}, lanes_n{8}, load{0}, stages{2}, unroll{8}, order{1}, group{8},
      min_blocks{1}, split{1}, reduce{0}, pack{0}, stream{0}, cut{0}, warps_k{1};
};

inline const ParamTable<SimtParams>& simt_params() {
  static const ParamTable<SimtParams> rows = {
      {"BM", &SimtParams::bm, {16, 32, 64, 96, 128, 192, 256}, "rows of C per block"},
      {"BN", &SimtParams::bn, {16, 32, 64, 96, 128, 192, 256}, "columns of C per block"},
      {"BK", &SimtParams::bk, {8, 16, 32, 64}, "steps along k per stage"},
      {"TM", &SimtParams::tm, {2, 4, 8, 16}, "rows of C per thread"},
      {"TN", &SimtParams::tn, {2, 4, 8, 16}, "columns of C per thread"},
      {"LANES_N", &SimtParams::lanes_n, {4, 8}, "threads of a warp along the columns"},
      {"LOAD",
       &SimtParams::load,
       {{0, "registers"}, {1, "cp.async"}, {2, "TMA"}, {3, "cp.async-transposed"}},
       "copies of operands; of those along k only the last, else through registers"},
      {"STAGES", &SimtParams::stages, {2, 3, 4}, "tiles of A and B in shared memory"},
      {"UNROLL", &SimtParams::unroll, {8, 16}, "steps along k per round of unrolled code"},
      {"ORDER",
       &SimtParams::order,
       {{0, "rows"}, {1, "serpentine"}, {2, "columns"}},
       "order of a thread's multiply-adds"},
      {"GROUP", &SimtParams::group, {1, 8}, "block rows walked together, for reuse in L2"},
      {"MIN_BLOCKS", &SimtParams::min_blocks, {1, 2, 3, 4}, "blocks per SM that the registers must allow"},
      {"PACK", &SimtParams::pack, {0, 1}, "1: operands along k or not aligned are first copied to the workspace"},
      {"SPLIT",
       &SimtParams::split,
       {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 256},
       "blocks that share one tile's k"},
      {"REDUCE", &SimtParams::reduce, {{0, "kernel"}, {1, "cluster"}}, "what adds the sums of a split tile"},
      {"STREAM", &SimtParams::stream, {0, 1}, "1: resident blocks take tiles in turn and share those of the last wave"},
      {"CUT", &SimtParams::cut, {0, 1}, "1: a block adds up the parts of an invariant product's k one after the other"},
      {"WARPS_K",
       &SimtParams::warps_k,
       {1, 2, 4, 8},
       "warps that have the same results and divide the steps of a stage"},
  };
  return rows;
}

}  // namespace mmtune
