// Messages between processes: what goes in comes out, and what does not come is said in time.
#include "tuner/workers/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>

namespace mmtune {
namespace {

using ErrorKind = ChannelError::Kind;
using std::chrono::milliseconds;

class ChannelTest : public ::testing::Test {
 protected:
  static Deadline in(int time_ms) { return std::chrono::steady_clock::now() + milliseconds(time_ms); }

  void put(const std::string& bytes) const {
    ASSERT_EQ(send(raw_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  static std::string header(std::uint32_t length) {
    std::string bytes = "mmtw";
    for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
    return bytes;
  }

  ErrorKind failure_of_receive(int time_ms = 2000) {
    try {
      ADD_FAILURE() << "received " << channel_.receive(in(time_ms));
    } catch (const ChannelError& error) {
      return error.kind();
    }
    return {};
  }

  std::pair<FileDescriptor, FileDescriptor> ends_ = socket_pair();
  Channel channel_{std::move(ends_.first)};
  FileDescriptor raw_ = std::move(ends_.second);
};

TEST_F(ChannelTest, MessagesOfAllSizesArrive) {
  Channel other(std::move(raw_));
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{5} << 20}) {
    const std::string message(size, 'x');
    std::jthread sender([&] { other.send(message, in(20'000)); });
    EXPECT_EQ(channel_.receive(in(20'000)), message) << size;
  }
}

TEST_F(ChannelTest, SilenceAndHalfAMessageAreLate) {
  EXPECT_EQ(failure_of_receive(30), ErrorKind::late);
  put(header(100) + "half");
  EXPECT_EQ(failure_of_receive(30), ErrorKind::late);
}

TEST_F(ChannelTest, WhatHasComeCountsAfterTheDeadline) {
  put(header(2) + "42");
  EXPECT_EQ(channel_.receive(in(-1000)), "42");
}

TEST_F(ChannelTest, AFullSocketIsLate) {
  try {
    channel_.send(std::string(std::size_t{64} << 20, 'x'), in(30));
    FAIL();
  } catch (const ChannelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::late);
  }
}

TEST_F(ChannelTest, TheOthersEndIsClosed) {
  raw_ = FileDescriptor();
  EXPECT_EQ(failure_of_receive(), ErrorKind::closed);
}

TEST_F(ChannelTest, InterruptEndsWaiting) {
  std::jthread interrupter([&] {
    std::this_thread::sleep_for(milliseconds(20));
    channel_.interrupt();
  });
  EXPECT_EQ(failure_of_receive(60'000), ErrorKind::closed);
}

TEST_F(ChannelTest, NonsenseIsGarbled) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1"), header(0xffffffff)}) {
    ends_ = socket_pair();
    channel_ = Channel(std::move(ends_.first));
    raw_ = std::move(ends_.second);
    std::jthread sender([&] { put(bytes); });
    EXPECT_EQ(failure_of_receive(), ErrorKind::garbled) << bytes.substr(0, 16);
  }
}

}  // namespace
}  // namespace mmtune
