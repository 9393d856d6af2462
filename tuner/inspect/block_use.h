// What blocks take of a streaming multiprocessor, as a table and as the curves of an occupancy calculator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "templates/gpu/occupancy.h"
#include "tuner/lanes/program.h"
#include "tuner/text/chart.h"
#include "tuner/text/report.h"

namespace mmtune {

/// Blocks of one kind on one device.
struct BlockUse {
  DeviceSpec device;
  BlockResources block;
  std::optional<Problem> problem = {};  ///< the problem; nothing: a block by itself
  std::string kernel = {};              ///< "tiled TILE=16 UNROLL=16"; empty: a block by itself
  std::int64_t grid_blocks = 0;         ///< the blocks of the step that multiplies
  bool is_compiled = true;              ///< false: registers are what the family expects
};

/// The block use of the step that multiplies.
BlockUse block_use_of(const Program& program, const DeviceSpec& device);

/// csv and json: device,threads,registers,smem_bytes,blocks_per_sm,limit,active_warps,occupancy; behind them the blocks
/// that each limit alone allows, the kernel, how its grid fills the GPU, and what would raise the occupancy.
Table occupancy_table(const std::vector<BlockUse>& uses, Format format);

/// Active warps against block size, registers and shared memory, with a series for each use; the mark is the block of
/// the first.
std::vector<Chart> occupancy_charts(const std::vector<BlockUse>& uses);

}  // namespace mmtune
