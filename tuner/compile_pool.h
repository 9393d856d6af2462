// Threads that compile sources while the GPU measures. NVRTC compiles programs concurrently.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/nvrtc.h"

namespace mmtune {

/// submit() and next() are for one thread, the owner's.
class CompilePool {
 public:
  struct Result {
    std::size_t ticket = 0;
    Compilation compilation;
  };

  CompilePool(const Nvrtc& nvrtc, const TemplateFiles& files, CompileTarget target, int threads);
  /// Cancels what is running and waits for it.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Sources are compiled in the order of submission.
  void submit(std::size_t ticket, Source source);

  /// Waits for the next finished compilation, in any order; nothing if none is outstanding. Rethrows what a
  /// compilation threw.
  std::optional<Result> next();

  /// Forgets everything submitted and not yet returned.
  void clear();

 private:
  struct Job {
    std::size_t ticket = 0;
    Source source;
  };

  void work(const std::stop_token& stop);

  const Nvrtc& nvrtc_;
  const TemplateFiles& files_;
  CompileTarget target_;
  std::mutex mutex_;
  std::condition_variable_any wake_worker_;
  std::condition_variable wake_owner_;
  std::deque<Job> waiting_;
  std::deque<Result> finished_;
  std::exception_ptr fault_;
  std::size_t running_ = 0;
  std::size_t generation_ = 0;  ///< counts clear(): results of an older generation are dropped
  std::vector<std::jthread> threads_;
};

}  // namespace mmtune
