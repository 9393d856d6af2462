// What the families have in common that multiply planes of 16-bit numbers, which a step before has made of an operand,
// by wgmma; see templates/device/planes_tile.cuh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "templates/base/round_up.h"
#include "templates/family/family_of.h"
#include "templates/family/plane_memory.h"
#include "templates/family/split_k.h"
#include "templates/family/stored_boxes.h"
#include "templates/model/numbers.h"
#include "templates/problem/tiling.h"

namespace mmtune {

struct PlaneParams {
  Param bm{128}, bn{128}, bk{32}, consumers{2}, promote{32}, cluster_m{1}, cluster_n{1}, group{8}, split{1}, swap{0};
};

/// A family whose operands have so many planes. Three products of planes make one of the operands.
template <int kPlanesA, int kPlanesB>
struct PlaneFamily {
  using Params = PlaneParams;

  static constexpr int kProducts = 3;     ///< the products of planes
  static constexpr int kLine = 128;       ///< the bytes of C stored at once
  static constexpr int kFragment = 64;    ///< the rows of an instruction
  static constexpr int kWarpgroup = 128;  ///< the number of threads
  static constexpr int kLeastStages = 2;
  static constexpr int kMostStages = 12;
  static constexpr int kPartSteps = 256;  ///< the least steps along k that are worth a part
  static constexpr int kMostParts = 16;
  static constexpr int kMostSums = 192;  ///< the registers of sums that leave enough for everything else

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {64, 128, 192, 256}, "rows of C per tile"},
        {"BN", &Params::bn, {64, 96, 128, 160, 192}, "columns of C per tile"},
        {"BK", &Params::bk, {32, 64}, "steps along k per stage"},
        {"CONSUMERS", &Params::consumers, {1, 2, 3}, "warpgroups that multiply"},
        {"PROMOTE", &Params::promote, {32, 64}, "steps along k whose sum tensor cores add up"},
        {"CLUSTER_M", &Params::cluster_m, {1, 2}, "blocks along m that share tiles of B"},
        {"CLUSTER_N", &Params::cluster_n, {1, 2}, "blocks along n that share tiles of A"},
        {"GROUP", &Params::group, {1, 4, 8, 16}, "rows of tiles walked together, for reuse in L2"},
        {"SPLIT", &Params::split, {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, "parts of k, whose sums a further step adds"},
    };
    return rows;
  }

  /// The extents of a tile that an instruction's rows and its columns are parts of.
  static int rows(const Params& p) { return p.swap == 1 ? p.bn : p.bm; }
  static int columns(const Params& p) { return p.swap == 1 ? p.bm : p.bn; }
  static int consumer_rows(const Params& p) { return rows(p) / p.consumers; }
  static int sums(const Params& p) { return consumer_rows(p) * columns(p) / kWarpgroup; }
  static int chunk_sums(const Params& p) { return kFragment * columns(p) / kWarpgroup; }
  static int threads(const Params& p) { return (p.consumers + 1) * kWarpgroup; }
  static int cluster(const Params& p) { return p.cluster_m * p.cluster_n; }
  /// The bytes of a step along k of a row of A and a column of B in a stage: where SWAP = 1, B is there as it is.
  static int step_bytes_a() { return kPlanesA * kPartBytes; }
  static int step_bytes_b(const Params& p) { return p.swap == 1 ? 4 : kPlanesB * kPartBytes; }
  static int stage_bytes(const Params& p) { return (step_bytes_a() * p.bm + step_bytes_b(p) * p.bn) * p.bk; }

  /// Bytes of struct Shared in planes_tile.cuh: the stages, two columns of lines of every consumer, two barriers a
  /// stage.
  static int shared_bytes(const Params& p, int stages) {
    constexpr int kAlignment = 1024;
    const int store_bytes = p.consumers * 2 * consumer_rows(p) * kLine;
    return round_up(stages * (stage_bytes(p) + 16) + store_bytes, kAlignment);
  }

  /// The number of stages, as many as fit: one block has the whole SM.
  static int stages(const Params& p, const DeviceSpec& device) {
    int stages = kMostStages;
    while (stages > 0 && shared_bytes(p, stages) > device.smem_per_block_optin) --stages;
    return stages;
  }

  /// What is asked of every family of planes, besides its precision.
  static void plane_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(std::max({problem.m, problem.n, problem.k}) < (std::int64_t{1} << 30) - 1024,
               "coordinates of the accelerator have 32 bits");
    rules.must(rows(p) % (kFragment * p.consumers) == 0, "a consumer has whole fragments");
    rules.must(p.bk % p.promote == 0, "a stage is whole chunks");
    rules.must(p.promote == 32 || problem.k >= kLongSums,
               "sums of 64 steps are as precise as fp32's for k of 1024 or more");
    if (!rules.ok()) return;
    rules.must(sums(p) + chunk_sums(p) <= (p.consumers == 3 ? 128 : kMostSums), "a thread has registers for its sums");
    rules.must(p.bm % (8 * p.cluster_n) == 0 && p.bn % (8 * p.cluster_m) == 0, "blocks share groups of eight lines");
    rules.must(stages(p, device) >= kLeastStages, "shared memory holds two stages");
    rules.worth(p.bm <= kFragment || problem.m > p.bm / 2, "a tile is not twice as high as C");
    rules.worth(p.bn <= kFragment || problem.n > p.bn / 2, "a tile is not twice as wide as C");
    rules.worth(p.cluster_m == 1 || problem.m > p.bm, "clusters have a tile for every block");
    rules.worth(p.cluster_n == 1 || problem.n > p.bn, "clusters have a tile for every block");
    rules.worth(p.group == 1 || ceil_div(problem.m, p.bm * p.cluster_m) > p.group / 2,
                "GROUP is at most the rows of tiles");
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(p.split == 1 || tiles * (p.split / 2) < device.sm_count, "SPLIT is for few tiles");
    rules.worth(p.split == 1 || problem.k >= kPartSteps * p.split, "parts have some hundred steps");
    split_rule(rules, p.split, tiles, device.sm_count);
    rules.worth(!is_thin(problem, device) || p.promote == 32, "long sums of few results are promoted every 32 steps");
    long_part_rule(rules, problem, p.split, kMostParts, device);
  }

  /// The constants that every kernel of planes needs.
  static std::vector<Constant> constants(const Problem& problem, const Params& p, const DeviceSpec& device) {
    return {{"PLANES_A", kPlanesA},
            {"PLANES_B", kPlanesB},
            {"STAGES", stages(p, device)},
            {"STORE_BOXES", stores_boxes(problem)},
            // These are a thread's registers; together they are what the block begins with.
            {"PRODUCER_REGISTERS", p.consumers == 3 ? 32 : 40},
            {"CONSUMER_REGISTERS", p.consumers == 3 ? 160 : 232}};
  }

  /// The step that multiplies; `of_family` are arguments between the maps and the partial sums.
  static LaunchStep gemm_step(LaunchPlan& plan, const Problem& problem, const Params& p, const DeviceSpec& device,
                              Arg map_a, Arg map_b, const std::vector<Arg>& of_family, Arg partial) {
    const std::int64_t turns =
        ceil_div(ceil_div(problem.m, p.bm), p.cluster_m) * ceil_div(ceil_div(problem.n, p.bn), p.cluster_n) * p.split;
    LaunchStep gemm;
    gemm.grid.x = cluster(p) * std::clamp<std::int64_t>(turns, 1, std::max(1, device.sm_count / cluster(p)));
    gemm.block.x = threads(p);
    gemm.cluster.x = cluster(p);
    gemm.takes_turns = true;
    gemm.smem_bytes = shared_bytes(p, stages(p, device));
    gemm.args = result_arguments();
    gemm.pass({map_a.as("map_a"), map_b.as("map_b"), map_of_c(plan, problem, kLine, map_a).as("map_c")});
    gemm.pass(of_family);
    gemm.pass({partial, Arg::number(p.split).as("parts"), k_tiles_of_part(problem, p.split, p.bk)});
    return gemm;
  }

  /// Planes, one below the other; k ends where the operand's does, so that what lies behind arrives as zeros.
  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Params& p, Arg planes,
                     std::int64_t rows, MapStride row, int box_rows) {
    return plan.add_map({.name = name,
                         .base = planes,
                         .format = MapFormat::bits16,
                         .dimensions = {{problem.k, p.bk}, {rows, box_rows, row}},
                         .swizzle_bytes = p.bk * kPartBytes});
  }

  static WorkEstimate estimate(const Params& p, const DeviceSpec& device, Unit unit) {
    const ModelNumbers& numbers = model_numbers(device);
    WorkEstimate work;
    work.unit = unit;
    work.unit_products = kProducts;
    work.issue_slots_per_fma = numbers.wgmma_issue_slots;
    const double bytes_a = step_bytes_a(), bytes_b = step_bytes_b(p);
    work.bytes_per_k = bytes_a * p.bm / p.cluster_n + bytes_b * p.bn / p.cluster_m;
    // Three instructions read their columns, and their rows or a thread once for all, which the accelerator has
    // written.
    const double rows_bytes = p.swap == 1 ? bytes_b : kProducts * kPartBytes;
    work.smem_bytes_per_fma = rows_bytes / columns(p) + kProducts * kPartBytes / static_cast<double>(kFragment) +
                              bytes_a / p.bn + bytes_b / p.bm;
    work.persistent = true;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = p.bk;
    work.k_lanes = p.bk;  // The sums wait for no instruction of the same stage.
    work.fetch = Fetch::accelerator;
    work.copies_first = p.swap == 0;
    work.turns_results = p.swap == 1;
    work.cluster_m = p.cluster_m;
    work.cluster_n = p.cluster_n;
    const int allowed = device.max_registers_per_block / threads(p) / 8 * 8;  // Several consumers use them all.
    const int needed = sums(p) + chunk_sums(p) + whole(numbers.wgmma_registers);
    work.registers = p.consumers == 1 ? std::min(device.max_registers_per_thread, needed) : allowed;
    work.split_k = p.split;
    work.bytes_in_flight = (stages(p, device) - 1) * stage_bytes(p);
    return work;
  }
};

}  // namespace mmtune
