#include "runtime/call/kernels.h"

#include <fmt/format.h>

namespace mmtune {
namespace {

/// What tells a program from others: the hash of its machine code, or else what is to be compiled.
std::string name_of(const Choice& choice, const Problem& problem) {
  if (!choice.binary_hash.empty()) return choice.binary_hash;
  return fmt::format("{} {} {} {} a{}b{}c{} {}", choice.family->name(), choice.config.text(),
                     to_string(problem.precision), to_string(problem.layout), choice.align.a, choice.align.b,
                     choice.align.c, to_string(choice.fusion));
}

}  // namespace

LoadedKernelPtr Kernels::get(CUcontext context, const Choice& choice, const Problem& problem, Access access) {
  const std::string name = name_of(choice, problem);
  const bool is_stored = !choice.binary_hash.empty();
  if (access < (is_stored ? Access::stored : Access::compiled)) return cache_.find(context, name, choice.plan);
  return cache_.get(context, name, choice.plan, [&] {
    return is_stored ? programs_.stored(choice.binary_hash) : programs_.compile(choice, problem);
  });
}

std::optional<Finish> Kernels::finish(CUcontext context, const Problem& problem, const Fusion& fusion, Access access) {
  LaunchPlan plan = finish_plan(problem);
  const std::string name = fmt::format("{} for {}", to_string(fusion), to_string(problem.precision));
  LoadedKernelPtr kernel =
      access < Access::compiled
          ? cache_.find(context, name, plan)
          : cache_.get(context, name, plan, [&] { return programs_.compile_finish(problem, fusion); });
  if (kernel == nullptr) return std::nullopt;
  return Finish{std::move(plan), std::move(kernel)};
}

}  // namespace mmtune
