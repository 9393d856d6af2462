#include "tuner/workers/protocol.h"

#include <array>
#include <utility>

#include "runtime/base/printable.h"
#include "templates/base/hash.h"
#include "templates/family/families.h"

namespace mmtune {
namespace {

/// Either has a kind of error and its words, or a result.
struct AnswerMessage {
  std::string error;
  std::string words;
  std::string result;

  static constexpr void fields(auto&& visit) {
    visit("error", &AnswerMessage::error);
    visit("words", &AnswerMessage::words);
    visit("result", &AnswerMessage::result);
  }
};

/// A kind of error that travels.
struct ErrorKind {
  std::string_view name;
  bool (*is)(const std::exception& error);
  void (*raise)(const std::string& words);
};

template <class Kind>
constexpr ErrorKind kind(std::string_view name) {
  return {name, [](const std::exception& error) { return dynamic_cast<const Kind*>(&error) != nullptr; },
          [](const std::string& words) { throw Kind(words); }};
}

/// The special ones before those that they are.
constexpr std::array kErrorKinds{kind<DeviceLostError>("device lost"), kind<DeviceError>("device"),
                                 kind<OutOfMemoryError>("out of memory"), kind<UsageError>("usage")};
constexpr std::string_view kOtherError = "other";

}  // namespace

std::string hash_headers(const TemplateFiles& files) {
  ContentHash hash;
  for (const auto& [name, text] : files.device_headers()) hash.add(name).add(text);
  return hash.hex();
}

SentProgram sent(const Program& program) {
  const Candidate& candidate = program.candidate;
  return {std::string(candidate.family->name()), candidate.config.text(), program.binary};
}

std::vector<SentProgram> sent(const std::vector<Program>& programs) {
  std::vector<SentProgram> list;
  for (const Program& program : programs) list.push_back(sent(program));
  return list;
}

Program received(const SentProgram& program) {
  Program copy;
  copy.candidate = {&family_named(program.family), Config::parse(program.config)};
  copy.binary = program.binary;
  return copy;
}

std::string result_message(std::string result) { return encode(AnswerMessage{"", "", std::move(result)}); }

std::string error_message(const std::exception& error) {
  for (const ErrorKind& kind : kErrorKinds) {
    if (kind.is(error)) return encode(AnswerMessage{std::string(kind.name), error.what(), ""});
  }
  return encode(AnswerMessage{std::string(kOtherError), error.what(), ""});
}

std::string result_of(std::string_view message) {
  auto answer = decode<AnswerMessage>(message);
  if (answer.error.empty()) return std::move(answer.result);
  if (answer.words.empty()) throw WireError("an error without words");
  const std::string words = printable_lines(answer.words);  // The text of what() would end at a zero.
  for (const ErrorKind& kind : kErrorKinds) {
    if (answer.error == kind.name) kind.raise(words);
  }
  if (answer.error != kOtherError) throw WireError("unknown kind of error");
  throw Error(words);
}

}  // namespace mmtune
