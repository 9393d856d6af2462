// A worker from inside: the loop of the process that WorkerProcess starts. It touches CUDA and NVRTC so that its parent
// need not, and keeps nothing that would be missed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tuner/lanes/lane.h"
#include "tuner/workers/compiler_facts.h"

namespace mmtune {

/// How a worker does what it is asked for; tests bring their own.
struct WorkerParts {
  std::function<std::vector<DeviceSpec>()> gpus;
  std::function<CompilerFacts()> compiler;
  std::function<std::unique_ptr<Lane>(const DeviceChoice&, const CompileTarget&)> make_lane;
  std::function<Compilation(const Source&, const CompileTarget&)> compile;
};

/// The parts with the installed driver, and NVRTC, which is loaded when it is first needed.
WorkerParts real_parts();

/// Serves the parent on kChannelDescriptor until that closes it, or the worker is of no more use. `arguments` are those
/// that follow the word "worker". Throws UsageError where they are not WorkerProcess's.
void run_worker(std::span<const std::string> arguments, const WorkerParts& parts);

}  // namespace mmtune
