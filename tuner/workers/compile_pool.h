// Compiles ahead on all cores while the GPU measures, in processes that NVRTC may hang, crash or abort.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "db/trial.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/workers/compiler_facts.h"
#include "tuner/workers/process.h"

namespace mmtune {

class CompileQueue;
class WorkerProcess;

/// When a queue's sources are compiled.
enum class Turn {
  at_once,  ///< in equal shares with other such queues
  last,     ///< while no other source waits
};

struct CompilePoolOptions {
  int jobs = 0;                                       ///< the processes that compile at once; 0: one per core
  std::chrono::milliseconds limit{60'000};            ///< the longest time for one source
  std::chrono::milliseconds start_limit{60'000};      ///< the longest time for a worker to load NVRTC
  std::int64_t memory_bytes = std::int64_t{4} << 30;  ///< the most memory for one source; few need a tenth of a GiB
  std::string program = kThisProgram;                 ///< what the workers run
};

/// What a pool has compiled.
struct CompileStats {
  std::int64_t sources = 0;
  double seconds = 0;  ///< the time of all its processes together
};

/// The processes that compile at once where so many are asked for; 0: one for each usable core.
int compile_jobs(int asked);

/// The version of the NVRTC that is found here, asked for by a worker; empty without one.
std::string installed_compiler();

/// Each job has a thread and, from its first source on, a worker. What is to be compiled comes in through queues.
class CompilePool {
 public:
  struct Result {
    std::size_t ticket = 0;
    Outcome outcome = Outcome::ok;  ///< ok, compile_failed, or what the compiler did: timed_out or crashed
    Compilation compilation;        ///< its log says why it failed
  };

  /// Starts one worker. Throws DeviceError without NVRTC.
  CompilePool(const TemplateFiles& files, CompilePoolOptions options);
  /// Kills what is running. All queues must be gone.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  const CompilerFacts& compiler() const { return compiler_; }

  /// Processes that compile at once.
  int jobs() const { return options_.jobs; }

  /// The times until now.
  CompileStats times() const;

 private:
  friend class CompileQueue;

  /// A source is compiled once for all queues that wait for it, or that ask before its result was taken, or while it is
  /// the last one taken: its taker may not have kept it yet.
  struct Job {
    struct Order {
      CompileQueue* queue = nullptr;
      std::size_t ticket = 0;
    };
    Source source;
    CompileTarget target;
    std::vector<Order> orders;
  };

  using JobPointer = std::shared_ptr<Job>;
  using Worker = std::unique_ptr<WorkerProcess>;

  void work(const std::stop_token& stop, Worker& worker);
  static const CompileQueue* hastiest(const Job& job);
  JobPointer next_job();
  Result compile(const Job& job, Worker& worker);
  CompilerFacts start(Worker& worker);
  void replace(Worker& worker, Worker by);

  CompilePoolOptions options_;
  std::string headers_;  ///< the hash of the headers that sources are rendered for
  CompilerFacts compiler_;
  mutable std::mutex mutex_;  ///< the lock of everything below, and of the queues
  std::condition_variable_any wake_worker_;
  std::condition_variable wake_owners_;
  std::vector<CompileQueue*> queues_;
  std::deque<JobPointer> waiting_;
  std::vector<JobPointer> running_;
  CompileStats times_;
  bool stopping_ = false;
  std::vector<Worker> workers_;  ///< one place for each job
  std::vector<std::jthread> threads_;
};

/// One user's way into the pool. For one thread.
class CompileQueue {
 public:
  explicit CompileQueue(CompilePool& pool, Turn turn = Turn::at_once);
  /// Forgets everything.
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Sources are compiled in the order of submission.
  void submit(std::size_t ticket, Source source, CompileTarget target);

  /// Waits for the next finished compilation, in any order; nothing if none is outstanding, or none finished `until`
  /// then. Throws DeviceError where no source can be compiled: NVRTC is at fault.
  std::optional<CompilePool::Result> next(std::optional<std::chrono::steady_clock::time_point> until = {});

  /// The same without waiting: nothing also where none is finished yet.
  std::optional<CompilePool::Result> next_finished();

  /// Forgets what is submitted and no worker has begun: its tickets.
  std::vector<std::size_t> withdraw();

  /// Forgets everything submitted and not yet returned.
  void clear();

 private:
  friend class CompilePool;

  struct Finished {
    CompilePool::JobPointer job;
    CompilePool::Result result;
  };

  std::optional<CompilePool::Result> take_finished();

  CompilePool& pool_;
  const Turn turn_;
  std::deque<Finished> finished_;
  std::optional<Finished> taken_;  ///< the last one
  std::exception_ptr fault_;
  std::size_t outstanding_ = 0;  ///< the number of sources that are submitted and not finished
};

}  // namespace mmtune
