// The fuzzer of messages starts from ones that are read to their end: a member more, and its corpus must have it too.
#include "tuner/workers/protocol.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "test_paths.h"

namespace mmtune {
namespace {

Message from_corpus(const std::string& name) {
  std::ifstream file(MMTUNE_SOURCE_DIR "/tests/fuzz/corpus/messages/" + name, std::ios::binary);
  return Message::from_cbor(std::string(std::istreambuf_iterator<char>(file), {}));
}

template <class T>
void expect_read(const std::string& name) {
  try {
    EXPECT_EQ(Message(from_corpus(name).get<T>()), from_corpus(name)) << name;
  } catch (const std::exception& error) {
    ADD_FAILURE() << name << ": " << error.what();
  }
}

TEST(Protocol, TheCorpusSpeaksItAsItIs) {
  expect_read<Compilation>("compilation");
  expect_read<CompilerFacts>("facts");
  expect_read<Program>("program");
  expect_read<Environment>("environment");
  expect_read<Verdict>("verdict");
  expect_read<Problem>("problem");
  expect_read<std::vector<DeviceSpec>>("gpu");
  expect_read<RaceResult>("race");
  expect_read<std::vector<Timing>>("timings");
}

TEST(Protocol, ARaceThatCannotBeIsRefused) {
  for (const auto* name : {"race_standing", "race_ratio", "race_nan", "race_no_time", "race_outcome"}) {
    EXPECT_THROW(from_corpus(name).get<RaceResult>(), Error) << name;
  }
}

}  // namespace
}  // namespace mmtune
