// The lane of an installed GPU as the tuner uses it: candidates run in a worker, which they may hang or crash.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tuner/lane.h"
#include "tuner/process.h"

namespace mmtune {

/// A kernel that works, for a fresh worker after one was lost: if it fails too, the GPU is sick and not the candidate.
struct Canary {
  Problem problem;
  Contender contender;
};

struct WorkerLaneOptions {
  DeviceChoice device;
  CompileTarget target;
  std::optional<Canary> canary;             ///< without one every GPU counts as healthy
  std::chrono::milliseconds limit{10'000};  ///< for a candidate, beyond what its work can take
  std::string program = kThisProgram;       ///< what the worker runs
};

/// What a candidate may take: `limit`, and as long as a dozen launches that are a hundred times slower than the GPU's
/// peak rates allow.
std::chrono::milliseconds time_limit(const Problem& problem, const DeviceSpec& device, std::chrono::milliseconds limit);

/// Starts the worker at once and waits for nothing. A candidate that loses the worker, or breaks its context, has
/// crashed or timed_out; the next call works with a new worker. begin() waits for nothing either. Throws
/// DeviceLostError where the GPU is sick.
std::unique_ptr<Lane> make_worker_lane(WorkerLaneOptions options);

}  // namespace mmtune
