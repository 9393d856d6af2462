// What the program and its workers say to each other, as texts of tuner/workers/wire.h: each request has one answer.
//
// decode() checks every value by the rules of its field, since a worker may have lost its mind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/lanes/lane.h"
#include "tuner/workers/compiler_facts.h"
#include "tuner/workers/wire.h"

namespace mmtune {

/// The hash in CompilerFacts.
std::string hash_headers(const TemplateFiles& files);

/// Candidate and binary of a program; the reader makes the plan anew, and has no source.
struct SentProgram {
  std::string family;
  std::string config;
  Binary binary;

  static constexpr void fields(auto&& visit) {
    visit("family", &SentProgram::family, rule::family);
    visit("config", &SentProgram::config, rule::config);
    visit("binary", &SentProgram::binary);
  }
};
static_assert(kListsAllMembers<SentProgram>);

SentProgram sent(const Program& program);
std::vector<SentProgram> sent(const std::vector<Program>& programs);

/// Throws UsageError for a family that there is not.
Program received(const SentProgram& program);

// Requests. Each names its verb and what the answer holds.

/// The installed GPUs.
struct GpusRequest {
  using Answer = std::vector<DeviceSpec>;
  static constexpr std::string_view kVerb = "gpus";
  static constexpr void fields(auto&&) {}
};

struct CompilerRequest {
  using Answer = CompilerFacts;
  static constexpr std::string_view kVerb = "compiler";
  static constexpr void fields(auto&&) {}
};

struct CompileRequest {
  using Answer = Compilation;
  static constexpr std::string_view kVerb = "compile";
  Source source;
  CompileTarget target;
  std::int64_t memory_bytes = 0;  ///< the most memory that compiling may take

  static constexpr void fields(auto&& visit) {
    visit("source", &CompileRequest::source);
    visit("target", &CompileRequest::target);
    visit("memory_bytes", &CompileRequest::memory_bytes);
  }
};

/// Makes the lane.
struct OpenRequest {
  using Answer = Environment;
  static constexpr std::string_view kVerb = "open";
  DeviceSpec device;
  int ordinal = 0;
  CompileTarget target;

  static constexpr void fields(auto&& visit) {
    visit("device", &OpenRequest::device);
    visit("ordinal", &OpenRequest::ordinal);
    visit("target", &OpenRequest::target);
  }
};

/// There is nothing to say.
struct Done {
  static constexpr void fields(auto&&) {}
};

struct BeginRequest {
  using Answer = Done;
  static constexpr std::string_view kVerb = "begin";
  Problem problem;
  int samples = 0;  ///< the most samples of a screening

  static constexpr void fields(auto&& visit) {
    visit("problem", &BeginRequest::problem);
    visit("samples", &BeginRequest::samples);
  }
};

struct EvaluateRequest {
  using Answer = Verdict;
  static constexpr std::string_view kVerb = "evaluate";
  SentProgram program;
  double best_us = 0;

  static constexpr void fields(auto&& visit) {
    visit("program", &EvaluateRequest::program);
    visit("best_us", &EvaluateRequest::best_us);
  }
};

struct RaceRequest {
  using Answer = RaceResult;
  static constexpr std::string_view kVerb = "race";
  std::vector<SentProgram> finalists;

  static constexpr void fields(auto&& visit) { visit("finalists", &RaceRequest::finalists); }
};

/// A request as it is sent.
struct RequestMessage {
  std::string verb;
  std::string request;  ///< the encoded request

  static constexpr void fields(auto&& visit) {
    visit("verb", &RequestMessage::verb);
    visit("request", &RequestMessage::request);
  }
};

template <class Request>
std::string request_message(const Request& request) {
  return encode(RequestMessage{std::string(Request::kVerb), encode(request)});
}

/// The messages of an answer: the encoded result, or an exception, which keeps its kind.
std::string result_message(std::string result);
std::string error_message(const std::exception& error);

/// The encoded result in the message of an answer; throws the error that it holds instead, as the kind that it was, or
/// WireError.
std::string result_of(std::string_view message);

}  // namespace mmtune
