#include "tuner/report/why.h"

#include "tuner/lanes/candidate.h"

namespace mmtune {
std::optional<Why> why_of(const Winner& winner, const DeviceSpec& device) {
  const Problem& problem = winner.trial.key.problem;
  const auto candidate = candidate_of(winner.trial.key);
  if (!candidate) return std::nullopt;
  const auto plan = candidate->family->legal_plan(problem, candidate->config, device);
  if (!plan || plan->steps.empty()) return std::nullopt;
  const LaunchStep& step = main_step(*plan);
  Why why;
  why.floors = floors(problem, peak_tflops(device, problem.precision), device);
  why.blocks = step.grid.x * step.grid.y * step.grid.z;
  why.block = {static_cast<int>(block_threads(step)), winner.binary.registers, winner.trial.smem_bytes};
  why.occupancy = occupancy(device, why.block);
  why.prediction = predict(problem, *plan, device, winner.binary.registers);
  return why;
}

}  // namespace mmtune
