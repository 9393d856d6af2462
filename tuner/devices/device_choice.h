// The --device argument: an installed GPU, or one known from its published limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "db/trial.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {

struct DeviceChoice {
  DeviceSpec spec;
  int ordinal = -1;  ///< the number of the installed GPU; -1: a model, everything is predicted
};

/// What the installed GPUs are learnt from, in the order of their numbers; throws DeviceError as the driver does.
using GpuQuery = std::function<std::vector<DeviceSpec>()>;

/// "auto": GPU 0, or, where there is no driver or no GPU, model:h200 with a warning on stderr. "0", "1", …: that GPU.
/// "model:h200": an entry of the catalogue. Throws UsageError for any other text or an unknown model, DeviceError for
/// a GPU that does not exist, naming those that do.
DeviceChoice choose_device(std::string_view text, const GpuQuery& query);

/// The entry of a GPU; null where the catalogue does not have it.
const CatalogEntry* catalog_entry(const DeviceKey& key);

/// The GPUs that a database has results of.
struct StoredGpus {
  std::string database;  ///< the path of the database, for messages
  std::vector<DeviceKey> keys;
};
using StoredGpuQuery = std::function<StoredGpus()>;

/// The device of a verb that measures nothing. "auto" where there is no driver or no GPU: the one GPU of the catalogue
/// that `stored` has results of; UsageError that names them where it has several, or one that the catalogue does not
/// know; where it has none, or there is no query, model:h200, with one line on stderr.
DeviceChoice choose_described_device(std::string_view text, const GpuQuery& query, const StoredGpuQuery& stored = {});

/// "all": every installed GPU. Else one or more as for choose_device(), separated by commas, none twice. Asks for the
/// installed GPUs once at most.
std::vector<DeviceChoice> choose_devices(std::string_view text, const GpuQuery& query);
std::vector<DeviceChoice> choose_described_devices(std::string_view text, const GpuQuery& query,
                                                   const StoredGpuQuery& stored = {});

/// The first device of each model: cards that share results, measured and predicted apart.
std::vector<DeviceChoice> models_of(const std::vector<DeviceChoice>& devices);
bool is_same_model(const DeviceChoice& x, const DeviceChoice& y);

/// What its times are.
inline Evidence evidence_of(const DeviceChoice& device) {
  return device.ordinal >= 0 ? Evidence::measured : Evidence::predicted;
}

/// "GPU 0, NVIDIA H200" or "model NVIDIA H200 (not installed: all times are predicted)".
std::string to_string(const DeviceChoice& device);

}  // namespace mmtune
