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

/// The lock of a GPU, and the process that has it open.
struct KeptGpu {
  std::optional<GpuLock> lock;
  OpenWorker worker;
};

/// For sessions that one thread runs on one GPU, one after the other; the workers end with that thread (see Process).
class KeptWorkers {
 public:
  /// The compilers, with the options of the first session. A source that one session gives up keeps its compiler into
  /// the next. Throws what the constructor of a pool does.
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
