#include "tuner/inspect/local_compiler.h"

#include <mmtune/error.h>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"

namespace mmtune {
namespace {

CompileTarget target_of(const DeviceSpec& device, const Nvrtc* nvrtc) {
  return compile_target(device, nvrtc != nullptr ? nvrtc->supported() : std::vector{compute_capability(device)});
}

}  // namespace

std::optional<Nvrtc> nvrtc_if_installed() {
  try {
    return Nvrtc::load();
  } catch (const DeviceError& error) {
    log::warning("{}; registers are what the families expect", error.what());
    return std::nullopt;
  }
}

LocalCompiler::LocalCompiler(const DeviceSpec& device, Evidence evidence, const Nvrtc* nvrtc)
    : nvrtc_(nvrtc),
      preparation_(template_files(), device, target_of(device, nvrtc), evidence,
                   nvrtc != nullptr ? nvrtc->version() : "") {}

Program LocalCompiler::program(const Family& family, const Config& config, const Problem& problem) {
  const Config complete = family.complete(config, problem, device());
  if (!family.broken_rule(problem, complete, device()).empty()) {
    throw UsageError(explain(family, problem, complete, device()));
  }
  Program program = preparation_.program(problem, {&family, complete});
  // Registers that another architecture's program has say nothing of a model; an installed GPU runs that program.
  const bool is_model = preparation_.evidence() == Evidence::predicted;
  if (nvrtc_ == nullptr || (is_model && !preparation_.target().exact)) return program;
  auto known = binaries_.find(program.source.hash);
  if (known == binaries_.end()) {
    known = binaries_.emplace(program.source.hash, preparation_.compiled(program, *nvrtc_)).first;
  }
  program.binary = known->second;
  return program;
}

int registers_of(const Program& program) {
  return program.binary.hash.empty() ? program.plan.work.registers : program.binary.registers;
}

}  // namespace mmtune
