// mmtune devices: what --device accepts, with the limits behind it.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/gpu/device_query.h"
#include "runtime/gpu/driver.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

void add_row(Table& table, const std::string& device, const DeviceSpec& spec) {
  constexpr double kKib = 1024;
  constexpr double kMib = 1024 * kKib;
  table.add({device, spec.name, fmt::format("{}.{}", spec.cc_major, spec.cc_minor), spec.sm_count,
             Cell(static_cast<double>(spec.smem_per_block_optin) / kKib, 0),
             Cell(static_cast<double>(spec.smem_per_sm) / kKib, 0), Cell(static_cast<double>(spec.l2_bytes) / kMib, 1),
             Cell(peak_tflops(spec, Unit::core_fp32), 2), Cell(spec.memory_bandwidth_gb_s, 0)});
}

void add_installed(Table& table) {
  try {
    const int count = gpu_count();
    if (count == 0) log::warning("the driver offers no GPU; only models are listed");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      add_row(table, fmt::format("{}", ordinal), query_device(ordinal));
    }
  } catch (const DeviceError& error) {
    log::warning("no installed GPU is listed: {}", error.what());
  }
}

DeviceProperty number(std::string name, std::int64_t value, std::string unit = "") {
  return {std::move(name), fmt::format("{}", value), std::move(unit)};
}

/// What is known of every GPU, installed or not.
std::vector<DeviceProperty> properties_of(const DeviceSpec& spec) {
  std::vector<DeviceProperty> properties{
      {"compute capability", fmt::format("{}.{}", spec.cc_major, spec.cc_minor), ""},
      number("multiprocessors", spec.sm_count),
      number("fp32 cores per multiprocessor", fma_per_clock_per_sm(spec, Unit::core_fp32)),
      number("core clock", spec.core_clock_mhz, "MHz"),
      number("device memory", spec.memory_bytes, "bytes"),
      {"memory bandwidth", fmt::format("{:.0f}", spec.memory_bandwidth_gb_s), "GB/s"},
      number("L2 cache", spec.l2_bytes, "bytes"),
      number("shared memory per block", spec.smem_per_block, "bytes"),
      number("shared memory per block, opted in", spec.smem_per_block_optin, "bytes"),
      number("shared memory per multiprocessor", spec.smem_per_sm, "bytes"),
      number("shared memory the system keeps of a block", spec.smem_reserved_per_block, "bytes"),
      number("registers per block", spec.max_registers_per_block),
      number("registers per multiprocessor", spec.max_registers_per_sm),
      number("registers per thread", spec.max_registers_per_thread),
      number("warp size", spec.warp_size),
      number("threads per block", spec.max_threads_per_block),
      number("threads per multiprocessor", spec.max_threads_per_sm),
      number("blocks per multiprocessor", spec.max_blocks_per_sm),
      number("blocks per cluster", spec.max_cluster_size),
  };
  for (const Precision precision : kAllPrecisions) {
    properties.push_back(
        {fmt::format("{} peak", to_string(precision)), fmt::format("{:.2f}", peak_tflops(spec, precision)), "TFLOP/s"});
  }
  if (!spec.uuid.empty()) properties.push_back({"UUID", spec.uuid, ""});
  return properties;
}

/// Everything about the devices that are named.
ExitCode describe(const Options& options) {
  Table table({left("device", Fit::shared), left("property"), right("value"), left("unit")});
  for (const DeviceChoice& device : choose_devices(options.device)) {
    auto properties = properties_of(device.spec);
    if (device.ordinal >= 0) {
      for (DeviceProperty& each : query_properties(device.ordinal)) properties.push_back(std::move(each));
    }
    for (const auto& [name, value, unit] : properties) table.add({device.spec.name, name, value, unit});
  }
  print(table, options);
  return ExitCode::done;
}

ExitCode list_devices(const Options& options) {
  const bool full = is_for_programs(options.format);
  const auto column = [full](const char* persistent, const char* friendly) {
    return right(full ? persistent : friendly);
  };
  Table table({left("device"), left("name", Fit::wraps), column("compute_capability", "CC"), column("sms", "SMs"),
               column("smem_block_kib", "smem KiB a block"), column("smem_sm_kib", "smem KiB an SM"),
               column("l2_mib", "L2 MiB"), column("peak_fp32_tflops", "fp32 TFLOP/s"),
               column("bandwidth_gb_s", "GB/s")});
  add_installed(table);
  for (const auto& entry : gpu_catalog()) add_row(table, fmt::format("model:{}", entry.key), entry.spec);
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_devices() {
  auto options = std::make_shared<Options>();
  options->device.clear();
  Verb verb{.name = "devices",
            .group = VerbGroup::inspection,
            .help = "List installed GPUs, then the models that can stand in for one; or say everything about some",
            .examples = {"mmtune devices", "mmtune devices --format csv", "mmtune devices --device 0",
                         "mmtune devices --device model:gt740m,model:h200"},
            .run = [options] { return options->device.empty() ? list_devices(*options) : describe(*options); }};
  verb.add("Options",
           {{"--device", "LIST", "everything about these: auto, numbers of GPUs and model:NAME with commas, or all",
             device_target(options->device)}});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
