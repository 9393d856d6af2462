// The GPU that results hold for, and the times that no kernel can be faster than there: one below comes from a broken
// clock, or from no measurement.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "templates/base/fields.h"
#include "templates/base/rules.h"
#include "templates/gpu/device_spec.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// Equal cards share results; the UUID is provenance only.
struct DeviceKey {
  std::string name;
  int compute_capability = 0;
  int sm_count = 0;
  std::int64_t smem_per_block_optin = 0;  ///< the bytes that a block may have

  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;

  static constexpr void fields(auto&& visit) {
    visit("name", &DeviceKey::name, rule::name);
    visit("compute_capability", &DeviceKey::compute_capability, rule::Within{10, 999});
    visit("sm_count", &DeviceKey::sm_count, DeviceSpec::kSmCounts);
    visit("smem_per_block_optin", &DeviceKey::smem_per_block_optin, DeviceSpec::kSmemPerBlock);
  }
};
static_assert(kListsAllMembers<DeviceKey>);

DeviceKey key_of(const DeviceSpec& device);

/// The shortest times on the GPUs of a key. The bounds are the operations at the rate of the fastest unit that could be
/// used, the operands and C through the caches of all SMs, and what of them does not fit into L2 from memory: all at a
/// clock that no card of the model reaches. Of an architecture without a row in the table of rates nothing is known,
/// and every time is possible.
class SpeedLimit {
 public:
  explicit SpeedLimit(const DeviceKey& device);

  /// Microseconds for one product; 0 where nothing is known.
  double least_us(const Problem& problem) const;

 private:
  /// Multiply-adds a clock and SM, by Precision.
  using Rates = std::array<double, kAllPrecisions.size()>;
  static const Rates* rates_of(int compute_capability);

  const Rates* rates_;  ///< null where they are not known
  double sm_count_;
  double clock_mhz_;
  double bandwidth_gb_s_;  ///< infinite where it is not known
  double l2_bytes_ = 0;
};

}  // namespace mmtune
