// Tuned kernels for projects without mmtune, SQLite and NVRTC: one header that launches them, and their machine code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/gpu/device_spec.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// How a program is launched for a problem.
struct BundledProduct {
  Problem problem;
  LaunchPlan plan;
  std::string title;  ///< a name for people: "tiled TILE=32"
  std::string file;   ///< the file of its machine code, beside the header
};

/// A header for C++17 that launches these on the GPU, and declares everything in this namespace.
std::string bundle_header(const std::vector<BundledProduct>& products, const DeviceSpec& device,
                          std::string_view name_space);

}  // namespace mmtune
