// What ReadyKernels does for calls whose program is rendered with a Fusion: epilogues, scalars in device memory and
// batches.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <string>
#include <utility>

#include "runtime/call/ready_kernels.h"
#include "runtime/gpu/current_context.h"

namespace mmtune {

namespace {

constexpr std::string_view kNotCompiled = "its kernel is not compiled with it; call prepare() before";

}  // namespace

// -- epilogues -------------------------------------------------------------------------------------------------------

/// One kernel if it is loaded or may be compiled, else two.
ReadyPtr ReadyKernels::ready_fused(CUcontext context, const Demand& demand, CUstream stream) {
  require_context_of(*installed_);
  const auto& [problem, fusion, products] = demand;
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  Choice choice = planned(demand)->choice;
  if (choice.match == Match::fallback && compile_untuned_ && may_compile) {
    if (auto pick = first_pick(demand)) choice = *std::move(pick);
  }
  choice = with(fusion, std::move(choice));
  std::string why;
  KernelCache::Kernel kernel = fused(context, choice, problem, may_compile ? Compile::yes : Compile::no, why);
  if (kernel == nullptr && fusion.loads_scalars) {
    throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(fusion), why));
  }
  if (kernel == nullptr) return ready_in_two_kernels(context, demand, stream, why);
  if (choice.match == Match::fallback) warn_of_fallback(problem, choice.why);
  remember(nullptr, demand, std::make_shared<Ready>(choice));
  return remember(context, demand, std::make_shared<Ready>(choice, std::move(kernel)));
}

/// The program of a choice that no database has, if it is loaded or can be compiled; else null, and `why`.
KernelCache::Kernel ReadyKernels::fused(CUcontext context, const Choice& choice, const Problem& problem,
                                        Compile compile, std::string& why) {
  why = kNotCompiled;
  if (compile == Compile::no) return loaded(context, choice, problem);
  try {
    return load(context, choice, problem, Compile::yes);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    why = error.what();
  }
  return nullptr;
}

/// The plain product and a kernel that goes over C again; `why` not one.
ReadyPtr ReadyKernels::ready_in_two_kernels(CUcontext context, const Demand& demand, CUstream stream,
                                            std::string_view why) {
  const auto& [problem, fusion, products] = demand;
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  auto second = finish(context, problem, fusion, may_compile ? Compile::yes : Compile::no);
  if (second == nullptr) throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(fusion), why));
  const ReadyPtr plain = before_learning(ready(context, {problem}, stream));
  Choice choice = plain->choice;
  choice.measured = false;
  choice.why += fmt::format("; {} by a second kernel, since {}", to_string(fusion), why);
  const bool is_stopgap = plain->is_stopgap || (compile_missing_ && !may_compile);
  ReadyPtr both = std::make_shared<Ready>(std::move(choice), plain->kernel, is_stopgap, std::move(second));
  return is_stopgap ? both : remember(context, demand, std::move(both));
}

/// The kernel that goes over C again, or null.
std::shared_ptr<const Finish> ReadyKernels::finish(CUcontext context, const Problem& problem, const Fusion& fusion,
                                                   Compile compile) {
  LaunchPlan plan = finish_plan(problem);
  const std::string program = fmt::format("{} for {}", to_string(fusion), to_string(problem.precision));
  KernelCache::Kernel kernel =
      compile == Compile::no
          ? kernels_.find(context, program, plan)
          : kernels_.get(context, program, plan, [&] { return programs_.compile_finish(problem, fusion); });
  if (kernel == nullptr) return nullptr;
  return std::make_shared<const Finish>(Finish{std::move(plan), std::move(kernel)});
}

// -- batches ---------------------------------------------------------------------------------------------------------

/// One launch only where a call may compile it.
ReadyPtr ReadyKernels::planned_batched(const Demand& demand) {
  Choice choice = batch_choice(demand, false);
  const std::string_view obstacle = why_unbatched(choice.plan);
  if (obstacle.empty() && compile_missing_) return std::make_shared<Ready>(with(demand.fusion, std::move(choice)));
  const ReadyPtr each = before_learning(planned(demand.unbatched()));
  return one_by_one(*each, obstacle.empty() ? kNotCompiled : obstacle, false);
}

/// The kernel for all products at once, whether or not it can be batched.
Choice ReadyKernels::batch_choice(const Demand& demand, bool may_compile) {
  const ReadyPtr plan = known(nullptr, demand);
  if (plan != nullptr && plan->choice.fusion.batched) return plan->choice;
  Choice choice = table_.choose(demand.problem, Policy::learnt, demand.products);
  if (choice.match == Match::fallback && compile_untuned_ && may_compile) {
    if (auto pick = first_pick(demand)) choice = *std::move(pick);
  }
  return choice;
}

/// What a launch for each product runs, as the answer for all of them.
ReadyPtr ReadyKernels::one_by_one(const Ready& each, std::string_view why, bool is_stopgap) const {
  Choice choice = each.choice;
  choice.why += fmt::format("; each product is a launch of its own, since {}", why);
  return std::make_shared<Ready>(std::move(choice), each.kernel, is_stopgap, each.finish);
}

/// One launch if its program is loaded or may be compiled, else one for each product.
ReadyPtr ReadyKernels::ready_batched(CUcontext context, const Demand& demand, CUstream stream) {
  require_context_of(*installed_);
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  Choice choice = batch_choice(demand, may_compile);
  std::string why{why_unbatched(choice.plan)};
  const bool can_batch = why.empty();
  if (can_batch) {
    choice = with(demand.fusion, std::move(choice));
    const Compile compile = may_compile ? Compile::yes : Compile::no;
    if (KernelCache::Kernel kernel = fused(context, choice, demand.problem, compile, why)) {
      if (choice.match == Match::fallback) warn_of_fallback(demand.problem, choice.why);
      remember(nullptr, demand, std::make_shared<Ready>(choice));
      return remember(context, demand, std::make_shared<Ready>(choice, std::move(kernel)));
    }
  }
  const ReadyPtr each = before_learning(ready(context, demand.unbatched(), stream));
  const bool is_stopgap = each->is_stopgap || (can_batch && compile_missing_ && !may_compile);
  ReadyPtr all = one_by_one(*each, why, is_stopgap);
  if (is_stopgap) {
    forget();
    return all;
  }
  remember(nullptr, demand, std::make_shared<Ready>(all->choice));
  return remember(context, demand, std::move(all));
}

/// A launch for each product where one launch is not possible.
ReadyPtr ReadyKernels::prepared_batched(CUcontext context, const Demand& demand) {
  const ReadyPtr before = known(context, demand);
  if (before != nullptr && before->choice.fusion.batched && before->choice.match != Match::fallback) return before;
  Choice choice = batch_choice(demand, false);
  if (choice.match == Match::fallback) {
    if (auto better = to_compile(demand)) choice = *std::move(better);
  }
  std::string why{why_unbatched(choice.plan)};
  ReadyPtr ready;
  if (why.empty()) {
    choice = with(demand.fusion, std::move(choice));
    if (KernelCache::Kernel kernel = fused(context, choice, demand.problem, Compile::yes, why)) {
      ready = std::make_shared<Ready>(std::move(choice), std::move(kernel));
    }
  }
  if (ready == nullptr) {
    const ReadyPtr each = before_learning(prepared(context, demand.unbatched()));
    ready = one_by_one(*each, why, each->is_stopgap);
  } else {
    prepare_fallback(context, demand.problem, Compile::no);
    const Fusion each = demand.fusion.unbatched();  // of other sizes, too
    if (each.has_epilogue() && !each.loads_scalars) finish(context, demand.problem, each, Compile::yes);
  }
  if (ready->is_stopgap || (before != nullptr && before->choice.why == ready->choice.why)) return ready;
  put(nullptr, demand, std::make_shared<Ready>(ready->choice));
  put(context, demand, ready);
  return ready;
}

}  // namespace mmtune
