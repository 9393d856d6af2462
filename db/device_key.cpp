#include "db/device_key.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "templates/gpu/architectures.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

// Cards are sold with boost clocks up to a tenth over their model's, and overclocked by no more than that again.
constexpr double kOverclocked = 1.25;

// The boost clock of a GPU that is not in the catalogue: none was sold with a higher one.
constexpr double kFastestClock_mhz = 3000;

// What an SM can get from L2 in a clock: the lanes of a warp that load 4 bytes each make one request of 128 bytes,
// which takes two clocks (NVIDIA, V100 and A100 white papers: 64 bytes a clock and SM).
constexpr double kFill_bytes = 64;

struct Pieces {
  Unit unit;
  int bits;  ///< the bits of a significand that the unit multiplies
};
constexpr std::array kPieces{Pieces{Unit::tensor_tf32, 11}, Pieces{Unit::tensor_fp16, 11}, Pieces{Unit::tensor_bf16, 8},
                             Pieces{Unit::tensor_int8, 7}, Pieces{Unit::tensor_fp8, 4}};

/// Multiply-adds a clock and SM by the fastest unit. A longer significand may be multiplied in pieces by a faster one,
/// which takes at least as many products as there are pieces.
double fastest_rate(const Architecture& architecture, Precision precision) {
  const PrecisionTraits& types = traits(precision);
  const auto rate = [&](Unit unit) { return static_cast<double>(architecture.rates[static_cast<std::size_t>(unit)]); };
  double fastest = std::max(rate(types.unit), rate(core_unit(precision)));
  if (types.a.integer) return fastest;
  const double bits = -std::log2(types.a.roundoff);
  for (const Pieces& each : kPieces) fastest = std::max(fastest, rate(each.unit) / std::ceil(bits / each.bits));
  return fastest;
}

}  // namespace

DeviceKey key_of(const DeviceSpec& device) {
  return {device.name, compute_capability(device), device.sm_count, device.smem_per_block_optin};
}

/// Worked out once: every row that is read is compared with its limit.
const SpeedLimit::Rates* SpeedLimit::rates_of(int compute_capability) {
  static const auto all = [] {
    std::array<Rates, kArchitectures.size()> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      for (const Precision precision : kAllPrecisions) {
        table[i][static_cast<std::size_t>(precision)] = fastest_rate(kArchitectures[i], precision);
      }
    }
    return table;
  }();
  const Architecture* architecture = find_architecture(compute_capability);
  return architecture == nullptr ? nullptr : &all[static_cast<std::size_t>(architecture - kArchitectures.data())];
}

SpeedLimit::SpeedLimit(const DeviceKey& device)
    : rates_(rates_of(device.compute_capability)),
      sm_count_(device.sm_count),
      clock_mhz_(kOverclocked * kFastestClock_mhz),
      bandwidth_gb_s_(std::numeric_limits<double>::infinity()) {
  for (const CatalogEntry& entry : gpu_catalog()) {
    if (entry.spec.name != device.name) continue;
    clock_mhz_ = kOverclocked * entry.spec.core_clock_mhz;
    bandwidth_gb_s_ = kOverclocked * entry.spec.memory_bandwidth_gb_s;
    l2_bytes_ = static_cast<double>(entry.spec.l2_bytes);
  }
}

double SpeedLimit::least_us(const Problem& problem) const {
  const auto precision = static_cast<std::size_t>(problem.precision);
  if (rates_ == nullptr || precision >= rates_->size()) return 0;
  constexpr double kFlops = 2;  // the operations of a multiply-add
  const double bytes = minimal_bytes(problem);
  const double arithmetic_clocks = flops(problem) / kFlops / (*rates_)[precision] / sm_count_;
  const double fill_clocks = bytes / kFill_bytes / sm_count_;
  const double memory_us = std::max(0.0, bytes - l2_bytes_) / bandwidth_gb_s_ * 1e-3;
  return std::max(std::max(arithmetic_clocks, fill_clocks) / clock_mhz_, memory_us);
}

}  // namespace mmtune
