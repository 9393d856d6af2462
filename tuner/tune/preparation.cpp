#include "tuner/tune/preparation.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>

#include "runtime/choose/dispatch.h"
#include "templates/gpu/occupancy.h"

namespace mmtune {

std::string Preparation::source_hash(const Problem& problem, const Candidate& candidate, SourceHashes& hashes) const {
  const auto& [family, config] = candidate;
  const LaunchPlan plan = family->plan(problem, config, device_);
  return hashes.hash(*family, problem, config, plan, target_.compute_capability);
}

Program Preparation::program(const Problem& problem, const Candidate& candidate) const {
  const auto& [family, config] = candidate;
  Program program{candidate, family->plan(problem, config, device_), {}, {}, {}};
  program.source = render(files_, *family, problem, config, program.plan, target_.compute_capability);
  program.key = {key_of(device_), problem, std::string(family->name()), config.text(), program.source.hash, evidence_};
  return program;
}

Binary Preparation::binary(const Compilation& compilation) const {
  Binary binary;
  binary.hash = compilation.code_hash;
  binary.target = target_.name;
  binary.exact_target = target_.exact;
  binary.cubin = compilation.cubin;
  binary.compile_ms = compilation.compile_ms;
  binary.nvrtc = nvrtc_;
  const auto is_main = [](const KernelResources& kernel) { return multiplies(kernel.kernel); };
  const bool has_main = std::any_of(compilation.kernels.begin(), compilation.kernels.end(), is_main);
  for (const KernelResources& kernel : compilation.kernels) {
    if (!has_main || is_main(kernel)) binary.registers = std::max(binary.registers, kernel.registers);
    binary.spill_bytes = std::max(binary.spill_bytes, kernel.spill_bytes);
    binary.stack_bytes = std::max(binary.stack_bytes, kernel.stack_bytes);
    binary.static_smem_bytes = std::max(binary.static_smem_bytes, kernel.static_smem_bytes);
  }
  return binary;
}

Binary Preparation::compiled(const Program& program, const Nvrtc& nvrtc) const {
  const Compilation compilation = nvrtc.compile(program.source, files_, target_);
  if (compilation.ok()) return binary(compilation);
  throw Error(fmt::format("{}: does not compile: {}", key_of(program.candidate), compilation.log));
}

bool Preparation::makes(const TrialKey& key) const {
  return why_changed(key, device_, files_, target_.compute_capability).empty();
}

bool Preparation::makes(const TrialKey& key, CurrentSources& sources) const {
  return why_changed(key, sources, target_.compute_capability).empty();
}

Trial Preparation::trial(const Program& program, const Environment& environment) const {
  Trial trial;
  trial.key = program.key;
  trial.environment = environment;
  trial.deterministic = program.plan.deterministic;
  return trial;
}

Trial Preparation::compiled_trial(const Program& program, const Environment& environment) const {
  Trial trial = this->trial(program, environment);
  const LaunchStep& step = main_step(program.plan);
  const Binary& binary = program.binary;
  const auto threads = static_cast<int>(block_threads(step));
  trial.binary_hash = binary.hash;
  trial.smem_bytes = step.smem_bytes + binary.static_smem_bytes;
  const Occupancy fit = occupancy(device_, {threads, binary.registers, trial.smem_bytes});
  trial.occupancy = fit.share;
  if (fit.blocks_per_sm == 0) {
    trial.outcome = Outcome::does_not_fit;
    trial.note = fmt::format("{} threads of {} registers with {} bytes of shared memory exceed an SM", threads,
                             binary.registers, trial.smem_bytes);
  } else if (!program.plan.may_spill && binary.spill_bytes > 0) {
    trial.outcome = Outcome::does_not_fit;
    trial.note = fmt::format("{} bytes of registers spill, which this kernel must not", binary.spill_bytes);
  }
  return trial;
}

}  // namespace mmtune
