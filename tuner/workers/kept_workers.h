// The processes that one session leaves to the next: loading NVRTC and its headers, and opening a GPU, take seconds.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/worker_lane.h"

namespace mmtune {

/// A GPU that is measured on, and nobody else measures on it in between.
struct KeptGpu {
  std::optional<GpuLock> lock;
  OpenWorker worker;
};

/// For sessions that one thread runs, one after the other; the workers end with it (see Process).
class KeptWorkers {
 public:
  /// Those that the first session began with. Throws what the constructor of a pool does.
  std::shared_ptr<CompilePool> compilers(const TemplateFiles& files, const CompilePoolOptions& options) {
    if (!compilers_) compilers_ = std::make_shared<CompilePool>(files, options);
    return compilers_;
  }

  KeptGpu& gpu(const std::string& uuid) { return gpus_[uuid]; }

 private:
  std::shared_ptr<CompilePool> compilers_;
  std::map<std::string, KeptGpu> gpus_;
};

}  // namespace mmtune
