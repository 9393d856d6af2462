// What the fuzzer of messages starts from, tests/fuzz/corpus/messages: messages as they are now, so that one that has a
// field more is still read to its end, and some that lie. With MMTUNE_UPDATE_GOLDEN set, the files are written instead
// of compared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"
#include "tuner/workers/protocol.h"

namespace mmtune {
namespace {

using Corpus = std::map<std::string, std::string>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::string kMachineCode("\x7f\x45LF\0\xff\x80", 7);
const CompileTarget kHopper{90, true, "sm_90a"};
const Timing kTiming{1, 1.25, 1.75, 1, 12, 7, 1980, kPowerCap, 3, {"graph", 2619, 1, 1980, 700}};
const Verdict kVerdict{Outcome::ok, "", kTiming, 0.5, true};
const RaceResult kSentRace{{kVerdict, {Outcome::unstable, "C differs", kTiming, 0.25, false}},
                           {{Standing::leader, {1, 1, 1}}, {Standing::slower, {1.5, 1.25, 2}}}};
const SentProgram kSentProgram{
    "tiled",
    "TILE=16 UNROLL=4",
    {hash_machine_code(kMachineCode), "sm_90a", true, kMachineCode, 32, 0, 8, 4096, 812.5, ""}};

DeviceSpec gpu() {
  DeviceSpec gpu = catalog_gpu("h200");
  gpu.uuid = "GPU-1234";
  gpu.installed = true;
  return gpu;
}

template <class T, class Change>
std::string lie(T value, const Change& change) {
  change(value);
  return encode(value);
}

Corpus values() {
  return {
      {"problem", encode(packed_problem(Precision::bf16, Layout::tn, 3, 50, 7))},
      {"verdict", encode(kVerdict)},
      {"race", encode(kSentRace)},
      {"timings", encode(std::vector{kTiming, kTiming, Timing{}})},
      {"compilation",
       encode(Compilation{
           kMachineCode, "", "32 registers", hash_machine_code(kMachineCode), {{"gemm", 32, 0, 8, 4096}, {}}, 812.5})},
      {"facts", encode(CompilerFacts{"13.0", {75, 80, 86, 90}, "fedcba98"})},
      {"program", encode(kSentProgram)},
      {"environment", encode(Environment{"580.1", "13.0", "abcdef1", "GPU-1234"})},
      {"gpu", encode(std::vector{gpu()})},
      {"result", result_message(encode(kVerdict))},
      {"error", error_message(DeviceLostError("CUDA_ERROR_LAUNCH_FAILED"))},
      {"request_gpus", request_message(GpusRequest{})},
      {"request_compile",
       request_message(CompileRequest{{"simt", "extern \"C\" void gemm();", "01ab"}, kHopper, 1 << 30})},
      {"request_open", request_message(OpenRequest{gpu(), 0, kHopper})},
      {"request_race", request_message(RaceRequest{{kSentProgram, kSentProgram}})},
  };
}

Corpus lies() {
  return {
      {"race_standing", lie(kSentRace, [](auto& r) { r.placings[1].standing = static_cast<Standing>(4); })},
      {"race_ratio", lie(kSentRace,
                         [](auto& r) {
                           r.placings[1].ratio = {1.5, 2, 1.25};
                         })},
      {"race_nan", lie(kSentRace, [](auto& r) { r.placings[1].ratio.median = kNaN; })},
      {"race_no_time", lie(kSentRace, [](auto& r) { r.verdicts[0].timing.median_us = 0; })},
      {"race_outcome", lie(kSentRace, [](auto& r) { r.verdicts[1].outcome = Outcome::crashed; })},
      {"race_two_leaders", lie(kSentRace, [](auto& r) { r.placings[1] = r.placings[0]; })},
      {"race_no_placing", lie(kSentRace, [](auto& r) { r.placings.pop_back(); })},
      {"wrong", lie(kVerdict, [](auto& v) { v.outcome = static_cast<Outcome>(99); })},
      {"late_nan", lie(kVerdict, [](auto& v) { v.timing.median_us = kNaN; })},
      {"control", lie(kVerdict, [](auto& v) { v.timing.conditions.mode = "\x1b[31m"; })},
  };
}

/// No messages at all.
Corpus nonsense() {
  std::string deep, list;
  for (int i = 0; i < 300; ++i) deep = fmt::format("{}:{}", deep.size(), deep);
  for (int i = 0; i < 2000; ++i) list += "0:";
  return {
      {"deep", deep},
      {"long_list", fmt::format("{}:{}", list.size(), list)},
      {"long_text", "18446744073709551615:" + std::string(500, 'x')},
      {"cut_off", encode(kVerdict).substr(0, 200)},
      {"error_kind", encode(std::string("error=4:evilwords=0:result=0:"))},
  };
}

TEST(MessageCorpus, IsWhatTheProtocolIsNow) {
  for (const Corpus& corpus : {values(), lies(), nonsense()}) {
    for (const auto& [name, message] : corpus) {
      const std::string path = MMTUNE_SOURCE_DIR "/tests/fuzz/corpus/messages/" + name;
      if (std::getenv("MMTUNE_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(std::ofstream(path, std::ios::binary) << message) << path;
        continue;
      }
      std::ifstream file(path, std::ios::binary);
      const std::string stored{std::istreambuf_iterator<char>(file), {}};
      EXPECT_EQ(message, stored) << path << ": if this change is meant, run the test with MMTUNE_UPDATE_GOLDEN=1";
    }
  }
}

TEST(MessageCorpus, LiesAreRefused) {
  for (const auto& [name, message] : lies()) {
    if (name == "race_two_leaders") continue;  // two equal times are allowed
    EXPECT_THROW(name.starts_with("race") ? void(decode<RaceResult>(message)) : void(decode<Verdict>(message)),
                 WireError)
        << name;
  }
}

}  // namespace
}  // namespace mmtune
