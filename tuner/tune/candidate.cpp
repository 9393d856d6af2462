#include "tuner/tune/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/dispatch.h"
#include "templates/families.h"
#include "templates/occupancy.h"

namespace mmtune {

Source Preparation::source(const Family& family, const Problem& problem, const Config& config) const {
  return render(files_, family, problem, config, device_, target_.compute_capability);
}

Attempt Preparation::attempt(const Problem& problem, const Point& point) const {
  Attempt attempt;
  attempt.point = point;
  attempt.candidate = {point.family, point.config, point.family->plan(problem, point.config, device_),
                       source(*point.family, problem, point.config)};
  attempt.key = {
      key_of(device_), problem, std::string(point.family->name()), point.config.text(), attempt.candidate.source.hash,
      evidence_};
  return attempt;
}

Binary Preparation::binary(const Compilation& compilation) const {
  Binary binary;
  binary.hash = compilation.code_hash;
  binary.target = target_.name;
  binary.exact_target = target_.exact;
  binary.cubin = compilation.cubin;
  binary.compile_ms = compilation.compile_ms;
  binary.nvrtc = nvrtc_;
  for (const KernelResources& kernel : compilation.kernels) {
    binary.registers = std::max(binary.registers, kernel.registers);
    binary.spill_bytes = std::max(binary.spill_bytes, kernel.spill_bytes);
    binary.stack_bytes = std::max(binary.stack_bytes, kernel.stack_bytes);
    binary.static_smem_bytes = std::max(binary.static_smem_bytes, kernel.static_smem_bytes);
  }
  return binary;
}

bool Preparation::makes(const TrialKey& key) const {
  return why_changed(key, device_, files_, target_.compute_capability).empty();
}

Trial Preparation::trial(const Attempt& attempt, const Environment& environment) const {
  Trial trial;
  trial.key = attempt.key;
  trial.environment = environment;
  trial.deterministic = attempt.candidate.plan.deterministic;
  return trial;
}

Trial Preparation::trial(const Attempt& attempt, const Environment& environment, const Binary& binary) const {
  Trial trial = this->trial(attempt, environment);
  const LaunchStep& step = main_step(attempt.candidate.plan);
  const auto threads = static_cast<int>(block_threads(step));
  trial.binary_hash = binary.hash;
  trial.smem_bytes = step.smem_bytes + binary.static_smem_bytes;
  const Occupancy fit = occupancy(device_, {threads, binary.registers, trial.smem_bytes});
  trial.occupancy = fit.share;
  if (fit.blocks_per_sm == 0) {
    trial.outcome = Outcome::does_not_fit;
    trial.note = fmt::format("{} threads of {} registers with {} bytes of shared memory exceed an SM", threads,
                             binary.registers, trial.smem_bytes);
  }
  return trial;
}

std::vector<const Family*> searched_families(const std::vector<std::string>& names) {
  std::vector<const Family*> searched;
  for (const std::string& name : names) searched.push_back(&family_named(name));
  if (names.empty()) {
    std::copy_if(families().begin(), families().end(), std::back_inserter(searched),
                 [](const Family* family) { return family->competes(); });
  }
  return searched;
}

}  // namespace mmtune
