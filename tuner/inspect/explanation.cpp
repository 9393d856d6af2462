#include "tuner/inspect/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "templates/base/order.h"
#include "templates/gpu/occupancy_steps.h"
#include "templates/model/cost.h"
#include "templates/model/floors.h"
#include "templates/problem/tiling.h"
#include "tuner/inspect/block_use.h"
#include "tuner/inspect/local_compiler.h"

namespace mmtune {
namespace {

std::string us_text(double us) { return fmt::format("{:.{}f} µs", us, us < 100 ? 2 : 1); }

std::string bytes_text(double bytes) {
  for (const auto& [unit, size] : {std::pair{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}) {
    if (bytes >= size) return fmt::format("{:.{}f} {}", bytes / size, bytes < 10 * size ? 2 : 0, unit);
  }
  return fmt::format("{:.0f} bytes", bytes);
}

/// Adds the rows of one kernel.
class Explanation {
 public:
  explicit Explanation(const Explained& explained)
      : explained_(explained),
        problem_(explained.program.key.problem),
        work_(explained.program.plan.work),
        prediction_(predict(problem_, explained.program.plan, explained.device, registers_of(explained.program))) {}

  Table table() {
    add("kernel", key_of(explained_.program.candidate),
        fmt::format("{} on {}", to_string(problem_), explained_.device.name));
    add_time();
    add_floors();
    add_shares();
    add_occupancy();
    add_traffic();
    add_runner_up();
    return std::move(table_);
  }

 private:
  void add(const char* aspect, std::string figure, std::string detail) {
    table_.add({std::string(aspect), std::move(figure), std::move(detail)});
  }

  /// The time of the trial, else the model's.
  double time_us() const { return explained_.trial ? explained_.trial->timing.median_us : prediction_.time_us; }
  Unit unit() const { return work_.unit.value_or(core_unit(problem_.precision)); }

  void add_time() {
    const double us = time_us();
    const double peak = peak_tflops(explained_.device, unit());
    const double speed = tflops(problem_, us);
    add("time", us_text(us),
        fmt::format("{}; {:.2f} TFLOP/s, {:.1f} % of {:.1f}",
                    explained_.trial ? to_string(explained_.trial->key.evidence) : "predicted, never tried", speed,
                    100 * speed / peak, peak));
    if (explained_.trial && explained_.trial->key.evidence == Evidence::measured) {
      add("the model says", us_text(prediction_.time_us),
          fmt::format("{:+.1f} % beside the measured time", 100 * (prediction_.time_us / us - 1)));
    }
  }

  void add_floors() {
    const DeviceSpec& device = explained_.device;
    const auto [arithmetic_us, memory_us] = floors(problem_, peak_tflops(device, unit()), device);
    add("floor: arithmetic", us_text(arithmetic_us),
        fmt::format("{:.4g} operations at the unit's peak; {:.1f} % of the time", flops(problem_),
                    100 * arithmetic_us / time_us()));
    add("floor: memory", us_text(memory_us),
        fmt::format("{} once each at {:.0f} GB/s; {:.1f} % of the time", bytes_text(minimal_bytes(problem_)),
                    device.memory_bandwidth_gb_s, 100 * memory_us / time_us()));
  }

  void add_shares() {
    const auto& shares = prediction_.shares;
    std::vector<std::string> parts;
    for (const auto i : places_in_order(kBottlenecks, [&](auto x, auto y) { return shares[x] > shares[y]; })) {
      if (shares[i] < 0.01) continue;
      parts.push_back(fmt::format("{} {:.0f} %", to_string(static_cast<Bottleneck>(i)), 100 * shares[i]));
    }
    add("bottleneck", std::string(to_string(prediction_.bottleneck())),
        fmt::format("by the model: {}", fmt::join(parts, ", ")));
  }

  void add_occupancy() {
    const BlockUse use = block_use_of(explained_.program, explained_.device);
    const Occupancy fit = occupancy(explained_.device, use.block);
    const auto step = next_step(explained_.device, use.block);
    add("occupancy", fmt::format("{:.0f} %", 100 * fit.share),
        fmt::format("{} blocks of {} threads, {}{} registers and {} bytes per SM; {} bind{}{}", fit.blocks_per_sm,
                    use.block.threads, use.block.registers, use.is_compiled ? "" : " expected", use.block.smem_bytes,
                    to_string(fit.tightest), step ? "; " : "", step ? to_string(*step) : ""));
    const Waves waves = waves_of(explained_.device, fit, use.grid_blocks);
    add("grid", fmt::format("{:.2f} waves", waves.waves),
        fmt::format("{} blocks, {} at a time; {:.0f} % of the last wave is empty{}", use.grid_blocks,
                    fit.blocks_per_sm * explained_.device.sm_count, 100 * waves.tail,
                    work_.persistent ? "; blocks take tiles in turn" : ""));
  }

  /// What blocks fetch through L2, beside the least that memory must move.
  void add_traffic() {
    const std::int64_t tiles = tiles_of_c(problem_, work_.tile_m, work_.tile_n);
    const double fetched = static_cast<double>(tiles) * work_.bytes_per_k * static_cast<double>(problem_.k);
    add("traffic", bytes_text(fetched),
        fmt::format("fetched by tiles of {} x {}, {:.1f} times the least; {:.1f} operations a byte", work_.tile_m,
                    work_.tile_n, fetched / minimal_bytes(problem_), flops(problem_) / fetched));
  }

  void add_runner_up() {
    if (!explained_.runner_up) {
      add("runner-up", "none", "no other candidate is stored for this size");
      return;
    }
    add("runner-up",
        fmt::format("{} ({:+.1f} %)", us_text(explained_.runner_up_us),
                    100 * (explained_.runner_up_us / time_us() - 1)),
        difference(explained_.program.candidate, *explained_.runner_up));
  }

  const Explained& explained_;
  Problem problem_;
  WorkEstimate work_;
  Prediction prediction_;
  Table table_{{{"aspect"}, {"figure", Align::left, Fit::wraps}, {"detail", Align::left, Fit::wraps}}};
};

}  // namespace

std::string difference(const Candidate& from, const Candidate& to) {
  if (from.family != to.family) return key_of(to);
  std::vector<std::string> changes;
  for (const Setting& setting : from.config.settings()) {
    const int* other = to.config.find(setting.name);
    if (other != nullptr && *other != setting.value) {
      changes.push_back(fmt::format("{} {} -> {}", setting.name, setting.value, *other));
    }
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

Table explanation_table(const Explained& explained) { return Explanation(explained).table(); }

}  // namespace mmtune
