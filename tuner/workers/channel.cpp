#include "tuner/workers/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace mmtune {
namespace {

using Kind = ChannelError::Kind;

constexpr std::string_view kMark = "mmtw";
constexpr std::size_t kHeaderBytes = 8;  // the mark and the length, little endian
constexpr std::size_t kMostMessageBytes = std::size_t{256} << 20;

std::string frame(std::string_view message) {
  if (message.size() > kMostMessageBytes)
    throw Error(fmt::format("a message of {} bytes is too long to be sent", message.size()));
  std::string bytes(kMark);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(message.size() >> shift & 0xff);
  return bytes.append(message);
}

std::size_t body_bytes(const std::string& header) {
  std::size_t bytes = 0;
  for (unsigned i = 0; i < 4; ++i) bytes |= std::size_t{static_cast<unsigned char>(header[4 + i])} << (8 * i);
  if (!header.starts_with(kMark) || bytes > kMostMessageBytes)
    throw ChannelError(Kind::garbled, "no message begins here");
  return bytes;
}

/// The timeout for poll(). There is at least one try, also after the deadline, so that what has come by then still
/// counts.
int milliseconds_until(Deadline deadline) {
  constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(1);
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return 0;
  if (deadline - now > kLongestWait) return static_cast<int>(kLongestWait.count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

bool try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Channel::wait(short events, Deadline deadline) const {
  pollfd socket{socket_.get(), events, 0};
  while (true) {
    const int ready = poll(&socket, 1, milliseconds_until(deadline));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw ChannelError(Kind::closed, std::strerror(errno));
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) throw ChannelError(Kind::late, "no answer in time");
  }
}

void Channel::send(std::string_view message, Deadline deadline) {
  const std::string bytes = frame(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    wait(POLLOUT, deadline);
    const auto count = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count < 0 && !try_again()) throw ChannelError(Kind::closed, std::strerror(errno));
  }
}

std::string Channel::receive_bytes(std::size_t count, Deadline deadline) {
  // The buffer grows with what really comes, whatever the header promised.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes;
  while (bytes.size() < count) {
    wait(POLLIN, deadline);
    const std::size_t have = bytes.size();
    bytes.resize(std::min(count, have + kPiece));
    const auto got = recv(socket_.get(), bytes.data() + have, bytes.size() - have, MSG_DONTWAIT);
    if (got == 0) throw ChannelError(Kind::closed, "the other end is closed");
    if (got < 0 && !try_again()) throw ChannelError(Kind::closed, std::strerror(errno));
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return bytes;
}

std::string Channel::receive(Deadline deadline) {
  return receive_bytes(body_bytes(receive_bytes(kHeaderBytes, deadline)), deadline);
}

void Channel::interrupt() noexcept { shutdown(socket_.get(), SHUT_RDWR); }

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(fmt::format("no channel to a worker: {}; raise the limit of open files", std::strerror(errno)));
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace mmtune
