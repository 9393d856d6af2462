// The lane of an installed GPU as the tuner uses it: candidates run in a worker, which they may hang or crash.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tuner/lanes/lane.h"
#include "tuner/workers/process.h"
#include "tuner/workers/worker_process.h"

namespace mmtune {

/// A worker that has opened a GPU, and is free.
struct OpenWorker {
  std::unique_ptr<WorkerProcess> process;  ///< null: there is none
  Environment environment;
};

struct WorkerLaneOptions {
  DeviceChoice device;
  CompileTarget target;
  /// A program that is known to work on its key's problem, run before a candidate is blamed for a lost worker or a
  /// wrong result: if it fails too, in a fresh worker, the GPU is at fault. Without one every GPU counts as healthy.
  std::optional<Program> canary;
  std::chrono::milliseconds limit{10'000};         ///< the longest time for a candidate, beyond what its work can take
  std::chrono::milliseconds start_limit{120'000};  ///< the longest time for a driver that wakes up and a context
  std::chrono::milliseconds begin_limit{60'000};   ///< the longest time for operands or a race, beyond their work
  std::string program = kThisProgram;              ///< what the worker runs
  OpenWorker* kept = nullptr;  ///< where the lane takes its worker from, if there is one, and leaves one that works
};

/// What a candidate may take: `limit`, and as long as a dozen launches that are a hundred times slower than the GPU's
/// peak rates allow.
std::chrono::milliseconds time_limit(const Problem& problem, const DeviceSpec& device, std::chrono::milliseconds limit);

/// Starts the worker at once and waits for nothing. A candidate that loses the worker, or breaks its context, has
/// crashed or timed_out; the next call works with a new worker. begin() waits for nothing either. Throws
/// DeviceLostError where the GPU is at fault, instead of the verdict on the candidate that showed it.
std::unique_ptr<Lane> make_worker_lane(WorkerLaneOptions options);

}  // namespace mmtune
