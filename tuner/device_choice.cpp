#include "tuner/device_choice.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <charconv>

#include "runtime/log.h"
#include "templates/gpu_catalog.h"
#include "tuner/worker_process.h"

namespace mmtune {
namespace {

constexpr std::string_view kModelPrefix = "model:";
constexpr std::string_view kFallbackModel = "h200";

DeviceChoice model(std::string_view key) {
  DeviceChoice choice{catalog_gpu(key), -1};
  choice.spec.installed = false;
  return choice;
}

DeviceChoice automatic() {
  std::string reason = "the driver offers no GPU";
  try {
    if (const auto gpus = installed_gpus(); !gpus.empty()) return {gpus.front(), 0};
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    reason = error.what();
  }
  log::warning("NO GPU: {}", reason);
  log::warning("planning for model:{} instead: nothing is measured, every time is predicted", kFallbackModel);
  return model(kFallbackModel);
}

DeviceChoice installed(int ordinal) {
  const auto gpus = installed_gpus();
  const auto index = static_cast<std::size_t>(ordinal);
  if (index < gpus.size()) return {gpus[index], ordinal};
  throw DeviceError(gpus.empty()
                        ? fmt::format("no GPU {}: the driver offers none; see mmtune devices", ordinal)
                        : fmt::format("no GPU {}: there are 0 to {}; see mmtune devices", ordinal, gpus.size() - 1));
}

}  // namespace

DeviceChoice choose_device(std::string_view text) {
  if (text == "auto") return automatic();
  if (text.starts_with(kModelPrefix)) return model(text.substr(kModelPrefix.size()));
  int ordinal = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (failure != std::errc{} || end != text.data() + text.size() || ordinal < 0) {
    throw UsageError(fmt::format("--device '{}': write auto, a GPU's number, or model:NAME; see mmtune devices", text));
  }
  return installed(ordinal);
}

std::string to_string(const DeviceChoice& device) {
  if (device.ordinal >= 0) return fmt::format("GPU {}, {}", device.ordinal, device.spec.name);
  return fmt::format("model {} (not installed: all times are predicted)", device.spec.name);
}

std::optional<DeviceSpec> installed_gpu(const DeviceKey& key) {
  try {
    for (const DeviceSpec& spec : installed_gpus()) {
      if (key_of(spec) == key) return spec;
    }
  } catch (const DeviceError& error) {
    log::debug("{} cannot be looked up: {}", key.name, error.what());
  }
  return std::nullopt;
}

std::optional<DeviceSpec> known_gpu(const DeviceKey& key) {
  for (const auto& entry : gpu_catalog()) {
    if (key_of(entry.spec) == key) return entry.spec;
  }
  return installed_gpu(key);
}

}  // namespace mmtune
