// mmtune devices: what --device accepts, with the limits behind it.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <memory>

#include "runtime/device_query.h"
#include "runtime/driver.h"
#include "runtime/log.h"
#include "templates/gpu_catalog.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"

namespace mmtune {
namespace {

void add_row(Table& table, const std::string& device, const DeviceSpec& spec) {
  constexpr double kKib = 1024;
  constexpr double kMib = 1024 * kKib;
  table.add({device, spec.name, fmt::format("{}.{}", spec.cc_major, spec.cc_minor), std::int64_t{spec.sm_count},
             Real{static_cast<double>(spec.smem_per_block_optin) / kKib, 0},
             Real{static_cast<double>(spec.smem_per_sm) / kKib, 0}, Real{static_cast<double>(spec.l2_bytes) / kMib, 1},
             Real{peak_tflops(spec, Unit::core_fp32), 2}, Real{spec.memory_bandwidth_gb_s, 0}});
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

ExitCode devices(const Options& options) {
  constexpr auto kRight = Align::right;
  Table table({{"device"},
               {"name"},
               {"compute_capability", kRight},
               {"sms", kRight},
               {"smem_block_kib", kRight},
               {"smem_sm_kib", kRight},
               {"l2_mib", kRight},
               {"peak_fp32_tflops", kRight},
               {"bandwidth_gb_s", kRight}});
  add_installed(table);
  for (const auto& entry : gpu_catalog()) add_row(table, fmt::format("model:{}", entry.key), entry.spec);
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_devices() {
  auto options = std::make_shared<Options>();
  Verb verb{.name = "devices",
            .group = VerbGroup::inspection,
            .help = "List installed GPUs, then the models that can stand in for one",
            .examples = {"mmtune devices", "mmtune devices --format csv"},
            .run = [options] { return devices(*options); }};
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
