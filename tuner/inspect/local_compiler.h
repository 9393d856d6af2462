// Programs for one device, compiled in this process: for verbs that look at single configurations, not at candidates
// of a search.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/gpu/nvrtc.h"
#include "tuner/lanes/program.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// NVRTC; nothing, with a warning that says so, where it is missing.
std::optional<Nvrtc> nvrtc_if_installed();

class LocalCompiler {
 public:
  /// `nvrtc` must outlive it; null: nothing is compiled.
  LocalCompiler(const DeviceSpec& device, Evidence evidence, const Nvrtc* nvrtc);

  const DeviceSpec& device() const { return preparation_.device(); }

  /// The configuration, completed and rendered for the problem, and compiled, unless there is no NVRTC or it does not
  /// know the architecture of a model: then its binary has no hash. A source is compiled once. Throws UsageError where
  /// a rule keeps it from running, Error with the compiler's words where it does not compile.
  Program program(const Family& family, const Config& config, const Problem& problem);

 private:
  const Nvrtc* nvrtc_;
  Preparation preparation_;
  std::map<std::string, Binary> binaries_;  ///< the binaries by the hash of their sources
};

/// Registers of a thread: the compiler's, or what the family expects of a program that was not compiled.
int registers_of(const Program& program);

}  // namespace mmtune
