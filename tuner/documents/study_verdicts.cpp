// What the documents conclude, held against results; and their analyses, which need none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "templates/gpu/gpu_catalog.h"
#include "tuner/documents/study_table.h"
#include "tuner/inspect/block_use.h"

namespace mmtune {
namespace {

/// The results of one table.
class Times {
 public:
  Times(const std::vector<StudyResult>& results, std::string_view document, std::string_view table) {
    for (const StudyResult& each : results) {
      if (each.what.document == document && each.what.table == table) results_.push_back(&each);
    }
  }

  /// The time of the kernel, or of all; NaN where it is missing.
  double operator()(std::string_view row, std::string_view column, bool total = false) const {
    for (const StudyResult* each : results_) {
      if (each->what.row == row && each->what.column == column) return total ? each->total_ms : each->kernel_ms;
    }
    return StudyResult::kUnknown_ms;
  }

 private:
  std::vector<const StudyResult*> results_;
};

/// `least` is the least of the ratios that are above 1 where the conclusion holds.
std::string verdict(double least, std::string_view conclusion, std::string_view reason) {
  constexpr double kSame = 1.01;  // A smaller ratio may be noise.
  const char* judgement = least > kSame ? "holds" : least < 1 / kSame ? "does not hold" : "cannot tell";
  return fmt::format("{}: {} ({})", judgement, conclusion, reason);
}

/// The least and the largest of ratios; nothing where one is missing.
std::optional<std::pair<double, double>> range_of(const std::vector<double>& ratios) {
  if (ratios.empty() || std::any_of(ratios.begin(), ratios.end(), [](double x) { return !std::isfinite(x); })) {
    return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return std::pair{*least, *most};
}

std::string homework(const std::vector<StudyResult>& results) {
  const Times by_size(results, "s0", "1 by size"), by_block(results, "s0", "2 by block at 10000");
  std::vector<double> gains, steps;
  for (int n = 1000; n <= 10000; n += 1000) {
    const std::string row = fmt::format("{}", n);
    gains.push_back(by_size(row, "baseline") / by_size(row, "shared"));
  }
  const auto gain = range_of(gains);
  if (!gain) return "";
  const std::array blocks{"1", "2", "4", "8", "16", "32"};
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    steps.push_back(by_block(blocks[i - 1], "shared") / by_block(blocks[i], "shared"));
  }
  const auto step = range_of(steps);
  return verdict(step ? std::min(gain->first, step->first) : gain->first,
                 "shared memory beats the baseline at every size, and a larger block a smaller one",
                 fmt::format("shared is {:.2f} to {:.2f} times as fast; block 32 {:.2f} times as fast as 16",
                             gain->first, gain->second, steps.back()));
}

std::string coarsening(const std::vector<StudyResult>& results) {
  const Times times(results, "s1", "1 kernels by size and tile");
  std::vector<double> ratios;
  std::string text;
  for (const int n : {256, 1024, 4096, 8192}) {
    ratios.push_back(times(fmt::format("{} tile 32", n), "coarsened") /
                     times(fmt::format("{} tile 16", n), "coarsened"));
    text += fmt::format("{}{}: {:.2f}", text.empty() ? "" : ", ", n, ratios.back());
  }
  const auto range = range_of(ratios);
  if (!range) return "";
  return verdict(range->first, "with coarsening, tile 16 beats tile 32", "tile 32 / tile 16 at " + text);
}

std::string lecture(const std::vector<StudyResult>& results) {
  const Times times(results, "s2", "1 one core and the GPU, end to end");
  const double small = times("768", "cpu", true) / times("768", "linear", true);
  const double large = times("4096", "cpu", true) / times("4096", "linear", true);
  if (!std::isfinite(small) || !std::isfinite(large)) return "";
  return verdict(std::min(small, large / small), "the GPU pays off end to end, and the more the larger the matrices",
                 fmt::format("{:.1f} times one core at 768, {:.0f} times at 4096", small, large));
}

std::string slides(const std::vector<StudyResult>& results) {
  const Times times(results, "s3", "1 tiles with edges");
  std::vector<double> gains;
  for (const auto* row : {"1024", "1000", "1023x1025x1027", "2000x100x3000", "4096"}) {
    gains.push_back(times(row, "baseline") / std::min(times(row, "tile 16"), times(row, "tile 32")));
  }
  const auto gain = range_of(gains);
  if (!gain) return "";
  return verdict(
      gain->first, "tiles save traffic and so time, also where they do not divide the matrices",
      fmt::format("the better tile is {:.2f} to {:.2f} times as fast as the baseline", gain->first, gain->second));
}

std::string recitation(const std::vector<StudyResult>& results) {
  const Times times(results, "s4", "1 kernels");
  std::vector<double> gains;
  std::string text;
  for (const auto* column : {"n = 1024", "n = 2048"}) {
    const auto time = [&](const char* kernel) { return times(kernel, column); };
    gains.push_back(time("simple_uncoalesced") / time("simple_coalesced"));
    gains.push_back(time("simple_coalesced") / time("block_shared"));
    gains.push_back(time("block_coarse") / time("simple_coalesced"));
    text +=
        fmt::format("{}{}: coalescing {:.1f}x, shared memory {:.1f}x more, block_coarse {:.1f}x slower than coalesced",
                    text.empty() ? "" : "; ", column, gains[gains.size() - 3], gains[gains.size() - 2], gains.back());
  }
  const auto range = range_of(gains);
  if (!range) return "";
  return verdict(range->first, "coalesced loads, then shared memory; a whole block for each thread is too few threads",
                 text);
}

/// Loads, operations and blocks of a square tile with one thread an element, as the slides count them.
Table tile_arithmetic(const DeviceSpec& device) {
  struct Sm {
    std::string name;
    int threads;
    std::int64_t smem_bytes;
  };
  Table table({right("tile"), right("threads"), right("loads"), right("mul/adds"), right("traffic divided by"),
               left("SM"), right("blocks by threads"), right("blocks by shared memory"), right("pending loads")});
  const Sm sms[] = {{"1536 threads, 16 KiB", 1536, 16 << 10},
                    {device.name, device.max_threads_per_sm, device.smem_per_sm}};
  for (const Sm& sm : sms) {
    for (const std::int64_t tile : {16, 32}) {
      const std::int64_t threads = tile * tile, loads = 2 * threads, operations = 2 * threads * tile;
      const std::int64_t by_threads = sm.threads / threads;
      const std::int64_t reserved = sm.name == device.name ? device.smem_reserved_per_block : 0;
      const std::int64_t by_memory = sm.smem_bytes / (2 * threads * 4 + reserved);
      table.add({tile, threads, loads, operations, tile, sm.name, by_threads, by_memory, by_memory * loads});
    }
  }
  return table;
}

/// Blocks of 16 x 16 and 32 x 32 threads with 11 registers and three tiles, and a block of three tiles of 64.
Table coarsened_blocks(const DeviceSpec& device) {
  std::vector<BlockUse> uses;
  for (const DeviceSpec& each : {catalog_gpu("gt740m"), device}) {
    for (const int tile : {16, 32, 64}) {
      uses.push_back({each, {std::min(tile * tile, each.max_threads_per_block), 11, std::int64_t{12} * tile * tile}});
    }
  }
  return occupancy_table(uses, Format::table);
}

}  // namespace

std::string study_conclusion(const std::vector<StudyResult>& results, std::string_view document) {
  constexpr std::pair<std::string_view, std::string (*)(const std::vector<StudyResult>&)> kConclusions[] = {
      {"s0", homework}, {"s1", coarsening}, {"s2", lecture}, {"s3", slides}, {"s4", recitation}};
  for (const auto& [name, conclude] : kConclusions) {
    if (name == document) return conclude(results);
  }
  return "";
}

std::vector<std::pair<std::string, Table>> study_analyses(std::string_view document, const DeviceSpec& device) {
  if (document == "s1") {
    return {{"s1 occupancy of the coarsened kernel: three tiles of 4-byte elements, 11 registers",
             coarsened_blocks(device)}};
  }
  if (document == "s3") {
    return {{"s3 loads and operations of a block, for each step of a tile", tile_arithmetic(device)}};
  }
  return {};
}

}  // namespace mmtune
