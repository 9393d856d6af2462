#include "tuner/compile_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/worker_process.h"

namespace mmtune {
namespace {

constexpr std::chrono::milliseconds kStart{60'000};  // to load NVRTC

/// A worker that has loaded NVRTC: whatever it does later is the source's fault.
CompilerFacts facts_of(WorkerProcess& worker) {
  try {
    return worker.ask<CompilerFacts>({{"verb", verb::kCompiler}}, kStart);
  } catch (const WorkerLost& lost) {
    throw DeviceError(fmt::format("NVRTC cannot be loaded: {}; see `mmtune doctor`", lost.what()));
  }
}

}  // namespace

CompilePool::CompilePool(const TemplateFiles& files, CompilePoolOptions options)
    : options_(std::move(options)), headers_(hash_headers(files)) {
  if (options_.jobs <= 0) options_.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  workers_.resize(static_cast<std::size_t>(options_.jobs));
  compiler_ = start(workers_.front());
  for (Worker& worker : workers_) {
    threads_.emplace_back([this, &worker](const std::stop_token& stop) { work(stop, worker); });
  }
}

CompilePool::~CompilePool() {
  clear();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Worker& worker : workers_) {
      if (worker) worker->interrupt();
    }
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void CompilePool::submit(std::size_t ticket, Source source, CompileTarget target) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({ticket, std::move(source), std::move(target)});
  wake_worker_.notify_one();
}

std::optional<CompilePool::Result> CompilePool::next() {
  std::unique_lock lock(mutex_);
  wake_owner_.wait(lock, [this] { return fault_ || !finished_.empty() || (waiting_.empty() && running_ == 0); });
  return take_finished();
}

std::optional<CompilePool::Result> CompilePool::next_finished() {
  const std::lock_guard lock(mutex_);
  return take_finished();
}

std::optional<CompilePool::Result> CompilePool::take_finished() {
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

void CompilePool::work(const std::stop_token& stop, Worker& worker) {
  std::unique_lock lock(mutex_);
  while (wake_worker_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t generation = generation_;
    ++running_;
    lock.unlock();
    Result result;
    std::exception_ptr fault;
    try {
      result = compile(std::move(job), worker);
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

CompilePool::Result CompilePool::compile(Job job, Worker& worker) {
  if (!worker) start(worker);
  Result result{job.ticket, Outcome::ok, {}};
  try {
    result.compilation = worker->ask<Compilation>(
        {{"verb", verb::kCompile}, {"source", job.source}, {"target", job.target}}, options_.limit);
    if (!result.compilation.ok()) result.outcome = Outcome::compile_failed;
  } catch (const WorkerLost& lost) {
    result.outcome = lost.outcome();
    result.compilation.log = fmt::format("NVRTC: {}", lost.what());
    replace(worker, nullptr);
  }
  return result;
}

/// Throws DeviceError where NVRTC cannot be used, Error where the templates are no longer those of this run.
CompilerFacts CompilePool::start(Worker& worker) {
  replace(worker, std::make_unique<WorkerProcess>(options_.program, "compiler"));
  try {
    CompilerFacts facts = facts_of(*worker);
    if (facts.headers == headers_) return facts;
    throw Error("device headers have changed since the run began; run the same command again");
  } catch (...) {
    replace(worker, nullptr);
    throw;
  }
}

/// The destructor looks at all workers at once.
void CompilePool::replace(Worker& worker, Worker by) {
  const std::lock_guard lock(mutex_);
  if (by && stopping_) by->interrupt();
  worker.swap(by);
}

}  // namespace mmtune
