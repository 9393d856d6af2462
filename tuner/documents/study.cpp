#include "tuner/documents/study.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "templates/family/families.h"
#include "templates/model/cost.h"
#include "tuner/documents/whole_call.h"
#include "tuner/documents/whole_numbers.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/session_options.h"

namespace mmtune {
namespace {

constexpr double kLarge = 1e10;  // a number of multiply-adds: fewer take no kernel long

double multiply_adds(const Problem& problem) { return flops(problem) / 2; }

/// A quarter of the extents, as well aligned.
Problem quarter(const Problem& problem) {
  const auto part = [](std::int64_t extent) { return (extent / 4 + 15) / 16 * 16; };
  return packed_problem(problem.precision, problem.layout, part(problem.m), part(problem.n), part(problem.k));
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::measured:
      return "measured";
    case Origin::extrapolated:
      return "extrapolated";
    case Origin::predicted:
      break;
  }
  return "predicted";
}

Study::Study(DeviceChoice device, const Nvrtc* nvrtc, DispatchTable tuned, const StudyLimits& limits)
    : device_(std::move(device)),
      tuned_(std::move(tuned)),
      limits_(limits),
      compiler_(device_.spec, evidence_of(device_), nvrtc),
      calls_(device_.ordinal >= 0 ? std::make_unique<WholeCalls>() : nullptr) {}

Study::~Study() = default;

StudyResult Study::run(const StudyCase& what) {
  StudyResult result;
  result.what = what;
  result.gpu = device_.spec.name;
  try {
    if (what.family == kHostFamily) return run_on_host(std::move(result));
    if (what.family == kTunedFamily) choose_tuned(result);
    run_on_gpu(result);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    result.note = error.what();
    std::replace(result.note.begin(), result.note.end(), '\n', ' ');
  }
  return result;
}

StudyResult Study::run_on_host(StudyResult result) const {
  const Problem& problem = result.what.problem;
  const std::int64_t n = std::max({problem.m, problem.n, problem.k});
  Problem small = problem;
  if (n > limits_.host_through) {
    const auto part = [&](std::int64_t extent) { return std::max<std::int64_t>(1, extent * limits_.host_through / n); };
    small = packed_problem(problem.precision, problem.layout, part(problem.m), part(problem.n), part(problem.k));
    result.origin = Origin::extrapolated;
    result.note = fmt::format("from {}", to_string(small));
  }
  const HostLoop loop = result.what.config == "simple" ? HostLoop::simple : HostLoop::blocked;
  result.kernel_ms = 1e3 * host_seconds(loop, small) * multiply_adds(problem) / multiply_adds(small);
  result.total_ms = result.kernel_ms;
  return result;
}

void Study::choose_tuned(StudyResult& result) const {
  StudyCase& what = result.what;
  const Choice choice = tuned_.choose(what.problem);
  if (choice.match != Match::fallback) {
    what.family = choice.family->name();
    what.config = choice.config.text();
    result.note = choice.why;
    return;
  }
  const FamilySpaces spaces(searched_families({}), what.problem, device_.spec);
  const auto ranked = spaces.ranked(1);
  if (ranked.empty()) throw Error(fmt::format("{}: no family has a kernel for it here", to_string(what.problem)));
  const Candidate best = spaces.candidate(ranked.front().number);
  what.family = best.family->name();
  what.config = best.config.text();
  result.note = "the model's favourite; mmtune tune finds better";
}

Program Study::program(const StudyCase& what, const Problem& problem) {
  return compiler_.program(family_named(what.family), Config::parse(what.config), problem);
}

void Study::run_on_gpu(StudyResult& result) {
  const Problem& problem = result.what.problem;
  if (!calls_) {
    const Program program = this->program(result.what, problem);
    result.origin = Origin::predicted;
    const double time_us = predict(problem, program.plan, device_.spec, registers_of(program)).time_us;
    if (!std::isfinite(time_us)) throw Error(fmt::format("{} does not fit the GPU", key_of(program.candidate)));
    result.kernel_ms = 1e-3 * time_us;
    return;
  }
  if (const auto expected_ms = extrapolated_ms(result.what)) {
    result.kernel_ms = *expected_ms;
    result.origin = Origin::extrapolated;
    result.note = fmt::format("from {}", to_string(quarter(problem)));
    return;
  }
  const WholeTime time = calls_->time(program(result.what, problem));
  result.kernel_ms = time.kernel_ms;
  result.total_ms = time.total_ms;
}

/// What a large problem would take, judged by a smaller one; nothing where that is not too long.
std::optional<double> Study::extrapolated_ms(const StudyCase& what) {
  if (multiply_adds(what.problem) < kLarge) return std::nullopt;
  const Problem small = quarter(what.problem);
  const double small_ms = calls_->time(program(what, small)).kernel_ms;
  const double expected_ms = small_ms * multiply_adds(what.problem) / multiply_adds(small);
  return expected_ms > 1e3 * limits_.longest_s ? std::optional(expected_ms) : std::nullopt;
}

}  // namespace mmtune
