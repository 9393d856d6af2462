// The limits and rates of one GPU: read from the driver (runtime/gpu/device_query.h) or from the catalogue
// (templates/gpu/gpu_catalog.h), never assumed. Pure data; rules, occupancy and the cost model read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "templates/base/fields.h"
#include "templates/base/rules.h"
#include "templates/problem/dtype.h"

namespace mmtune {

struct ModelNumbers;  // templates/model/numbers.h

struct DeviceSpec {
  std::string name;        ///< the name as the driver says it: "NVIDIA H200"
  std::string uuid;        ///< empty for a catalogue entry
  bool installed = false;  ///< false: every result is a prediction

  int cc_major = 0;  ///< the compute capability
  int cc_minor = 0;
  int sm_count = 0;
  int warp_size = 32;

  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int max_registers_per_block = 0;
  int max_registers_per_sm = 0;
  int max_registers_per_thread = 255;

  std::int64_t smem_per_block = 0;           ///< bytes without opting in (static shared memory)
  std::int64_t smem_per_block_optin = 0;     ///< the bytes that a block may have at most
  std::int64_t smem_per_sm = 0;              ///< bytes
  std::int64_t smem_reserved_per_block = 0;  ///< the bytes that the system keeps of every block's share

  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int core_clock_mhz = 0;            ///< the boost clock
  double memory_bandwidth_gb_s = 0;  ///< the theoretical bandwidth, in 1e9 bytes a second
  int max_cluster_size = 1;          ///< portable cluster size; 1: no clusters

  /// What the model counts with for this device, in a fit; null: with the numbers of its architecture. Of this process.
  const ModelNumbers* numbers = nullptr;

  static constexpr void fields(auto&& visit) {
    visit("name", &DeviceSpec::name, rule::name);
    visit("uuid", &DeviceSpec::uuid, rule::label);
    visit("installed", &DeviceSpec::installed);
    visit("cc_major", &DeviceSpec::cc_major, rule::Within{1, 99});
    visit("cc_minor", &DeviceSpec::cc_minor, rule::Within{0, 9});
    visit("sm_count", &DeviceSpec::sm_count, kSmCounts);
    visit("warp_size", &DeviceSpec::warp_size, rule::not_negative);
    visit("max_threads_per_block", &DeviceSpec::max_threads_per_block, rule::not_negative);
    visit("max_threads_per_sm", &DeviceSpec::max_threads_per_sm, rule::not_negative);
    visit("max_blocks_per_sm", &DeviceSpec::max_blocks_per_sm, rule::not_negative);
    visit("max_registers_per_block", &DeviceSpec::max_registers_per_block, rule::not_negative);
    visit("max_registers_per_sm", &DeviceSpec::max_registers_per_sm, rule::not_negative);
    visit("max_registers_per_thread", &DeviceSpec::max_registers_per_thread, rule::not_negative);
    visit("smem_per_block", &DeviceSpec::smem_per_block, rule::not_negative);
    visit("smem_per_block_optin", &DeviceSpec::smem_per_block_optin, kSmemPerBlock);
    visit("smem_per_sm", &DeviceSpec::smem_per_sm, rule::not_negative);
    visit("smem_reserved_per_block", &DeviceSpec::smem_reserved_per_block, rule::not_negative);
    visit("l2_bytes", &DeviceSpec::l2_bytes, rule::not_negative);
    visit("memory_bytes", &DeviceSpec::memory_bytes, rule::not_negative);
    visit("core_clock_mhz", &DeviceSpec::core_clock_mhz, rule::not_negative);
    visit("memory_bandwidth_gb_s", &DeviceSpec::memory_bandwidth_gb_s, rule::amount);
    visit("max_cluster_size", &DeviceSpec::max_cluster_size, rule::not_negative);
  }

  static constexpr rule::Within kSmCounts{1, 99'999};
  static constexpr rule::Within kSmemPerBlock{0, std::int64_t{1} << 31};
};
static_assert(kListsAllMembers<DeviceSpec, 1>);

/// 10 * major + minor: 90 for an H200.
constexpr int compute_capability(const DeviceSpec& device) { return 10 * device.cc_major + device.cc_minor; }

/// Multiply-adds a clock and SM, dense; 0: the GPU has no such unit. From templates/gpu/architectures.h: a GPU of an
/// architecture that has no row there counts as one of the newest older one that has. On GeForce GPUs tensor cores add
/// floating-point products to fp32 sums at half the architecture's rate (NVIDIA's white papers on GA102, Ada and RTX
/// Blackwell: "with FP32 accumulate").
int fma_per_clock_per_sm(const DeviceSpec& device, Unit unit);

/// Operations a second at the boost clock, multiply-adds counted as two, in 1e12.
double peak_tflops(const DeviceSpec& device, Unit unit);

/// The peak of the unit that the precision's row names, or of core_unit() where the GPU lacks it: what "% peak",
/// rooflines and time limits mean.
double peak_tflops(const DeviceSpec& device, Precision precision);

/// What `nvrtc --gpu-architecture` gets. Where the toolkit has no such target the oldest available one is used, and
/// `exact` is false.
struct CompileTarget {
  int compute_capability = 0;
  bool exact = true;
  std::string name;  ///< "sm_90a"

  static constexpr void fields(auto&& visit) {
    visit("compute_capability", &CompileTarget::compute_capability);
    visit("exact", &CompileTarget::exact);
    visit("name", &CompileTarget::name);
  }
};
static_assert(kListsAllMembers<CompileTarget>);

/// The target for this GPU among those that NVRTC supports (ascending, e.g. {75, 80, 86, 90}): its own, or the newest
/// supported one of the same major below it, or else the oldest supported one, marked inexact. 90 and later get the
/// suffix "a" so that architecture-specific instructions assemble.
CompileTarget compile_target(const DeviceSpec& device, const std::vector<int>& supported);

}  // namespace mmtune
