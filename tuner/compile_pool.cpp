#include "tuner/compile_pool.h"

#include <utility>

namespace mmtune {

CompilePool::CompilePool(const Nvrtc& nvrtc, const TemplateFiles& files, CompileTarget target, int threads)
    : nvrtc_(nvrtc), files_(files), target_(std::move(target)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

CompilePool::~CompilePool() {
  clear();
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void CompilePool::submit(std::size_t ticket, Source source) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({ticket, std::move(source)});
  wake_worker_.notify_one();
}

std::optional<CompilePool::Result> CompilePool::next() {
  std::unique_lock lock(mutex_);
  wake_owner_.wait(lock, [this] { return fault_ || !finished_.empty() || (waiting_.empty() && running_ == 0); });
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  if (finished_.empty()) return std::nullopt;
  Result result = std::move(finished_.front());
  finished_.pop_front();
  return result;
}

void CompilePool::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  finished_.clear();
  ++generation_;
}

void CompilePool::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_worker_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    const Job job = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t generation = generation_;
    ++running_;
    lock.unlock();
    Result result{job.ticket, {}};
    std::exception_ptr fault;
    try {
      result.compilation = nvrtc_.compile(job.source, files_, target_, [&stop] { return stop.stop_requested(); });
    } catch (...) {
      fault = std::current_exception();
    }
    lock.lock();
    --running_;
    if (generation == generation_) {
      if (fault) {
        fault_ = fault;
      } else {
        finished_.push_back(std::move(result));
      }
    }
    wake_owner_.notify_one();
  }
}

}  // namespace mmtune
