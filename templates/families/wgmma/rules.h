// Which configurations the family `wgmma` has: what must hold of a tile, and what is worth trying at a size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "templates/families/wgmma/shape.h"
#include "templates/family/family.h"
#include "templates/family/min_blocks.h"
#include "templates/family/split_k.h"
#include "templates/family/stored_boxes.h"

namespace mmtune::wgmma_shape {

inline constexpr int kLeastStages = 3;  ///< the fewest with which fetching and multiplying overlap
inline constexpr int kLeastGroup = 4;   ///< the fewest rows of tiles that are walked together, but one
inline constexpr int kMidGroup = 16;    ///< the most rows of tiles that are walked together whatever they weigh
inline constexpr int kManySteps = 32;   ///< the steps of a call that may gain where the next one begins late
inline constexpr int kMostSums = 192;   ///< the registers of sums that leave enough for everything else
inline constexpr int kMoreSums = 208;   ///< the same where blocks share nothing and store boxes (ptxas, CUDA 13.0)
inline constexpr int kMostParts = 256;  ///< the same with those of parts before, of which some may spill

/// Whether the results of a low tile leave as whole boxes, or not through a buffer at all: those of a part of k, and of
/// columns that do not fill a fragment. What of a higher tile fills no box begins earlier in its last buffer, which has
/// as many rows of C as a line has columns: Slice in wgmma_finish.cuh.
inline bool fills_boxes(const Problem& problem, const Params& p) {
  const int buffer_rows = line_c(problem, p) / traits(problem.precision).c.bytes;
  return p.swap == 0 || p.split > 1 || p.bn % kFragment != 0 || p.bm % kStoredBoxRows == 0 || p.bm > buffer_rows;
}

/// What must hold of tiles and of the blocks that compute them.
inline void tile_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
  const PrecisionTraits& types = traits(problem.precision);
  rules.must(p.pingpong == 0 || p.consumers == 2, "PINGPONG takes two consumers");
  rules.must(columns(p) % (types.accumulator.integer ? 16 : 8) == 0,
             "an instruction's columns are a multiple of 8, of integers of 16");
  rules.must(
      rows(p) % (kFragment * (p.pingpong == 1 ? 1 : p.consumers)) == 0 ||
          (p.swap == 1 && p.consumers == 1 && b_along_k(problem, p) && p.bm <= kFragment && p.bn < 2 * kFragment),
      "a consumer has whole fragments, or is alone and has few rows and columns of C, and B along k");
  // Tiles of 40, 72, 80, 88 and 136 columns took 3 to 11 % longer than the model expects of tiles without filler.
  rules.must(3 * held_a(problem, p) <= 4 * p.bm && 3 * held_b(problem, p) <= 4 * p.bn,
             "three quarters of what a stage holds are of the tile");
  rules.must(p.bm % p.cluster_n == 0 && p.bn % p.cluster_m == 0, "blocks share whole lines");
  rules.must(fills_boxes(problem, p), "the results of a low tile are whole boxes, parts, or columns of no fragment");
  if (!rules.ok()) return;
  const bool is_turned = p.swap == 1 && consumer_rows(p) > kFragment;
  const bool takes_turns = rows_from_registers(problem, p) && p.pingpong == 1;
  rules.must(p.min_blocks == 1 || (p.consumers < 3 && p.pingpong == 0),
             "blocks that share an SM have at most two consumers, without PINGPONG");
  const int most = p.consumers == 3                           ? (promotes(problem) ? 96 : 112)
                   : p.min_blocks == 2 && p.consumers == 2    ? 48
                   : p.min_blocks == 2                        ? 128
                   : is_turned                                ? (stores_boxes(problem) ? 160 : 152)
                   : takes_turns                              ? 160
                   : cluster(p) == 1 && stores_boxes(problem) ? kMoreSums
                                                              : kMostSums;
  rules.must(sum_registers(problem, p) <= most, "a thread has registers for its sums");
  rules.must(p.min_blocks == 1 || has_one_instruction(p, device),
             "blocks that share an SM begin with registers for an instruction");
  const int most_parts = p.min_blocks == 2 ? most : p.consumers == 3 ? 160 : kMostParts;
  rules.must(p.own_parts == 1 || part_registers(problem, p) <= most_parts,
             "a thread has registers for most of the sums of OWN_PARTS");
  // The compiler lets no other multiplications follow each other.
  rules.must(!rows_from_registers(problem, p) || (consumer_rows(p) == kFragment && p.reduce == 0),
             "rows from registers are one fragment of a consumer, whose sums it stores");
  rules.must(stages(problem, p, device) >= kLeastStages, "shared memory holds three stages");
  rules.must(cluster(p) <= device.max_cluster_size, "the device allows clusters of that size");
  rules.must(p.reduce == 0 || (p.split > 1 && p.split <= device.max_cluster_size),
             "REDUCE over a cluster needs SPLIT blocks in a cluster");
  rules.must(p.reduce == 0 || (cluster(p) == 1 && p.pingpong == 0),
             "blocks that add a tile's parts share no operands and no turns");
  rules.must(p.own_parts == 1 || (p.split == 1 && !promotes(problem)),
             "OWN_PARTS are all of a tile's k, whose sums are not promoted");
}

/// What is worth trying at a size.
inline void size_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
  const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
  rules.worth(p.bm <= kFragment || problem.m > p.bm / 2, "a tile is not twice as high as C");
  rules.worth(p.bn <= kFragment || problem.n > p.bn / 2, "a tile is not twice as wide as C");
  rules.worth(p.bm >= kFragment || problem.m <= 2 * p.bm || tiles_of_c(problem, p.bm, p.bn) <= device.sm_count,
              "tiles of few rows are for few rows of C, or few tiles");
  rules.worth(p.bn >= kFragment || problem.n <= 2 * p.bn || tiles_of_c(problem, p.bm, p.bn) <= device.sm_count,
              "tiles of few columns are for few columns of C, or few tiles");
  rules.worth(p.consumers > 1 || sums(p) <= 96, "one consumer is for small tiles");
  // Measured: docs/lab/2026-11-30-one-wave.md.
  rules.worth(sum_registers(problem, p) <= kMostSums || tiles <= device.sm_count, "the largest tiles are for one wave");
  rules.worth(p.cluster_m == 1 || problem.m > p.bm * (p.cluster_m / 2), "clusters have a tile for every block");
  rules.worth(p.cluster_n == 1 || problem.n > p.bn * (p.cluster_n / 2), "clusters have a tile for every block");
  rules.worth(cluster(p) <= 8, "clusters have at most eight blocks");
  const std::int64_t rows_of_tiles = ceil_div(problem.m, p.bm * p.cluster_m);
  rules.worth(p.group == 1 || rows_of_tiles > p.group / 2 || (p.group == kLeastGroup && rows_of_tiles > 1),
              "GROUP is at most the rows of tiles");
  const std::int64_t walked = problem.k * p.group * p.bm * traits(problem.precision).a.bytes;
  rules.worth(p.group <= kMidGroup || walked <= device.l2_bytes / 2,
              "many rows of tiles are walked where L2 holds them");
  rules.worth(p.split == 1 || tiles * (p.split / 2) < device.sm_count, "SPLIT is for few tiles");
  const std::int64_t steps = ceil_div(problem.k, bk(problem));
  rules.worth(p.split == 1 || steps >= 2 * p.split, "every part has at least two steps");
  split_rule(rules, p.split, tiles, device.sm_count);
  rules.worth(p.pingpong == 0 || tiles > device.sm_count, "PINGPONG is for more tiles than SMs");
  rules.worth(p.min_blocks == 1 || !may_lie_in_pairs(problem, tiles * p.split, ceil_div(steps, p.split), device),
              "blocks share an SM where they do not lie in pairs, or where products are short");
  // Measured: docs/lab/2026-11-28-fetches.md.
  const std::int64_t longer = std::max(problem.m, problem.n) * problem.k * traits(problem.precision).a.bytes;
  rules.worth(p.fetch == kLine || (std::min(problem.m, problem.n) <= kFragment && longer > device.l2_bytes),
              "fetches of two lines are for few rows or columns of C, and an operand that L2 does not hold");
  rules.worth(p.own_parts == 1 || problem.invariant, "OWN_PARTS are for invariant products");
  const bool is_one_wave =
      tiles <= device.sm_count && steps >= kManySteps && std::min(problem.m, problem.n) > 2 * kFragment;
  rules.worth(p.late == 0 || (is_one_wave && cluster(p) == 1 && !is_followed_early(p)),
              "LATE is for one wave of tiles with many steps that share nothing");
}

}  // namespace mmtune::wgmma_shape
