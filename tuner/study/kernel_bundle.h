// Tuned kernels for projects without mmtune, SQLite and NVRTC: one header that launches them, and their machine code.
#pragma once

#include <string>
#include <vector>

#include "runtime/dispatch.h"

namespace mmtune {

/// A header for C++17 with a table of how each of these is launched for its size on the GPU. Machine code is looked for
/// in files named as binary_file() says.
std::string bundle_header(const std::vector<Entry>& entries, const DeviceSpec& device);

/// "0123….cubin".
std::string binary_file(const Kernel& kernel);

}  // namespace mmtune
