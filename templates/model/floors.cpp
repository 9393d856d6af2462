#include "templates/model/floors.h"

namespace mmtune {

Floors floors(const Problem& problem, double peak_tflops, const DeviceSpec& device) {
  return {flops(problem) / peak_tflops * 1e-6, minimal_bytes(problem) / device.memory_bandwidth_gb_s * 1e-3};
}

}  // namespace mmtune
