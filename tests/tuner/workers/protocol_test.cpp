// What workers and their parent say: values arrive as they left, and what no worker says is refused.
#include "tuner/workers/protocol.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <random>
#include <string>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

template <class T>
T there_and_back(const T& value) {
  return decode<T>(encode(value));
}

const Verdict kRight{Outcome::ok, "", {1, 1, 1, 1, 1, 1, 0, 0, 0, {.mode = "graph"}}, 0.5};
const RaceResult kRace{{kRight}, {{Standing::tied, {1, 0.5, 2}}}};

TEST(Protocol, ValuesTravel) {
  const Problem problem = packed_problem(Precision::bf16, Layout::tn, 3, 50'000'000'000, 7);
  EXPECT_EQ(there_and_back(problem), problem);

  const DeviceSpec& device = catalog_gpu("h200");
  EXPECT_TRUE(compare(there_and_back(device), device) == 0);
  EXPECT_EQ(there_and_back(device).memory_bandwidth_gb_s, device.memory_bandwidth_gb_s);

  const std::string bytes("\0\xff\x80 elf=7:", 11);
  const Compilation compilation{bytes, "", "a log", hash_machine_code(bytes), {{"gemm", 1, 2, 3, 4}, {}}, 5.5};
  EXPECT_EQ(there_and_back(compilation).cubin, bytes);
  EXPECT_EQ(encode(there_and_back(compilation)), encode(compilation));

  const Verdict verdict{Outcome::wrong_result,
                        "why",
                        {1, 2, 3, 4, 5, 6, 7, 0, 0, {.mode = "graph"}},
                        std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(compare(there_and_back(verdict), verdict) == 0);
  const RaceResult result{
      {{Outcome::unstable, "why", {1, 2, 3, 4, 5, 6, 7, kPowerCap, 2, {"graph", 8, 1, 9, 10}}, 0, false}},
      {{Standing::tied, {1, 0.5, 2}}}};
  EXPECT_TRUE(compare(there_and_back(result).verdicts.at(0), result.verdicts[0]) == 0);
  EXPECT_TRUE(compare(there_and_back(result).placings.at(0), result.placings[0]) == 0);
}

TEST(Protocol, ProgramsTravelWithoutTheirSource) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 3, 5, 7);
  const Family& tiled = family_named("tiled");
  const std::string code("\0elf", 4);
  const Binary binary{hash_machine_code(code), "sm_90a", false, code, 1, 2, 3, 4, 5, "13.0"};
  const Program copy =
      received(there_and_back(sent(Program{{&tiled, tiled.default_config(problem)}, {}, {}, {}, binary})));
  EXPECT_EQ(copy.candidate.family, &tiled);
  EXPECT_EQ(copy.candidate.config, tiled.default_config(problem));
  EXPECT_TRUE(compare(copy.binary, binary) == 0);
  EXPECT_THROW(received({"none", "", {}}), UsageError);
}

/// The message with the first `from` in it changed to `to`, which has the same length.
template <class T>
std::string changed(const T& value, const std::string& from, const std::string& to) {
  std::string message = encode(value);
  const auto at = message.find(from);
  if (at == std::string::npos) ADD_FAILURE() << from << " is not in " << message;
  return message.replace(at, from.size(), to);
}

TEST(Protocol, WhatNoWorkerSaysIsRefused) {
  EXPECT_NO_THROW(there_and_back(kRight));
  const std::vector<std::pair<const char*, const char*>> other_types{{"outcome=1:0", "outcome=1:x"},
                                                                     {"outcome=1:0", "outcome=1:-"},
                                                                     {"outcome=1:0", "outcome=0:0"},
                                                                     {"note=0:", "nope=0:"},
                                                                     {"error_share=3:0.5", "error_share=3:0x5"},
                                                                     {"samples=1:1", "samples=1:."},
                                                                     {"samples=1:1", "samples=9:1"},
                                                                     {"deterministic=1:1", "deterministic=1:2"}};
  for (const auto& [from, to] : other_types) {
    EXPECT_THROW(decode<Verdict>(changed(kRight, from, to)), WireError) << to;
  }
  const std::vector<std::function<void(Verdict&)>> lies{
      [](Verdict& v) { v.outcome = static_cast<Outcome>(99); },
      [](Verdict& v) { v.error_share = 1.5; },
      [](Verdict& v) { v.error_share = -1; },
      [](Verdict& v) { v.timing.median_us = 0; },
      [](Verdict& v) { v.timing.median_us = -1; },
      [](Verdict& v) { v.timing.median_us = std::numeric_limits<double>::quiet_NaN(); },
      [](Verdict& v) { v.timing.samples = -1; },
      [](Verdict& v) { v.timing.disturbed = 2; },
      [](Verdict& v) { v.timing.conditions.mode = "two\nlines"; },
      [](Verdict& v) { v.timing.throttle = 1; },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    Verdict verdict = kRight;
    lies[i](verdict);
    EXPECT_THROW(there_and_back(verdict), WireError) << i;
    RaceResult race = kRace;
    lies[i](race.verdicts[0]);
    EXPECT_THROW(there_and_back(race), WireError) << i;
  }
}

TEST(Protocol, ResultsOfNoRaceAreRefused) {
  EXPECT_NO_THROW(there_and_back(kRace));
  const std::vector<std::function<void(RaceResult&)>> lies{
      [](RaceResult& r) { r.placings[0].standing = static_cast<Standing>(4); },
      [](RaceResult& r) { r.placings[0].standing = static_cast<Standing>(-1); },
      [](RaceResult& r) { r.placings[0].ratio.median = 0.25; },
      [](RaceResult& r) { r.placings[0].ratio.low = -1; },
      [](RaceResult& r) { r.placings[0].ratio.high = 0; },
      [](RaceResult& r) { r.placings.clear(); },
      [](RaceResult& r) { r.verdicts[0].outcome = Outcome::crashed; },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    RaceResult race = kRace;
    lies[i](race);
    EXPECT_THROW(there_and_back(race), WireError) << i;
  }
}

TEST(Protocol, AMessageOfManyLevelsOrSizesIsRefused) {
  const std::string deep = [] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text = fmt::format("{}:{}", text.size(), text);
    return text;
  }();
  for (const std::string& text :
       {std::string(), std::string(":"), std::string("4"), std::string("4:abc"), std::string("99999999999999999999:"),
        std::string("-1:"), std::string("0:0:"), deep, std::string(1 << 20, '\x81')}) {
    EXPECT_THROW(decode<Verdict>(text), WireError) << text.substr(0, 16);
    EXPECT_THROW(decode<std::vector<Timing>>(text), WireError) << text.substr(0, 16);
    EXPECT_THROW(result_of(text), WireError) << text.substr(0, 16);
  }
}

TEST(Protocol, AnyOneChangedByteIsRefusedOrSound) {
  const std::string good = encode(kRace);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char byte : {'\0', '0', '9', ':', '=', '-', 'x', '\xff'}) {
      std::string text = good;
      text[i] = byte;
      try {
        const auto race = decode<RaceResult>(text);
        EXPECT_EQ(fault_of(race), "");
        EXPECT_EQ(encode(decode<RaceResult>(encode(race))), encode(race));
      } catch (const WireError&) {
      }
    }
  }
}

TEST(Protocol, RandomBytesAreRefused) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 64, ' ');
    for (char& each : text) each = static_cast<char>(random());
    EXPECT_THROW(decode<Verdict>(text), WireError) << text;
  }
}

TEST(Protocol, ErrorsKeepTheirKind) {
  EXPECT_THROW(result_of(error_message(DeviceLostError("x"))), DeviceLostError);
  EXPECT_THROW(result_of(error_message(OutOfMemoryError("x"))), OutOfMemoryError);
  EXPECT_THROW(result_of(error_message(UsageError("x"))), UsageError);
  EXPECT_THROW(result_of(error_message(Error("x"))), Error);
  try {
    result_of(error_message(DeviceError("why")));
    FAIL();
  } catch (const DeviceLostError&) {
    FAIL() << "another kind";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "why");
  }
  try {
    std::string message = error_message(DeviceError("a zero: 0"));
    message[message.find("zero: 0") + 6] = '\0';
    result_of(message);
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "a zero: \\x00");
  }
  EXPECT_THROW(result_of(error_message(Error(""))), WireError) << "which says nothing";
  EXPECT_EQ(result_of(result_message("3")), "3");
  EXPECT_THROW(result_of(encode(std::string("nothing"))), WireError);
  EXPECT_THROW(result_of(changed(Environment{}, "driver", "diverr")), WireError);
}

}  // namespace
}  // namespace mmtune
