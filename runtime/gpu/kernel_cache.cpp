#include "runtime/gpu/kernel_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>

namespace mmtune {
namespace {

std::string steps_of(const LaunchPlan& plan) {
  std::string text;
  for (const LaunchStep& step : plan.steps) {
    text += fmt::format("{} smem={} cluster={};", step.kernel, step.smem_bytes, cluster_blocks(step));
  }
  return text;
}

}  // namespace

LoadedKernelPtr KernelCache::get(CUcontext context, const std::string& hash, const LaunchPlan& plan,
                                 const std::function<std::string()>& cubin) {
  const Key key{context, hash, steps_of(plan)};
  std::promise<LoadedKernelPtr> promise;
  std::shared_future<LoadedKernelPtr> known;
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, inserted] = kernels_.try_emplace(key);
    if (inserted) {
      entry->second = promise.get_future().share();
    } else {
      known = entry->second;
    }
  }
  if (known.valid()) return known.get();

  try {
    auto kernel = std::make_shared<const LoadedKernel>(cubin(), plan);
    promise.set_value(kernel);
    return kernel;
  } catch (...) {
    // The lock is held, so that find() never meets a failure.
    const std::lock_guard lock(mutex_);
    kernels_.erase(key);
    promise.set_exception(std::current_exception());
    throw;
  }
}

LoadedKernelPtr KernelCache::find(CUcontext context, const std::string& hash, const LaunchPlan& plan) {
  const Key key{context, hash, steps_of(plan)};
  const std::lock_guard lock(mutex_);
  const auto entry = kernels_.find(key);
  if (entry == kernels_.end()) return nullptr;
  const bool is_loaded = entry->second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return is_loaded ? entry->second.get() : nullptr;
}

}  // namespace mmtune
