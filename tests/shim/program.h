// A rendered source as machine code for the host.
#pragma once

#include <string>

#include "templates/family/render.h"
#include "templates/plan/launch_plan.h"

namespace mmtune::shim {

/// What keeps a source from running here, by the name of an instruction of tensor cores outside of the headers that
/// have stand-ins: "tcgen05 cannot run on the host: the GPU suite covers it". Empty if nothing does.
std::string beyond_the_host(const Source& source, const TemplateFiles& files);

/// Compiled by the compiler that built the tests, with the address and undefined-behaviour sanitizers, and loaded.
/// Stays loaded until the end of the process, so that reports can name lines.
class Program {
 public:
  /// Calls a kernel with the arguments at these addresses, for one thread.
  using Kernel = void (*)(void** arguments, int count);

  /// Makes those of the source's kernels that the plan launches ready to run. Throws Error with the compiler's
  /// messages, or with what is beyond the host.
  Program(const Source& source, const LaunchPlan& plan, const TemplateFiles& files);

  /// Throws Error if the plan named no such kernel.
  Kernel kernel(const std::string& name) const;

 private:
  void* library_;
};

}  // namespace mmtune::shim
