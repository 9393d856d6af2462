#include "tuner/devices/device_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "templates/base/names.h"
#include "templates/base/parsed_number.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr std::string_view kModelPrefix = "model:";
constexpr std::string_view kFallbackModel = "h200";

DeviceChoice model(std::string_view key) {
  DeviceChoice choice{catalog_gpu(key), -1};
  choice.spec.installed = false;
  return choice;
}

/// What stands in for an installed GPU; `reason` says why there is none.
using Absent = std::function<DeviceChoice(const std::string& reason)>;

DeviceChoice automatic(const GpuQuery& query, const Absent& absent) {
  std::string reason = "the driver offers no GPU";
  try {
    if (const auto gpus = query(); !gpus.empty()) return {gpus.front(), 0};
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    reason = error.what();
  }
  return absent(reason);
}

DeviceChoice model_to_tune_for(const std::string& reason) {
  log::warning("NO GPU: {}", reason);
  log::warning("planning for model:{} instead: nothing is measured, every time is predicted", kFallbackModel);
  return model(kFallbackModel);
}

/// "NVIDIA H200 (model:h200)"; the name alone of a GPU that the catalogue does not know.
std::string text_of(const DeviceKey& key) {
  const CatalogEntry* entry = catalog_entry(key);
  return entry == nullptr ? excerpt(key.name) : fmt::format("{} ({}{})", entry->spec.name, kModelPrefix, entry->key);
}

DeviceChoice model_with_results(const StoredGpus& stored) {
  if (stored.keys.empty()) {
    log::warning("no GPU is installed: this is for {}{}; --device names another", kModelPrefix, kFallbackModel);
    return model(kFallbackModel);
  }
  if (stored.keys.size() == 1) {
    if (const CatalogEntry* entry = catalog_entry(stored.keys.front())) return model(entry->key);
  }
  std::vector<std::string> names;
  for (const DeviceKey& key : stored.keys) names.push_back(text_of(key));
  const auto* const remedy = names.size() > 1 ? "name one with --device"
                                              : "its limits are not known here: name a GPU with --device model:NAME";
  throw UsageError(fmt::format("--device auto: no GPU is installed, and {} has results of {}; {}",
                               excerpt(stored.database), fmt::join(names, ", "), remedy));
}

Absent model_to_describe(const StoredGpuQuery& stored) {
  return [&stored](const std::string&) { return model_with_results(stored ? stored() : StoredGpus{}); };
}

DeviceChoice installed(int ordinal, const GpuQuery& query) {
  const auto gpus = query();
  const auto index = static_cast<std::size_t>(ordinal);
  if (index < gpus.size()) return {gpus[index], ordinal};
  throw DeviceError(gpus.empty()
                        ? fmt::format("no GPU {}: the driver offers none; see mmtune devices", ordinal)
                        : fmt::format("no GPU {}: there are 0 to {}; see mmtune devices", ordinal, gpus.size() - 1));
}

std::vector<DeviceChoice> all_installed(const GpuQuery& query) {
  std::vector<DeviceChoice> devices;
  for (DeviceSpec& gpu : query()) devices.push_back({std::move(gpu), static_cast<int>(devices.size())});
  if (devices.empty()) throw DeviceError("--device all: the driver offers no GPU; see mmtune devices");
  return devices;
}

/// "did you mean 'model:h200'? "; empty where no name is near.
std::string question(std::string_view text) {
  std::vector<std::string_view> known{"auto"};
  for (const CatalogEntry& entry : gpu_catalog()) known.push_back(entry.key);
  const std::string_view nearest = nearest_name(text, known);
  if (nearest.empty()) return "";
  return fmt::format("did you mean '{}{}'? ", nearest == "auto" ? "" : kModelPrefix, nearest);
}

DeviceChoice choose(std::string_view text, const GpuQuery& query, const Absent& absent) {
  if (text == "auto") return automatic(query, absent);
  if (text.starts_with(kModelPrefix)) return model(text.substr(kModelPrefix.size()));
  const auto ordinal = parsed_number<int>(text);
  if (!ordinal || *ordinal < 0) {
    throw UsageError(fmt::format("--device '{}': {}write auto, a GPU's number, or model:NAME; see mmtune devices",
                                 excerpt(text), question(text)));
  }
  return installed(*ordinal, query);
}

std::vector<DeviceChoice> choose_list(std::string_view text, const GpuQuery& query, const Absent& absent) {
  if (text == "all") return all_installed(query);
  std::optional<std::vector<DeviceSpec>> gpus;
  const auto query_once = [&] { return gpus ? *gpus : gpus.emplace(query()); };
  std::vector<DeviceChoice> devices;
  for (const auto part : split(text, ',')) {
    const DeviceChoice device = choose(part, query_once, absent);
    const bool is_known = std::any_of(devices.begin(), devices.end(), [&](const DeviceChoice& known) {
      return known.ordinal == device.ordinal && is_same_model(known, device);
    });
    if (is_known) {
      throw UsageError(fmt::format("--device '{}': '{}' is named twice; name it once", excerpt(text), excerpt(part)));
    }
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

const CatalogEntry* catalog_entry(const DeviceKey& key) {
  const auto& catalog = gpu_catalog();
  const auto found =
      std::find_if(catalog.begin(), catalog.end(), [&](const CatalogEntry& each) { return key_of(each.spec) == key; });
  return found == catalog.end() ? nullptr : &*found;
}

DeviceChoice choose_device(std::string_view text, const GpuQuery& query) {
  return choose(text, query, model_to_tune_for);
}

DeviceChoice choose_described_device(std::string_view text, const GpuQuery& query, const StoredGpuQuery& stored) {
  return choose(text, query, model_to_describe(stored));
}

std::vector<DeviceChoice> choose_devices(std::string_view text, const GpuQuery& query) {
  return choose_list(text, query, model_to_tune_for);
}

std::vector<DeviceChoice> choose_described_devices(std::string_view text, const GpuQuery& query,
                                                   const StoredGpuQuery& stored) {
  return choose_list(text, query, model_to_describe(stored));
}

bool is_same_model(const DeviceChoice& x, const DeviceChoice& y) {
  return key_of(x.spec) == key_of(y.spec) && evidence_of(x) == evidence_of(y);
}

std::vector<DeviceChoice> models_of(const std::vector<DeviceChoice>& devices) {
  std::vector<DeviceChoice> models;
  for (const DeviceChoice& device : devices) {
    const auto same = [&](const DeviceChoice& model) { return is_same_model(model, device); };
    if (std::none_of(models.begin(), models.end(), same)) models.push_back(device);
  }
  return models;
}

std::string to_string(const DeviceChoice& device) {
  if (device.ordinal >= 0) return fmt::format("GPU {}, {}", device.ordinal, device.spec.name);
  return fmt::format("model {} (not installed: all times are predicted)", device.spec.name);
}

}  // namespace mmtune
