// What the program and its workers say to each other, in both directions: each request is one message and has one
// answer. Requests are objects whose "verb" is one of those below; answers are {"result": …} or an error.
//
// Reading a value checks types and ranges, since a worker may have lost its mind: it throws Error or
// Message::exception.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/lanes/lane.h"
#include "tuner/workers/channel.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {

namespace verb {
inline constexpr std::string_view kGpus = "gpus";          ///< → DeviceSpec…: the installed ones
inline constexpr std::string_view kCompiler = "compiler";  ///< → CompilerFacts
inline constexpr std::string_view kCompile = "compile";    ///< source, target, memory_bytes → Compilation
inline constexpr std::string_view kOpen = "open";          ///< device, ordinal, target → Environment; makes the lane
inline constexpr std::string_view kBegin = "begin";        ///< problem
inline constexpr std::string_view kEvaluate = "evaluate";  ///< program, best_us → Verdict
inline constexpr std::string_view kRace = "race";          ///< finalists → RaceResult
}  // namespace verb

/// The hash in CompilerFacts.
std::string hash_headers(const TemplateFiles& files);

void to_json(Message& message, const Problem& problem);
void from_json(const Message& message, Problem& problem);
void to_json(Message& message, const DeviceSpec& device);
void from_json(const Message& message, DeviceSpec& device);
void to_json(Message& message, const CompileTarget& target);
void from_json(const Message& message, CompileTarget& target);
void to_json(Message& message, const CompilerFacts& facts);
void from_json(const Message& message, CompilerFacts& facts);
void to_json(Message& message, const Source& source);
void from_json(const Message& message, Source& source);
void to_json(Message& message, const KernelResources& kernel);
void from_json(const Message& message, KernelResources& kernel);
/// Without its PTX.
void to_json(Message& message, const Compilation& compilation);
void from_json(const Message& message, Compilation& compilation);
void to_json(Message& message, const Binary& binary);
void from_json(const Message& message, Binary& binary);
void to_json(Message& message, const Environment& environment);
void from_json(const Message& message, Environment& environment);
/// Family and configuration.
void to_json(Message& message, const Candidate& candidate);
void from_json(const Message& message, Candidate& candidate);
/// Candidate and binary; the reader makes the plan of them anew, and has no source.
void to_json(Message& message, const Program& program);
void from_json(const Message& message, Program& program);
void to_json(Message& message, const Timing& timing);
void from_json(const Message& message, Timing& timing);
void to_json(Message& message, const Verdict& verdict);
void from_json(const Message& message, Verdict& verdict);
void to_json(Message& message, const Placing& placing);
void from_json(const Message& message, Placing& placing);
void to_json(Message& message, const RaceResult& result);
void from_json(const Message& message, RaceResult& result);

/// The answer for an exception, which keeps its kind.
Message error_answer(const std::exception& error);

/// The result in an answer; throws the error that it holds instead, as the kind that it was.
Message result_of(Message answer);

}  // namespace mmtune
