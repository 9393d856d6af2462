#include "tuner/workers/compile_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "templates/base/cores.h"
#include "tuner/workers/worker_process.h"

namespace mmtune {
namespace {

/// A worker that has loaded NVRTC: whatever it does later is the source's fault.
CompilerFacts facts_of(WorkerProcess& worker, std::chrono::milliseconds limit) {
  try {
    return worker.ask(CompilerRequest{}, limit);
  } catch (const WorkerLost& lost) {
    throw DeviceError(fmt::format("NVRTC cannot be loaded: {}; see `mmtune doctor`", lost.what()));
  }
}

}  // namespace

int compile_jobs(int asked) { return asked > 0 ? asked : usable_cores(); }

std::string installed_compiler() {
  try {
    const CompilePoolOptions usual;
    WorkerProcess worker(usual.program, "compiler");
    return facts_of(worker, usual.start_limit).version;
  } catch (const Error& error) {
    log::debug("{}", error.what());
    return "";
  }
}

CompilePool::CompilePool(const TemplateFiles& files, CompilePoolOptions options)
    : options_(std::move(options)), headers_(hash_headers(files)) {
  options_.jobs = compile_jobs(options_.jobs);
  workers_.resize(static_cast<std::size_t>(options_.jobs));
  compiler_ = start(workers_.front());
  for (Worker& worker : workers_) {
    threads_.emplace_back([this, &worker](const std::stop_token& stop) { work(stop, worker); });
  }
}

CompilePool::~CompilePool() {
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

void CompilePool::work(const std::stop_token& stop, Worker& worker) {
  std::unique_lock lock(mutex_);
  while (wake_worker_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    const JobPointer job = next_job();
    running_.push_back(job);
    lock.unlock();
    Result result;
    std::exception_ptr fault;
    const auto start = std::chrono::steady_clock::now();
    try {
      result = compile(*job, worker);
    } catch (...) {
      fault = std::current_exception();
    }
    lock.lock();
    ++times_.sources;
    times_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::erase(running_, job);
    for (const Job::Order& order : job->orders) {
      --order.queue->outstanding_;
      result.ticket = order.ticket;
      if (fault) {
        order.queue->fault_ = fault;
      } else {
        order.queue->finished_.push_back({job, result});
      }
    }
    wake_owners_.notify_all();
  }
}

CompileStats CompilePool::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

/// The queue of those that wait for a job whose turn comes first; null if all have forgotten it.
const CompileQueue* CompilePool::hastiest(const Job& job) {
  const auto first =
      std::min_element(job.orders.begin(), job.orders.end(),
                       [](const Job::Order& x, const Job::Order& y) { return x.queue->turn_ < y.queue->turn_; });
  return first == job.orders.end() ? nullptr : first->queue;
}

/// Takes the first one of the queue whose turn it is and for which least is running.
CompilePool::JobPointer CompilePool::next_job() {
  const auto rank = [this](const JobPointer& waiting) {
    const CompileQueue* queue = hastiest(*waiting);
    const auto load = std::count_if(running_.begin(), running_.end(),
                                    [&](const JobPointer& running) { return hastiest(*running) == queue; });
    return std::pair(queue->turn_, load);
  };
  const auto next = std::min_element(waiting_.begin(), waiting_.end(),
                                     [&](const JobPointer& x, const JobPointer& y) { return rank(x) < rank(y); });
  JobPointer job = *next;
  waiting_.erase(next);
  return job;
}

CompilePool::Result CompilePool::compile(const Job& job, Worker& worker) {
  if (!worker) start(worker);
  Result result;
  try {
    result.compilation = worker->ask(CompileRequest{job.source, job.target, options_.memory_bytes}, options_.limit);
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
    CompilerFacts facts = facts_of(*worker, options_.start_limit);
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

CompileQueue::CompileQueue(CompilePool& pool, Turn turn) : pool_(pool), turn_(turn) {
  const std::lock_guard lock(pool_.mutex_);
  pool_.queues_.push_back(this);
}

CompileQueue::~CompileQueue() {
  clear();
  const std::lock_guard lock(pool_.mutex_);
  std::erase(pool_.queues_, this);
}

void CompileQueue::submit(std::size_t ticket, Source source, CompileTarget target) {
  const std::lock_guard lock(pool_.mutex_);
  const auto is_same = [&](const CompilePool::JobPointer& job) {
    return job->source.hash == source.hash && job->target.name == target.name;
  };
  for (const CompileQueue* queue : pool_.queues_) {
    const auto same = std::find_if(queue->finished_.begin(), queue->finished_.end(),
                                   [&](const Finished& finished) { return is_same(finished.job); });
    const bool is_finished = same != queue->finished_.end();
    if (!is_finished && !(queue->taken_ && is_same(queue->taken_->job))) continue;
    finished_.push_back(is_finished ? *same : *queue->taken_);
    finished_.back().result.ticket = ticket;
    return;
  }
  ++outstanding_;
  for (const auto& job : pool_.running_) {
    if (is_same(job)) return job->orders.push_back({this, ticket});
  }
  for (const auto& job : pool_.waiting_) {
    if (is_same(job)) return job->orders.push_back({this, ticket});
  }
  pool_.waiting_.push_back(
      std::make_shared<CompilePool::Job>(CompilePool::Job{std::move(source), std::move(target), {{this, ticket}}}));
  pool_.wake_worker_.notify_one();
}

std::optional<CompilePool::Result> CompileQueue::next(std::optional<std::chrono::steady_clock::time_point> until) {
  std::unique_lock lock(pool_.mutex_);
  const auto is_over = [this] { return fault_ || !finished_.empty() || outstanding_ == 0; };
  until ? (void)pool_.wake_owners_.wait_until(lock, *until, is_over) : pool_.wake_owners_.wait(lock, is_over);
  return take_finished();
}

std::optional<CompilePool::Result> CompileQueue::next_finished() {
  const std::lock_guard lock(pool_.mutex_);
  return take_finished();
}

std::optional<CompilePool::Result> CompileQueue::take_finished() {
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  if (finished_.empty()) return std::nullopt;
  taken_ = std::move(finished_.front());
  finished_.pop_front();
  return taken_->result;
}

std::vector<std::size_t> CompileQueue::withdraw() {
  const std::lock_guard lock(pool_.mutex_);
  std::vector<std::size_t> tickets;
  const auto is_own = [&](const CompilePool::Job::Order& order) {
    if (order.queue == this) tickets.push_back(order.ticket);
    return order.queue == this;
  };
  std::erase_if(pool_.waiting_, [&](const CompilePool::JobPointer& job) {
    std::erase_if(job->orders, is_own);
    return job->orders.empty();
  });
  outstanding_ -= tickets.size();
  return tickets;
}

void CompileQueue::clear() {
  const std::lock_guard lock(pool_.mutex_);
  const auto forget = [this](const CompilePool::JobPointer& job) {
    std::erase_if(job->orders, [this](const CompilePool::Job::Order& order) { return order.queue == this; });
    return job->orders.empty();
  };
  std::erase_if(pool_.waiting_, forget);
  for (const auto& job : pool_.running_) forget(job);
  finished_.clear();
  fault_ = nullptr;
  outstanding_ = 0;
}

}  // namespace mmtune
