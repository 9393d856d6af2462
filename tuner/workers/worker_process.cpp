#include "tuner/workers/worker_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGrace{5000};  // how long a process that has closed its channel may take to end by itself

std::vector<std::string> arguments(const std::string& label) {
  return {"worker", label, std::to_string(getpid()), std::to_string(static_cast<int>(log::level()))};
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& program, const std::string& label)
    : WorkerProcess(program, label, socket_pair()) {}

WorkerProcess::WorkerProcess(const std::string& program, const std::string& label,
                             std::pair<FileDescriptor, FileDescriptor> ends)
    : channel_(std::move(ends.first)), process_(program, arguments(label), ends.second.get()) {}

void WorkerProcess::send_message(std::string_view message, milliseconds limit) {
  try {
    channel_.send(message, std::chrono::steady_clock::now() + limit);
  } catch (const ChannelError&) {
    channel_.interrupt();
  }
}

std::string WorkerProcess::receive_message(milliseconds limit) {
  try {
    return channel_.receive(std::chrono::steady_clock::now() + limit);
  } catch (const ChannelError& error) {
    lose(error, limit);
  }
}

void WorkerProcess::lose(const ChannelError& error, milliseconds limit) {
  if (error.kind() == ChannelError::Kind::late) {
    process_.end({});
    throw WorkerLost(Outcome::timed_out, fmt::format("no end after {:.3g} s; its process was killed",
                                                     std::chrono::duration<double>(limit).count()));
  }
  if (error.kind() == ChannelError::Kind::garbled) lose_to_nonsense(error);
  throw WorkerLost(Outcome::crashed,
                   fmt::format("its process died: {}", process_.end(is_interrupted_ ? milliseconds{} : kGrace)));
}

void WorkerProcess::lose_to_nonsense(const std::exception& error) {
  process_.end({});
  throw WorkerLost(Outcome::crashed, fmt::format("its process answered nonsense and was killed: {}", error.what()));
}

}  // namespace mmtune
