// Messages between two processes, each with a deadline.
#pragma once

#include <mmtune/error.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/text/file_descriptor.h"

namespace mmtune {

using Deadline = std::chrono::steady_clock::time_point;

/// A message could not be sent, or did not come.
class ChannelError : public Error {
 public:
  enum class Kind {
    closed,   ///< There is no other end any more.
    late,     ///< The deadline is over.
    garbled,  ///< What came is no message.
  };
  ChannelError(Kind kind, const std::string& what) : Error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// One end of a stream socket. A message is a mark, its length and as many bytes, at most 256 MiB; of what they say
/// nothing is checked. After a ChannelError the channel is of no more use. For one thread, but for interrupt().
class Channel {
 public:
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// These two throw ChannelError. Deadline::max() waits for ever.
  void send(std::string_view message, Deadline deadline);
  std::string receive(Deadline deadline);

  /// What is being waited for, now or later, ends as closed. Any thread may call this.
  void interrupt() noexcept;

 private:
  std::string receive_bytes(std::size_t count, Deadline deadline);
  void wait(short events, Deadline deadline) const;

  FileDescriptor socket_;
};

/// Two connected ends; a child process gets neither unless it is passed on.
std::pair<FileDescriptor, FileDescriptor> socket_pair();

}  // namespace mmtune
