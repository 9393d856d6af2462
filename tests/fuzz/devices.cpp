// The --device list, on a machine that pretends to have two equal GPUs and another one.
#include "templates/gpu/gpu_catalog.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/devices/device_choice.h"

namespace {

using namespace mmtune;

std::vector<DeviceSpec> installed() { return {catalog_gpu("h200"), catalog_gpu("h200"), catalog_gpu("t4")}; }

bool is_same(const DeviceChoice& x, const DeviceChoice& y) { return x.ordinal == y.ordinal && is_same_model(x, y); }

void check(const std::vector<DeviceChoice>& devices) {
  fuzz::require(!devices.empty(), "somewhere to run");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int ordinal = devices[i].ordinal;
    fuzz::require(ordinal >= -1 && ordinal < 3, "a model or an installed GPU");
    if (ordinal >= 0) {
      const DeviceSpec gpu = installed()[static_cast<std::size_t>(ordinal)];
      fuzz::require(key_of(devices[i].spec) == key_of(gpu), "the GPU of this number");
    }
    for (std::size_t j = 0; j < i; ++j) fuzz::require(!is_same(devices[i], devices[j]), "none twice");
  }
}

}  // namespace

MMTUNE_FUZZER(devices) {
  fuzz::allow<UsageError>(
      [&] { fuzz::allow<DeviceError>([&] { check(choose_devices(fuzz::text_of(data, size), installed)); }); });
  return 0;
}
