// Kernels that are loaded on the GPU, so that a program is loaded once however often and from wherever it is launched.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/gpu/launch.h"

namespace mmtune {

using LoadedKernelPtr = std::shared_ptr<const LoadedKernel>;

/// Thread safe. A kernel stays loaded until the cache is gone and no pointer is held; both must happen before its
/// context is destroyed.
class KernelCache {
 public:
  /// The kernel of a program for the plan's steps, loaded on first use. `hash` identifies the program, and `cubin`
  /// makes it, only if it must be loaded; meanwhile other threads wait for this kernel, but not for others. `context`
  /// must be current. What `cubin` or loading throws reaches every thread that waits; the next call tries again.
  LoadedKernelPtr get(CUcontext context, const std::string& hash, const LaunchPlan& plan,
                      const std::function<std::string()>& cubin);

  /// The kernel if it is loaded already, else null: also while get() is loading it, and where that fails.
  LoadedKernelPtr find(CUcontext context, const std::string& hash, const LaunchPlan& plan);

 private:
  /// The context, the program, and what LoadedKernel takes from a plan.
  using Key = std::tuple<CUcontext, std::string, std::string>;

  std::mutex mutex_;
  std::map<Key, std::shared_future<LoadedKernelPtr>> kernels_;
};

}  // namespace mmtune
