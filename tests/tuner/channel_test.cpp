// Messages between processes: what goes in comes out, and what does not come is said in time.
#include "tuner/workers/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <limits>
#include <random>
#include <string>
#include <thread>

#include "templates/families.h"
#include "templates/gpu_catalog.h"
#include "tuner/workers/protocol.h"

namespace mmtune {
namespace {

using Kind = ChannelError::Kind;
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

  Kind failure_of_receive(int time_ms = 2000) {
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
    const Message message = {{"text", std::string(size, 'x')}, {"list", {1, -2.5, nullptr, true}}};
    std::jthread sender([&] { other.send(message, in(20'000)); });
    EXPECT_EQ(channel_.receive(in(20'000)), message) << size;
  }
}

TEST_F(ChannelTest, SilenceAndHalfAMessageAreLate) {
  EXPECT_EQ(failure_of_receive(30), Kind::late);
  put(header(100) + "half");
  EXPECT_EQ(failure_of_receive(30), Kind::late);
}

TEST_F(ChannelTest, WhatHasComeCountsAfterTheDeadline) {
  const auto body = Message::to_cbor(42);
  put(header(static_cast<std::uint32_t>(body.size())) + std::string(body.begin(), body.end()));
  EXPECT_EQ(channel_.receive(in(-1000)), 42);
}

TEST_F(ChannelTest, AFullSocketIsLate) {
  try {
    channel_.send(std::string(std::size_t{64} << 20, 'x'), in(30));
    FAIL();
  } catch (const ChannelError& error) {
    EXPECT_EQ(error.kind(), Kind::late);
  }
}

TEST_F(ChannelTest, TheOthersEndIsClosed) {
  raw_ = FileDescriptor();
  EXPECT_EQ(failure_of_receive(), Kind::closed);
}

TEST_F(ChannelTest, InterruptEndsWaiting) {
  std::jthread interrupter([&] {
    std::this_thread::sleep_for(milliseconds(20));
    channel_.interrupt();
  });
  EXPECT_EQ(failure_of_receive(60'000), Kind::closed);
}

TEST_F(ChannelTest, NonsenseIsGarbled) {
  const std::string deep(std::size_t{1} << 20, '\x81');  // lists in lists
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1"), header(0xffffffff), header(0), header(3) + "\xff\xff\xff",
        header(2) + "\x01\x01", header(static_cast<std::uint32_t>(deep.size())) + deep}) {
    ends_ = socket_pair();
    channel_ = Channel(std::move(ends_.first));
    raw_ = std::move(ends_.second);
    std::jthread sender([&] { put(bytes); });
    EXPECT_EQ(failure_of_receive(), Kind::garbled) << bytes.substr(0, 16);
  }
}

TEST_F(ChannelTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string body(random() % 64, ' ');
    for (char& each : body) each = static_cast<char>(random());
    ends_ = socket_pair();
    channel_ = Channel(std::move(ends_.first));
    raw_ = std::move(ends_.second);
    put(header(static_cast<std::uint32_t>(body.size())) + body);
    try {
      const Message message = channel_.receive(in(2000));
      EXPECT_ANY_THROW(message.get<Verdict>()) << message;
    } catch (const ChannelError& error) {
      EXPECT_EQ(error.kind(), Kind::garbled);
    }
  }
}

template <class T>
T there_and_back(const T& value) {
  return Message::from_cbor(Message::to_cbor(Message(value))).template get<T>();
}

TEST(Protocol, ValuesTravel) {
  const Problem problem = packed_problem(Precision::bf16, Layout::tn, 3, 50'000'000'000, 7);
  EXPECT_EQ(there_and_back(problem), problem);

  const DeviceSpec& device = catalog_gpu("h200");
  EXPECT_EQ(Message(there_and_back(device)), Message(device));
  EXPECT_EQ(there_and_back(device).memory_bandwidth_gb_s, device.memory_bandwidth_gb_s);

  const std::string bytes("\0\xff\x80 elf", 7);
  const Compilation compilation{bytes, "", "a log", "0123abcd", {{"gemm", 1, 2, 3, 4}}, 5.5};
  EXPECT_EQ(there_and_back(compilation).cubin, bytes);
  EXPECT_EQ(Message(there_and_back(compilation)), Message(compilation));

  const Family& tiled = family_named("tiled");
  const Program program{
      {&tiled, tiled.default_config(problem)}, {}, {}, {}, {"0123", "sm_90a", false, bytes, 1, 2, 3, 4, 5, "13.0"}};
  const Program copy = there_and_back(program);
  EXPECT_EQ(copy.candidate.family, &tiled);
  EXPECT_EQ(copy.candidate.config, program.candidate.config);
  EXPECT_EQ(copy.binary.cubin, bytes);
  EXPECT_EQ(Message(copy), Message(program));

  const Verdict verdict{
      Outcome::wrong_result, "why", {1, 2, 3, 4, 5, 6, "graph", 7}, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(Message(there_and_back(verdict)), Message(verdict));
  const RaceResult result{
      {{Outcome::unstable, "why", {1, 2, 3, 4, 5, 6, "graph", 7, 8, kPowerCap, 1, 2, 9, 10}, 0, false}},
      {{Standing::tied, {1, 0.5, 2}}}};
  EXPECT_EQ(Message(there_and_back(result)), Message(result));
}

TEST(Protocol, WhatNoWorkerSaysIsRefused) {
  const Message good = Verdict{Outcome::ok, "", {1, 1, 1, 1, 1, 1, "graph", 0}, 0.5};
  EXPECT_NO_THROW(good.get<Verdict>());
  const auto with = [&good](const char* path, const Message& value) {
    Message changed = good;
    changed[Message::json_pointer(path)] = value;
    return changed;
  };
  EXPECT_ANY_THROW(with("/outcome", 99).get<Verdict>());
  EXPECT_ANY_THROW(with("/outcome", "ok").get<Verdict>());
  EXPECT_ANY_THROW(with("/outcome", 1e300).get<Verdict>());
  EXPECT_ANY_THROW(with("/error_share", 1.5).get<Verdict>());
  EXPECT_ANY_THROW(with("/error_share", -1).get<Verdict>());
  EXPECT_ANY_THROW(with("/timing/median_us", 0).get<Verdict>());
  EXPECT_ANY_THROW(with("/timing/median_us", -1).get<Verdict>());
  EXPECT_ANY_THROW(with("/timing/samples", std::int64_t{1} << 40).get<Verdict>());
  EXPECT_ANY_THROW(with("/timing/mode", "two\nlines").get<Verdict>());
  EXPECT_ANY_THROW(with("/timing/throttle", 1).get<Verdict>());
  Message less = good;
  less.erase("note");
  EXPECT_ANY_THROW(less.get<Verdict>());

  const Message race = RaceResult{{good.get<Verdict>()}, {{Standing::tied, {1, 0.5, 2}}}};
  EXPECT_NO_THROW(race.get<RaceResult>());
  const std::vector<std::pair<const char*, Message>> nonsense{
      {"/placings/0/standing", 4},         {"/placings/0/standing", -1},    {"/placings/0/ratio", 0.25},
      {"/placings/0/ratio_low", -1.0},     {"/placings/0/ratio_high", 0.0}, {"/placings", Message::array()},
      {"/verdicts/0/timing/median_us", 0}, {"/verdicts/0/outcome", 99},     {"/verdicts/0/outcome", 7},
      {"/verdicts/0/outcome", "ok"},       {"/verdicts/0/note", 1},         {"/verdicts/0/deterministic", 2}};
  for (const auto& [path, value] : nonsense) {
    Message changed = race;
    changed[Message::json_pointer(path)] = value;
    EXPECT_ANY_THROW(changed.get<RaceResult>()) << path;
  }
}

TEST(Protocol, ErrorsKeepTheirKind) {
  EXPECT_THROW(result_of(error_answer(DeviceLostError("x"))), DeviceLostError);
  EXPECT_THROW(result_of(error_answer(OutOfMemoryError("x"))), OutOfMemoryError);
  EXPECT_THROW(result_of(error_answer(UsageError("x"))), UsageError);
  try {
    result_of(error_answer(DeviceError("why")));
    FAIL();
  } catch (const DeviceLostError&) {
    FAIL() << "another kind";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "why");
  }
  EXPECT_EQ(result_of({{"result", 3}}), 3);
  EXPECT_THROW(result_of({{"nothing", 3}}), Message::exception);
}

}  // namespace
}  // namespace mmtune
