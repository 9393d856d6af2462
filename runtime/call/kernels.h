// Loads the kernel of a choice on the GPU: read from a database or compiled, as far as that is permitted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/call/loaded_route.h"
#include "runtime/call/programs.h"
#include "runtime/choose/dispatch.h"
#include "runtime/gpu/kernel_cache.h"

namespace mmtune {

/// How far one may go for a kernel. Each includes those before it.
enum class Access {
  loaded,    ///< what is loaded already: anything else would end the capture of a stream
  stored,    ///< what a database has
  compiled,  ///< what NVRTC compiles
};

/// Thread safe. Must end in the context that kernels were loaded in.
class Kernels {
 public:
  /// Arguments as for Programs.
  Kernels(std::vector<std::string> databases, DeviceSpec device, TemplateFiles files, LockBudget& budget)
      : programs_(std::move(databases), std::move(device), std::move(files), budget) {}

  Programs& programs() { return programs_; }

  /// Null where the access does not suffice. `context` must be current unless the access is `loaded`. Throws what keeps
  /// the program from being read, compiled or loaded.
  LoadedKernelPtr get(CUcontext context, const Choice& choice, const Problem& problem, Access access);

  /// The kernel that gives the plain product of a problem this epilogue; the rest as for get().
  std::optional<Finish> finish(CUcontext context, const Problem& problem, const Fusion& fusion, Access access);

 private:
  Programs programs_;
  KernelCache cache_;
};

}  // namespace mmtune
