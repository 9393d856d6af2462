#include "runtime/ready_kernels.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "runtime/current_context.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "runtime/untuned.h"
#include "templates/cost.h"

namespace mmtune {

namespace {

constexpr std::chrono::milliseconds kPatienceInAll{50};  // for all locks of databases, as long as a library lives
constexpr std::int64_t kThin = 64;                       // extents below this ask for other kernels
constexpr std::int64_t kManyProducts = 1 << 16;          // more ask for no other kernels
constexpr double kTunedIsWorth = 1.5;                    // more than a model's word, for a batch too
constexpr std::string_view kNotCompiled = "its kernel is not compiled with it; call prepare() before";

/// What tells a program from others: the hash of its machine code, else what is to be compiled.
std::string program_of(const Choice& choice, const Problem& problem) {
  if (!choice.binary_hash.empty()) return choice.binary_hash;
  return fmt::format("{} {} {} {} a{}b{}c{} {}", choice.family->name(), choice.config.text(),
                     to_string(problem.precision), to_string(problem.layout), choice.align.a, choice.align.b,
                     choice.align.c, to_string(choice.fusion));
}

/// The choice as a program with an epilogue, which no database has and whose time nobody measured.
Choice with(const Fusion& fusion, Choice choice) {
  if (choice.fusion == fusion) return choice;
  choice.fusion = fusion;
  choice.binary_hash.clear();
  choice.measured = false;
  choice.why += fmt::format("; compiled with {}", to_string(fusion));
  return choice;
}

}  // namespace

std::size_t ReadyKernels::PlaceHash::operator()(const Place& place) const {
  const auto& [problem, fusion, products] = place.demand;
  const auto bits = static_cast<std::size_t>(products) << 5 | static_cast<std::size_t>(fusion.activation) << 3 |
                    static_cast<std::size_t>(fusion.bias) << 1 | static_cast<std::size_t>(fusion.loads_scalars);
  return ProblemHash{}(problem) ^ (reinterpret_cast<std::uintptr_t>(place.context) >> 4) ^ bits;
}

Demand demand_of(const GemmCall& call) {
  const auto products = static_cast<std::uint64_t>(std::min(call.batch, kManyProducts));
  return {call.problem, call.fusion, call.fusion.batched ? static_cast<std::int64_t>(std::bit_ceil(products)) : 1};
}

ReadyKernels::ReadyKernels(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed)
    : compile_missing_(options.compile_missing || options.compile_untuned),
      compile_untuned_(options.compile_untuned),
      learn_(options.learn),
      installed_(installed),
      places_(database_places(options)),
      lock_budget_(kPatienceInAll),
      device_(std::move(device)),
      programs_(places_.all(), device_, template_files(), lock_budget_),
      table_(device_, load_databases()) {}

/// The fallbacks' machine code is kept, so that there is always something to run.
StoredKernels ReadyKernels::load_databases() {
  StoredKernels kernels = read_databases(places_, device_, programs_.files(), lock_budget_, note_);
  programs_.keep(std::move(kernels.images));
  return kernels;
}

void ReadyKernels::for_each(const std::function<void(const Problem&, const Ready&)>& visit) const {
  ready_.for_each([&](const Place& place, const ReadyPtr& what) { visit(place.demand.problem, *what); });
}

// -- choosing --------------------------------------------------------------------------------------------------------

ReadyPtr ReadyKernels::remember(const Place& place, ReadyPtr ready) {
  if (ready_.size() < kRemembered) {
    ready_.put(place, ready);
  } else if (place.context != nullptr) {
    forgotten_ = true;
  }
  return ready;
}

std::shared_ptr<Ready> ReadyKernels::make_ready(Choice choice, KernelCache::Kernel kernel, bool is_stopgap,
                                                std::optional<Finish> finish) const {
  Answer answer{choice.match,         std::string(choice.family->name()),
                choice.config.text(), choice.expected_us,
                choice.measured,      note_.empty() ? choice.why : fmt::format("{} ({})", choice.why, note_)};
  return std::make_shared<Ready>(std::move(choice), std::move(answer), std::move(kernel), std::move(finish),
                                 is_stopgap);
}

ReadyPtr ReadyKernels::planned(const Demand& demand) {
  if (const ReadyPtr* known = ready_.find({nullptr, demand})) return *known;
  if (demand.fusion.batched) return remember({nullptr, demand}, planned_batched(demand));
  if (!demand.fusion.is_empty()) return before_learning(planned({demand.problem}));
  return remember({nullptr, demand}, make_ready(table_.choose(demand.problem)));
}

/// What runs without an epilogue and before anything is learnt. Not remembered: what runs will be.
Choice ReadyKernels::chosen(const Problem& problem) const {
  const ReadyPtr* known = ready_.find({nullptr, {problem}});
  return known != nullptr ? before_learning(*known)->choice : table_.choose(problem);
}

/// One launch only where a call may compile it.
ReadyPtr ReadyKernels::planned_batched(const Demand& demand) {
  Choice choice = batch_choice(demand, false);
  const std::string_view obstacle = why_unbatched(choice.plan);
  if (obstacle.empty() && compile_missing_) return make_ready(with(demand.fusion, std::move(choice)));
  return one_by_one(*before_learning(planned(demand.unbatched())), obstacle.empty() ? kNotCompiled : obstacle, false);
}

/// The kernel for all products at once, whether or not it can be batched.
Choice ReadyKernels::batch_choice(const Demand& demand, bool may_compile) {
  const ReadyPtr* planned = ready_.find({nullptr, demand});
  if (planned != nullptr && (*planned)->choice.fusion.batched) return (*planned)->choice;
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
  return make_ready(std::move(choice), each.kernel, is_stopgap, each.finish);
}

/// The model's time of a choice that is not compiled yet, of each product.
double ReadyKernels::model_us(const Choice& choice, const Demand& demand) const {
  return model_us(choice.family->plan(with_depth(demand.problem), choice.config, device_), demand);
}

/// The same of its plan.
double ReadyKernels::model_us(const LaunchPlan& plan, const Demand& demand) const {
  const double time_us = predict(with_depth(demand.problem), plan, device_, 0, demand.products).time_us;
  return time_us / static_cast<double>(demand.products);
}

std::optional<Choice> ReadyKernels::to_compile(const Demand& demand) const {
  auto tuned = table_.recompiled(demand.problem);
  if (tuned && demand.products == 1) return tuned;
  auto untuned = untuned_choice(demand.problem, device_, demand.products);
  if (!tuned || !untuned) return tuned ? std::move(tuned) : std::move(untuned);
  // What won alone need not be for many.
  const bool is_slow = model_us(*tuned, demand) > kTunedIsWorth * model_us(*untuned, demand);
  return is_slow ? std::move(untuned) : std::move(tuned);
}

/// What was compiled for the first problem of its kind, for all others that it can run.
std::optional<Choice> ReadyKernels::first_pick(const Demand& demand) {
  const Problem& problem = demand.problem;
  const Kind kind{problem.precision,  problem.layout,     problem.align.a,    problem.align.b,      problem.align.c,
                  problem.m >= kThin, problem.n >= kThin, problem.k >= kThin, demand.fusion.batched};
  const std::lock_guard lock(picks_mutex_);
  const auto [entry, is_new] = picks_.try_emplace(kind);
  if (is_new) return entry->second = to_compile(demand);
  std::optional<Choice> choice = entry->second;
  if (!choice) return std::nullopt;
  auto plan = choice->family->legal_plan(with_depth(problem), choice->config, device_);
  if (!plan) return std::nullopt;
  choice->expected_us = model_us(*plan, demand);
  choice->plan = problem.k > 0 ? *std::move(plan) : choice->family->plan(problem, choice->config, device_);
  choice->why = "nothing is tuned for this call: what was compiled for another one";
  return choice;
}

// -- loading ---------------------------------------------------------------------------------------------------------

KernelCache::Kernel ReadyKernels::load(CUcontext context, const Choice& choice, const Problem& problem,
                                       Compile compile) {
  return kernels_.get(context, program_of(choice, problem), choice.plan, [&] {
    if (!choice.binary_hash.empty()) return programs_.stored(choice.binary_hash);
    if (compile == Compile::no) throw nothing_to_run(problem);
    return programs_.compile(choice, problem);
  });
}

KernelCache::Kernel ReadyKernels::loaded(CUcontext context, const Choice& choice, const Problem& problem) {
  return kernels_.find(context, program_of(choice, problem), choice.plan);
}

Error ReadyKernels::nothing_to_run(const Problem& problem) const {
  const std::string sizes = fmt::format("{}x{}x{}", problem.m, problem.n, problem.k);
  return Error(fmt::format(
      "{}: no stored kernel can run it and the fallback is not compiled; call prepare(), open "
      "the library with compile_missing, or run `{} --precision {} --layout {}`",
      to_string(problem), tune_command(sizes, places_.own), to_string(problem.precision), to_string(problem.layout)));
}

/// The choice's kernel, or the fallback's if that one cannot be loaded.
ReadyPtr ReadyKernels::load_or_fall_back(CUcontext context, const Choice& choice, const Problem& problem,
                                         Compile compile) {
  require_context_of(*installed_);
  std::string why;
  bool is_locked = false;
  try {
    return make_ready(choice, load(context, choice, problem, compile));
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    if (choice.match == Match::fallback) throw;
    why = fmt::format("{} {} could not be loaded: {}", choice.family->name(), choice.config.text(), error.what());
    is_locked = dynamic_cast<const DatabaseLockedError*>(&error) != nullptr;
  }
  warn_of_fallback(problem, why);
  const Choice instead = with(choice.fusion, table_.fallback(problem, std::move(why)));
  return make_ready(instead, load(context, instead, problem, compile), is_locked);
}

/// Once: an application may have many sizes.
void ReadyKernels::warn_of_fallback(const Problem& problem, std::string_view why) {
  if (warned_of_fallback_.exchange(true)) return;
  log::warning("{}: {}; the fallback runs, which is slow: call prepare() where there is NVRTC, or run `{}`",
               to_string(problem), why,
               tune_command(fmt::format("{}x{}x{}", problem.m, problem.n, problem.k), places_.own));
}

ReadyPtr ReadyKernels::ready(CUcontext context, const Demand& demand, CUstream stream) {
  if (const ReadyPtr* known = ready_.find({context, demand})) return *known;
  if (demand.fusion.batched) return ready_batched(context, demand, stream);
  if (!demand.fusion.is_empty()) return ready_fused(context, demand, stream);
  const Problem& problem = demand.problem;
  if (is_capturing(stream)) return ready_in_capture(context, problem);
  Choice choice = chosen(problem);
  const Match planned_match = choice.match;
  if (choice.match == Match::fallback && compile_untuned_) {
    if (auto pick = first_pick(demand)) choice = *std::move(pick);
  }
  ReadyPtr loaded = load_or_fall_back(context, choice, problem, compile_missing_ ? Compile::yes : Compile::no);
  if (choice.match == Match::fallback) warn_of_fallback(problem, choice.why);
  if (loaded->is_stopgap) {
    forgotten_ = true;
    return loaded;
  }
  if (loaded->choice.match != planned_match) remember({nullptr, demand}, make_ready(loaded->choice));
  return remember({context, demand}, with_rivals(context, problem, std::move(loaded)));
}

/// Loading would end the capture, so that only what is loaded can run.
ReadyPtr ReadyKernels::ready_in_capture(CUcontext context, const Problem& problem) {
  const Choice choice = chosen(problem);
  if (auto kernel = loaded(context, choice, problem)) {
    return remember({context, {problem}}, make_ready(choice, kernel));
  }
  const Choice plain = table_.fallback(
      problem, "the stream is captured and the kernel that was chosen is not loaded; call prepare() before");
  if (auto kernel = loaded(context, plain, problem)) {
    forgotten_ = true;
    return make_ready(plain, kernel, true);
  }
  throw Error(
      fmt::format("{}: its kernel is not loaded, which is not possible while the stream is captured; call "
                  "prepare() before",
                  to_string(problem)));
}

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
  remember({nullptr, demand}, make_ready(choice));
  return remember({context, demand}, make_ready(choice, std::move(kernel)));
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
      remember({nullptr, demand}, make_ready(choice));
      return remember({context, demand}, make_ready(choice, std::move(kernel)));
    }
  }
  const ReadyPtr each = before_learning(ready(context, demand.unbatched(), stream));
  const bool is_stopgap = each->is_stopgap || (can_batch && compile_missing_ && !may_compile);
  ReadyPtr all = one_by_one(*each, why, is_stopgap);
  if (is_stopgap) {
    forgotten_ = true;
    return all;
  }
  remember({nullptr, demand}, make_ready(all->choice));
  return remember({context, demand}, std::move(all));
}

/// The plain product and a kernel that goes over C again; `why` not one.
ReadyPtr ReadyKernels::ready_in_two_kernels(CUcontext context, const Demand& demand, CUstream stream,
                                            std::string_view why) {
  const auto& [problem, fusion, products] = demand;
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  auto second = finish(context, problem, fusion, may_compile ? Compile::yes : Compile::no);
  if (!second) throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(fusion), why));
  const ReadyPtr plain = before_learning(ready(context, {problem}, stream));
  Choice choice = plain->choice;
  choice.measured = false;
  choice.why += fmt::format("; {} by a second kernel, since {}", to_string(fusion), why);
  const bool is_stopgap = plain->is_stopgap || (compile_missing_ && !may_compile);
  ReadyPtr both = make_ready(std::move(choice), plain->kernel, is_stopgap, std::move(second));
  return is_stopgap ? both : remember({context, demand}, std::move(both));
}

std::optional<Finish> ReadyKernels::finish(CUcontext context, const Problem& problem, const Fusion& fusion,
                                           Compile compile) {
  LaunchPlan plan = finish_plan(problem);
  const std::string program = fmt::format("{} for {}", to_string(fusion), to_string(problem.precision));
  KernelCache::Kernel kernel =
      compile == Compile::no
          ? kernels_.find(context, program, plan)
          : kernels_.get(context, program, plan, [&] { return programs_.compile_finish(problem, fusion); });
  if (kernel == nullptr) return std::nullopt;
  return Finish{std::move(plan), std::move(kernel)};
}

/// Loads the fallback too, for sizes that nothing is said of and that may come while a stream is captured.
void ReadyKernels::prepare_fallback(CUcontext context, const Problem& problem, Compile compile) {
  try {
    load(context, table_.fallback(problem, ""), problem, compile);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    log::debug("{}: {}", to_string(problem), error.what());
  }
}

/// A launch for each product where one launch is not possible.
ReadyPtr ReadyKernels::prepared_batched(CUcontext context, const Demand& demand) {
  const ReadyPtr* known = ready_.find({context, demand});
  if (known != nullptr && (*known)->choice.fusion.batched && (*known)->choice.match != Match::fallback) return *known;
  Choice choice = batch_choice(demand, false);
  if (choice.match == Match::fallback) {
    if (auto better = to_compile(demand)) choice = *std::move(better);
  }
  std::string why{why_unbatched(choice.plan)};
  ReadyPtr ready;
  if (why.empty()) {
    choice = with(demand.fusion, std::move(choice));
    if (KernelCache::Kernel kernel = fused(context, choice, demand.problem, Compile::yes, why)) {
      ready = make_ready(std::move(choice), std::move(kernel));
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
  if (ready->is_stopgap || (known != nullptr && (*known)->answer.why == ready->answer.why)) return ready;
  ready_.put({nullptr, demand}, make_ready(ready->choice));
  ready_.put({context, demand}, ready);
  return ready;
}

ReadyPtr ReadyKernels::prepared(CUcontext context, const Demand& demand) {
  if (demand.fusion.batched) return prepared_batched(context, demand);
  const auto& [problem, fusion, products] = demand;
  const ReadyPtr* known = ready_.find({context, demand});
  if (known != nullptr && (*known)->finish) known = nullptr;  // one kernel is better
  if (known != nullptr && (*known)->choice.match != Match::fallback) return *known;
  Choice choice = planned(demand)->choice;
  const bool needs_fallback = choice.match == Match::fallback && fusion.is_empty();
  prepare_fallback(context, problem, needs_fallback ? Compile::yes : Compile::no);
  if (choice.match == Match::fallback) {
    if (auto better = to_compile(demand)) choice = *std::move(better);
  }
  if (known != nullptr && choice.match == Match::fallback) return *known;
  // For other sizes. No plain program loads scalars.
  if (fusion.has_epilogue() && !fusion.loads_scalars) finish(context, problem, fusion, Compile::yes);
  ReadyPtr loaded = load_or_fall_back(context, with(fusion, std::move(choice)), problem, Compile::yes);
  if (loaded->is_stopgap) return loaded;
  // Asked for, so kept however much is remembered already.
  ready_.put({nullptr, demand}, make_ready(loaded->choice));
  if (fusion.is_empty()) loaded = with_rivals(context, problem, std::move(loaded));
  ready_.put({context, demand}, loaded);
  return loaded;
}

}  // namespace mmtune
