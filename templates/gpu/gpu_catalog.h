// Published limits of GPUs that need not be installed, for --device model:NAME.
#pragma once

#include <string_view>
#include <vector>

#include "templates/gpu/device_spec.h"

namespace mmtune {

struct CatalogEntry {
  std::string_view key;  ///< "h200", which follows "model:"
  DeviceSpec spec;
};

/// Ascending by compute capability, then by key.
const std::vector<CatalogEntry>& gpu_catalog();

/// The entry of that key in any case of letters. Throws UsageError that lists all keys.
const DeviceSpec& catalog_gpu(std::string_view key);

}  // namespace mmtune
