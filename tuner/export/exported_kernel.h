// A kernel for projects that do not use mmtune: its source in one file, and its launch as JSON.
#pragma once

#include <string>

#include "templates/family/render.h"
#include "templates/gpu/device_spec.h"
#include "tuner/lanes/program.h"

namespace mmtune {

/// Throws UsageError for a name that its header could not hold or that leads elsewhere: the last part of NAME has
/// letters, digits, _, - and ., and begins with a letter or a digit; no folder before it is "..".
void check_kernel_name(const std::string& name);

/// The source with the device headers that it includes in their places: NVRTC and nvcc (--std=c++17) compile it alone,
/// to the same machine code.
std::string self_contained(const Source& source, const TemplateFiles& files);

/// How the program is launched for its problem on the GPU: an object whose members docs/cli.md explains.
std::string launch_json(const Program& program, const DeviceSpec& device);

}  // namespace mmtune
