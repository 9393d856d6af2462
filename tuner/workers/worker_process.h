// A worker as its parent sees it: a process that does what could end a process, and may be lost.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "db/trial.h"
#include "tuner/workers/channel.h"
#include "tuner/workers/process.h"
#include "tuner/workers/protocol.h"

namespace mmtune {

/// The worker died, did not answer in time, or answered nonsense; its process is gone.
class WorkerLost : public Error {
 public:
  WorkerLost(Outcome outcome, const std::string& what) : Error(what), outcome_(outcome) {}

  /// The outcome of what the worker was doing: crashed or timed_out.
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

/// A worker, to be used by one thread, but for interrupt(), which must live as long as the worker is used.
class WorkerProcess {
 public:
  /// Starts `program` as a worker. `label` is shown by the list of processes. Throws Error.
  WorkerProcess(const std::string& program, const std::string& label);

  /// One request and its answer. Throws what the worker threw; WorkerLost.
  template <class Request>
  typename Request::Answer ask(const Request& request, std::chrono::milliseconds limit) {
    send(request, limit);
    return receive<Request>(limit);
  }

  /// The two halves of ask(), for what is to be done in between. Answers come in the order of the requests. A worker
  /// that cannot be sent to is lost to the next receive().
  template <class Request>
  void send(const Request& request, std::chrono::milliseconds limit) {
    send_message(request_message(request), limit);
  }
  template <class Request>
  typename Request::Answer receive(std::chrono::milliseconds limit) {
    const std::string message = receive_message(limit);
    try {
      return decode<typename Request::Answer>(result_of(message));
    } catch (const WireError& error) {
      lose_to_nonsense(error);
    }
  }

  /// A thread that waits for an answer, now or later, loses the worker, which is killed. Any thread may call this.
  void interrupt() noexcept {
    is_interrupted_ = true;
    channel_.interrupt();
  }

 private:
  void send_message(std::string_view message, std::chrono::milliseconds limit);
  std::string receive_message(std::chrono::milliseconds limit);
  [[noreturn]] void lose(const ChannelError& error, std::chrono::milliseconds limit);
  [[noreturn]] void lose_to_nonsense(const std::exception& error);

  WorkerProcess(const std::string& program, const std::string& label, std::pair<FileDescriptor, FileDescriptor> ends);

  std::atomic<bool> is_interrupted_ = false;
  Channel channel_;
  Process process_;
};

}  // namespace mmtune
