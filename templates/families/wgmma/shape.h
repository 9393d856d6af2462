// What follows from a configuration of the family `wgmma`: how its tiles, threads and shared memory are divided, and
// how its operands lie there.
#pragma once

#include <algorithm>

#include "templates/base/round_up.h"
#include "templates/family/param.h"
#include "templates/gpu/device_spec.h"
#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"
#include "templates/problem/tiling.h"

namespace mmtune::wgmma_shape {

struct Params {
  Param bm{128}, bn{128}, consumers{2}, pingpong{0}, cluster_m{1}, cluster_n{1}, swap{0}, group{8}, split{1}, pack{0},
      reduce{0}, stream{0}, min_blocks{1}, own_parts{1}, late{0}, fetch{128};
};

inline constexpr int kLine = 128;       ///< the bytes of a line of a tile in shared memory
inline constexpr int kFragment = 64;    ///< the rows of an instruction
inline constexpr int kWarpgroup = 128;  ///< the number of threads
inline constexpr int kMostStages = 16;

inline int bk(const Problem& problem) { return kLine / traits(problem.precision).a.bytes; }
/// The extents of a tile that an instruction's rows and its columns are parts of.
inline int rows(const Params& p) { return p.swap == 1 ? p.bn : p.bm; }
inline int columns(const Params& p) { return p.swap == 1 ? p.bm : p.bn; }
inline int consumer_rows(const Params& p) { return p.pingpong == 1 ? rows(p) : rows(p) / p.consumers; }
inline int threads(const Params& p) { return (p.consumers + 1) * kWarpgroup; }
inline int fragments(const Params& p) { return (consumer_rows(p) + kFragment - 1) / kFragment; }
/// The sums of a thread, and of a block.
inline int sums(const Params& p) { return fragments(p) * kFragment * columns(p) / kWarpgroup; }
inline int block_sums(const Params& p) { return sums(p) * kWarpgroup * p.consumers; }
/// The blocks of a cluster that add a tile's parts: as many as can have as many of a thread's sums each, by the four.
inline int adders(const Params& p) {
  int blocks = p.reduce == 1 ? p.split : 1;
  while (sums(p) / 4 % blocks != 0) --blocks;
  return blocks;
}
/// Tensor cores read 16-bit elements along m or n, too. Others must lie along k; of 32 bits, the instructions' rows
/// may come from registers instead, else the operand is transposed first.
inline bool turns_a(const Problem& problem, const Params& p) {
  const int bytes = traits(problem.precision).a.bytes;
  return transposes_a(problem.layout) && bytes != 2 && (bytes != 4 || p.swap == 1);
}
inline bool turns_b(const Problem& problem, const Params& p) {
  const int bytes = traits(problem.precision).b.bytes;
  return !transposes_b(problem.layout) && bytes != 2 && (bytes != 4 || p.swap == 0);
}
/// Whether the main loop finds the operand contiguous along k.
inline bool a_along_k(const Problem& problem, const Params& p) {
  return !transposes_a(problem.layout) || turns_a(problem, p);
}
inline bool b_along_k(const Problem& problem, const Params& p) {
  return transposes_b(problem.layout) || turns_b(problem, p);
}
/// Bytes of a line of an operand's tile so many bytes wide, along m or n. A narrow tile is one line. A wide one has
/// lines of kLine, the last filled in part, unless more than a fifth of what they hold were filler and narrower ones
/// are full. Lines of 64 bytes cost tiles of 160 and 224 columns of 16 bits 1 to 6 %, filler costs those of 96 columns
/// 1 % (docs/lab/2026-11-27-tile-widths.md).
inline int line_of(int width_bytes) {
  if (width_bytes == kLine / 4) return width_bytes;
  const int filler = round_up(width_bytes, kLine) - width_bytes;
  return width_bytes % (kLine / 2) == 0 && 4 * filler > width_bytes ? kLine / 2 : kLine;
}
inline int line_a(const Problem& problem, const Params& p) {
  return a_along_k(problem, p) ? kLine : line_of(p.bm * traits(problem.precision).a.bytes);
}
inline int line_b(const Problem& problem, const Params& p) {
  return b_along_k(problem, p) ? kLine : line_of(p.bn * traits(problem.precision).b.bytes);
}
/// The rows of A and the columns of B that a stage holds: those of the tile, and what fills its last line.
inline int held_a(const Problem& problem, const Params& p) {
  return a_along_k(problem, p) ? p.bm : round_up<int>(p.bm, line_a(problem, p) / traits(problem.precision).a.bytes);
}
inline int held_b(const Problem& problem, const Params& p) {
  return b_along_k(problem, p) ? p.bn : round_up<int>(p.bn, line_b(problem, p) / traits(problem.precision).b.bytes);
}
/// The widest line that a tile fills; a last one that it does not begins earlier.
inline int line_c(const Problem& problem, const Params& p) {
  const int bytes = p.bn * traits(problem.precision).c.bytes;
  return bytes >= kLine ? kLine : bytes >= kLine / 2 ? kLine / 2 : kLine / 4;
}
inline bool rows_from_registers(const Problem& problem, const Params& p) {
  if (traits(problem.precision).a.bytes != 4) return false;
  return p.swap == 1 ? !transposes_b(problem.layout) : transposes_a(problem.layout);
}
/// Whether sums of more than a stage are taken in fp32, which the tensor cores' own sums are not.
inline bool promotes(const Problem& problem) { return traits(problem.precision).arithmetic.promotion_steps > 0; }
/// The registers that a thread has by the number of its sums: those that are promoted, and two stages of rows.
inline int sum_registers(const Problem& problem, const Params& p) {
  const int rows = rows_from_registers(problem, p) ? 2 * (kLine / 8) * consumer_rows(p) / kFragment : 0;
  return (promotes(problem) ? 2 : 1) * sums(p) + rows;
}

/// The registers for sums, those of the parts before among them where a block adds up several.
inline int part_registers(const Problem& problem, const Params& p) {
  return sum_registers(problem, p) + (p.own_parts > 1 ? sums(p) : 0);
}

/// The registers that ptxas asks for beside the sums of an instruction (error C7602, CUDA 13.0).
inline constexpr int kBesideSums = 26;

inline int cluster(const Params& p) { return p.cluster_m * p.cluster_n; }

/// The registers of a thread when its block begins. The producer then gives some of its own to the consumers.
inline int registers_at_first(const Params& p, const DeviceSpec& device) {
  return device.max_registers_per_sm / (threads(p) * p.min_blocks) / 8 * 8;
}
inline int producer_registers(const Problem& problem, const Params& p) {
  if (p.consumers == 3) return 32;
  // A producer that shares both operands, or lines along m or n, needs up to six registers more than 24. Consumers with
  // 192 sums have enough with what 40 leave them (ptxas, CUDA 13.0).
  const bool is_along_k = a_along_k(problem, p) && b_along_k(problem, p);
  const bool shares_much = (p.cluster_m > 1 && p.cluster_n > 1) || (cluster(p) > 1 && !is_along_k);
  if (shares_much && p.own_parts == 1 && traits(problem.precision).a.bytes <= 2) return 40;
  return part_registers(problem, p) > 160 || (p.consumers > 1 && p.min_blocks > 1) ? 24 : 40;
}
inline int consumer_registers(const Problem& problem, const Params& p, const DeviceSpec& device) {
  const int all = registers_at_first(p, device) * (p.consumers + 1);
  return (all - producer_registers(problem, p)) / p.consumers / 8 * 8;
}
/// Whether it does: one consumer that has the SM for itself begins with all that it can have.
inline bool moves_registers(const Params& p) { return p.consumers * p.min_blocks > 1; }

/// Whether an instruction may have all columns of the tile, and its sums fit the registers that its block begins with.
inline bool has_one_instruction(const Params& p, const DeviceSpec& device) {
  constexpr int kMostColumns = 256;
  return columns(p) <= kMostColumns && columns(p) / 2 + kBesideSums <= registers_at_first(p, device);
}
/// The columns of a fragment's first instruction: all of the tile's, or whole lines and about half, and a second
/// instruction has the others.
inline int first_columns(const Params& p, const DeviceSpec& device) {
  constexpr int kFirst = 128;
  return has_one_instruction(p, device) ? columns(p) : kFirst;
}

/// Whether blocks of what follows find a place beside these: reduce(), which needs little, or those of the next call.
/// Else the launch says when they are let in (LATE).
inline bool is_followed_early(const Params& p) { return p.min_blocks > 1 || (p.split > 1 && p.reduce == 0); }

/// Bytes of struct Shared in wgmma_tile.cuh: the stages, with two barriers each, `buffers` slices of every consumer's
/// results, unless other blocks have a part of them, and what these hand over, with its barrier. They are a multiple of
/// kSharedUnit, as its alignment wants.
inline constexpr int kSharedUnit = 1024;
inline constexpr int kStageBarriers = 16;
inline int stage_bytes(const Problem& problem, const Params& p) {
  return (held_a(problem, p) + held_b(problem, p)) * kLine;
}
inline int store_bytes(const Params& p, int buffers) {
  return p.consumers * buffers * (p.reduce == 1 ? 16 : kFragment * kLine);
}
inline int bytes_beside_stages(const Params& p, int buffers) {
  const int received = p.reduce == 1 ? block_sums(p) / adders(p) * (p.split - 1) * 4 : 16;
  return store_bytes(p, buffers) + received + 8;
}
inline int shared_bytes(const Problem& problem, const Params& p, int stages, int buffers) {
  return round_up(stages * (stage_bytes(problem, p) + kStageBarriers) + bytes_beside_stages(p, buffers), kSharedUnit);
}

/// The number of stages beside so many buffers, as many as fit into a block's part of the SM, but for blocks of
/// reduce() that wait there to begin.
inline int stages_beside(const Problem& problem, const Params& p, const DeviceSpec& device, int buffers) {
  constexpr int kWaiting = 4;
  const bool is_waited_for = p.split > 1 && p.reduce == 0;
  const std::int64_t waiting = is_waited_for ? kWaiting * device.smem_reserved_per_block : 0;
  const std::int64_t share = (device.smem_per_sm - waiting) / p.min_blocks - device.smem_reserved_per_block;
  const std::int64_t most = std::min(device.smem_per_block_optin, share) / kSharedUnit * kSharedUnit;
  const std::int64_t stages = (most - bytes_beside_stages(p, buffers)) / (stage_bytes(problem, p) + kStageBarriers);
  return static_cast<int>(std::clamp<std::int64_t>(stages, 0, kMostStages));
}
/// The slices of its results that a consumer has room for: of two, one is filled while the other is stored, but where
/// one leaves room for another stage, which gains more.
inline int store_buffers(const Problem& problem, const Params& p, const DeviceSpec& device) {
  return p.reduce == 0 && stages_beside(problem, p, device, 1) > stages_beside(problem, p, device, 2) ? 1 : 2;
}
inline int stages(const Problem& problem, const Params& p, const DeviceSpec& device) {
  return stages_beside(problem, p, device, store_buffers(problem, p, device));
}
inline int shared_bytes(const Problem& problem, const Params& p, const DeviceSpec& device) {
  return shared_bytes(problem, p, stages(problem, p, device), store_buffers(problem, p, device));
}

inline bool packs_a(const Problem& problem, const Params& p) {
  return p.pack == 1 && (problem.align.a < 16 || turns_a(problem, p) ||
                         !fills_lines(stored_a(problem), traits(problem.precision).a.bytes));
}
inline bool packs_b(const Problem& problem, const Params& p) {
  return p.pack == 1 && (problem.align.b < 16 || turns_b(problem, p) ||
                         !fills_lines(stored_b(problem), traits(problem.precision).b.bytes));
}

inline bool multiplies(Precision precision) {
  if (traits(precision).unit_products > 1) return false;
  const Unit unit = traits(precision).unit;
  return unit == Unit::tensor_fp16 || unit == Unit::tensor_bf16 || unit == Unit::tensor_tf32 ||
         unit == Unit::tensor_int8 || unit == Unit::tensor_fp8;
}

}  // namespace mmtune::wgmma_shape
