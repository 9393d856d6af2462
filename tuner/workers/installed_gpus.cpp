#include "tuner/workers/installed_gpus.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include "runtime/base/log.h"
#include "tuner/workers/worker_process.h"

namespace mmtune {
namespace {

std::vector<DeviceSpec> ask_worker() { return installed_gpus(); }

/// The installed GPUs; none where the driver cannot be asked. Asked for once: each time takes a process.
const std::vector<DeviceSpec>& remembered_gpus() {
  static const std::vector<DeviceSpec> gpus = [] {
    try {
      return installed_gpus();
    } catch (const DeviceError& error) {
      log::debug("installed GPUs cannot be looked up: {}", error.what());
      return std::vector<DeviceSpec>();
    }
  }();
  return gpus;
}

}  // namespace

std::vector<DeviceSpec> installed_gpus(std::chrono::milliseconds limit) {
  try {
    WorkerProcess worker(kThisProgram, "driver");
    return worker.ask(GpusRequest{}, limit);
  } catch (const WorkerLost& lost) {
    throw DeviceError(fmt::format("the driver cannot be asked for GPUs: {}; see `mmtune doctor`", lost.what()));
  }
}

DeviceChoice choose_device(std::string_view text) { return choose_device(text, ask_worker); }

std::vector<DeviceChoice> choose_devices(std::string_view text) { return choose_devices(text, ask_worker); }

DeviceChoice choose_gpu(std::string_view text, std::string_view what) {
  DeviceChoice device = choose_device(text == "auto" ? "0" : text);
  if (evidence_of(device) == Evidence::measured) return device;
  throw DeviceError(fmt::format(
      "--device '{}': {}, for which a model is no use; name an installed GPU (see mmtune devices)", text, what));
}

DeviceChoice choose_described_device(std::string_view text, const StoredGpuQuery& stored) {
  return choose_described_device(text, ask_worker, stored);
}

std::vector<DeviceChoice> choose_described_devices(std::string_view text, const StoredGpuQuery& stored) {
  return choose_described_devices(text, ask_worker, stored);
}

std::optional<DeviceSpec> installed_gpu(const DeviceKey& key) {
  for (const DeviceSpec& spec : remembered_gpus()) {
    if (key_of(spec) == key) return spec;
  }
  return std::nullopt;
}

std::optional<DeviceSpec> known_gpu(const DeviceKey& key) {
  const CatalogEntry* entry = catalog_entry(key);
  return entry != nullptr ? std::optional(entry->spec) : installed_gpu(key);
}

}  // namespace mmtune
