#include "tuner/inspect/block_use.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "templates/gpu/occupancy_steps.h"
#include "tuner/inspect/local_compiler.h"
#include "tuner/text/sizes.h"

namespace mmtune {
namespace {

/// What a row of the table is made of.
struct UseLine {
  const BlockUse& use;
  Occupancy fit;
  Waves waves;
  std::string next;
};

UseLine line_of(const BlockUse& use) {
  UseLine line{use, occupancy(use.device, use.block), {}, ""};
  line.waves = waves_of(use.device, line.fit, use.grid_blocks);
  if (const auto step = next_step(use.device, use.block)) line.next = to_string(*step);
  return line;
}

Cell blocks_by(const UseLine& line, OccupancyLimit limit) {
  const int blocks = line.fit.allowed_by(limit);
  return blocks == kUnlimitedBlocks ? Cell() : blocks;
}

std::string line_size(const UseLine& line) {
  const auto& problem = line.use.problem;
  return problem ? to_string(size_of(*problem)) : "";
}

Cell waves_cell(const UseLine& line, double value, int digits) {
  return line.use.grid_blocks > 0 ? Cell(value, digits) : Cell();
}

using UseColumns = std::vector<CellOf<UseLine>>;

/// `names` are those of threads, registers, shared memory, blocks per SM, limit, warps and occupancy.
void add_occupancy(UseColumns& columns, const std::array<const char*, 7>& names, double occupancy_unit, int digits) {
  columns.push_back({{names[0], kRight, Fit::spare}, [](const UseLine& l) { return l.use.block.threads; }});
  columns.push_back({{names[1], kRight, Fit::spare}, [](const UseLine& l) { return l.use.block.registers; }});
  columns.push_back({{names[2], kRight, Fit::spare}, [](const UseLine& l) { return l.use.block.smem_bytes; }});
  columns.push_back({{names[3], kRight}, [](const UseLine& l) { return l.fit.blocks_per_sm; }});
  columns.push_back({{names[4], Align::left, Fit::wraps}, [](const UseLine& l) { return to_string(l.fit.tightest); }});
  columns.push_back({{names[5], kRight}, [](const UseLine& l) { return l.fit.warps_per_sm; }});
  columns.push_back({{names[6], kRight}, [occupancy_unit, digits](const UseLine& l) {
                       return Cell(occupancy_unit * l.fit.share, digits);
                     }});
}

UseColumns full_line_columns() {
  UseColumns columns{{{"device"}, [](const UseLine& l) { return l.use.device.name; }}};
  add_occupancy(columns, {"threads", "registers", "smem_bytes", "blocks_per_sm", "limit", "active_warps", "occupancy"},
                1, 4);
  for (const auto& [name, limit] : {std::pair{"blocks_by_threads", OccupancyLimit::threads},
                                    {"blocks_by_registers", OccupancyLimit::registers},
                                    {"blocks_by_smem", OccupancyLimit::shared_memory},
                                    {"blocks_by_limit", OccupancyLimit::blocks}}) {
    columns.push_back({{name}, [by = limit](const UseLine& l) { return blocks_by(l, by); }});
  }
  columns.push_back({{"size"}, line_size});
  columns.push_back({{"kernel"}, [](const UseLine& l) { return l.use.kernel; }});
  columns.push_back(
      {{"grid_blocks"}, [](const UseLine& l) { return l.use.grid_blocks > 0 ? Cell(l.use.grid_blocks) : Cell(); }});
  columns.push_back({{"waves"}, [](const UseLine& l) { return waves_cell(l, l.waves.waves, 4); }});
  columns.push_back({{"tail"}, [](const UseLine& l) { return waves_cell(l, l.waves.tail, 4); }});
  columns.push_back({{"next_step"}, [](const UseLine& l) { return l.next; }});
  return columns;
}

/// There are columns of kernels only where there are some.
UseColumns friendly_line_columns(bool has_kernels) {
  UseColumns columns{{{"device", Align::left, Fit::wraps}, [](const UseLine& l) { return l.use.device.name; }}};
  if (has_kernels) {
    columns.push_back({{"size", kRight}, line_size});
    columns.push_back({{"kernel", Align::left, Fit::wraps}, [](const UseLine& l) { return l.use.kernel; }});
  }
  add_occupancy(columns, {"threads", "regs", "smem B", "blocks an SM", "limit", "warps", "occ %"}, 100, 0);
  columns.push_back({{"blocks by threads, regs, smem, SM", Align::left, Fit::spare}, [](const UseLine& l) {
                       const auto text = [&](OccupancyLimit limit) {
                         const int blocks = l.fit.allowed_by(limit);
                         return blocks == kUnlimitedBlocks ? std::string("-") : fmt::format("{}", blocks);
                       };
                       return fmt::format("{}/{}/{}/{}", text(OccupancyLimit::threads), text(OccupancyLimit::registers),
                                          text(OccupancyLimit::shared_memory), text(OccupancyLimit::blocks));
                     }});
  if (has_kernels) {
    columns.push_back(
        {{"waves", kRight, Fit::spare}, [](const UseLine& l) { return waves_cell(l, l.waves.waves, 2); }});
    columns.push_back(
        {{"tail %", kRight, Fit::spare}, [](const UseLine& l) { return waves_cell(l, 100 * l.waves.tail, 0); }});
  }
  columns.push_back({{"what would raise it", Align::left, Fit::wraps}, [](const UseLine& l) { return l.next; }});
  return columns;
}

Tone line_tone(const UseLine& line) { return line.fit.blocks_per_sm == 0 ? Tone::bad : Tone::plain; }

std::string name_of(const BlockUse& use) {
  return fmt::format("{}{}{}", use.device.name, use.kernel.empty() ? "" : ", ", use.kernel);
}

}  // namespace

BlockUse block_use_of(const Program& program, const DeviceSpec& device) {
  const LaunchStep& step = main_step(program.plan);
  return {.device = device,
          .block = {.threads = static_cast<int>(block_threads(step)),
                    .registers = registers_of(program),
                    .smem_bytes = step.smem_bytes + program.binary.static_smem_bytes},
          .problem = program.key.problem,
          .kernel = key_of(program.candidate),
          .grid_blocks = step.grid.x * step.grid.y * step.grid.z,
          .is_compiled = !program.binary.hash.empty()};
}

Table occupancy_table(const std::vector<BlockUse>& uses, Format format) {
  std::vector<UseLine> lines;
  bool has_kernels = false;
  for (const BlockUse& use : uses) {
    lines.push_back(line_of(use));
    has_kernels = has_kernels || !use.kernel.empty();
  }
  const bool full = is_for_programs(format);
  return table_of(full ? full_line_columns() : friendly_line_columns(has_kernels), lines, line_tone);
}

std::vector<Chart> occupancy_charts(const std::vector<BlockUse>& uses) {
  struct Kind {
    const char* label;
    OccupancyLimit varied;
    std::int64_t here;
  };
  std::vector<Chart> charts;
  if (uses.empty()) return charts;
  const BlockResources& first = uses.front().block;
  for (const Kind& kind : {Kind{"threads per block", OccupancyLimit::threads, first.threads},
                           {"registers per thread", OccupancyLimit::registers, first.registers},
                           {"bytes of shared memory per block", OccupancyLimit::shared_memory, first.smem_bytes}}) {
    Chart chart{.title = fmt::format("Occupancy against {}", kind.label),
                .x_label = kind.label,
                .y_label = "active warps per SM",
                .series = {},
                .mark_x = static_cast<double>(kind.here),
                .stepped = true};
    for (const BlockUse& use : uses) {
      Series series{name_of(use), {}};
      for (const auto& [amount, warps] : occupancy_curve(use.device, use.block, kind.varied)) {
        series.points.emplace_back(static_cast<double>(amount), warps);
      }
      chart.series.push_back(std::move(series));
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace mmtune
