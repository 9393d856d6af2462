#include "runtime/call/ready_kernels.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/choose/untuned.h"
#include "runtime/gpu/current_context.h"
#include "templates/model/cost.h"

namespace mmtune {

namespace {

constexpr std::chrono::milliseconds kPatienceInAll{50};  // for all locks of databases, as long as a library lives
constexpr std::int64_t kThin = 64;                       // extents below this ask for other kernels
constexpr double kTunedIsWorth = 1.5;                    // more than a model's word, for a batch too

/// What tells a program from others: the hash of its machine code, else what is to be compiled.
std::string program_of(const Choice& choice, const Problem& problem) {
  if (!choice.binary_hash.empty()) return choice.binary_hash;
  return fmt::format("{} {} {} {} a{}b{}c{} {}", choice.family->name(), choice.config.text(),
                     to_string(problem.precision), to_string(problem.layout), choice.align.a, choice.align.b,
                     choice.align.c, to_string(choice.fusion));
}

}  // namespace

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

Answer ReadyKernels::answer(const Ready& ready) const {
  const Choice& choice = ready.choice;
  return {choice.match,         std::string(choice.family->name()),
          choice.config.text(), choice.expected_us,
          choice.measured,      note_.empty() ? choice.why : fmt::format("{} ({})", choice.why, note_)};
}

void ReadyKernels::for_each(const std::function<void(const Problem&, const Ready&)>& visit) const {
  ready_.for_each([&](const Place& place, const Remembered& what) { visit(place.problem(), *what.ready); });
}

// -- choosing --------------------------------------------------------------------------------------------------------

void ReadyKernels::put(CUcontext context, const Demand& demand, ReadyPtr ready) {
  const Portion launch = portion_of(before_learning(ready)->choice, demand, kBatchWorkspace);
  ready_.put({context, demand}, {std::move(ready), launch.workspace_bytes});
}

/// What is remembered, or null.
ReadyPtr ReadyKernels::known(CUcontext context, const Demand& demand) const {
  const Remembered* remembered = ready_.find({context, demand});
  return {ReadyPtr(), remembered == nullptr ? nullptr : remembered->ready.get()};
}

ReadyPtr ReadyKernels::remember(CUcontext context, const Demand& demand, ReadyPtr ready) {
  if (ready_.size() < kRemembered) {
    put(context, demand, ready);
  } else if (context != nullptr) {
    forget();
  }
  return ready;
}

/// No call writes what it finds written: threads would take turns.
void ReadyKernels::forget() {
  if (!forgotten_.load(std::memory_order_relaxed)) forgotten_.store(true, std::memory_order_relaxed);
}

ReadyPtr ReadyKernels::planned(const Demand& demand) {
  if (ReadyPtr ready = known(nullptr, demand)) return ready;
  if (demand.fusion.batched) return remember(nullptr, demand, planned_batched(demand));
  if (!demand.fusion.is_empty()) return before_learning(planned({demand.problem}));
  return remember(nullptr, demand, std::make_shared<Ready>(table_.choose(demand.problem)));
}

std::size_t ReadyKernels::workspace_bytes(const Demand& demand) {
  if (const Remembered* remembered = ready_.find({nullptr, demand})) return remembered->workspace_bytes;
  return portion_of(before_learning(planned(demand))->choice, demand, kBatchWorkspace).workspace_bytes;
}

/// What runs without an epilogue and before anything is learnt. Not remembered: what runs will be.
Choice ReadyKernels::chosen(const Problem& problem) const {
  const ReadyPtr plan = known(nullptr, {problem});
  return plan != nullptr ? before_learning(plan)->choice : table_.choose(problem);
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
    return std::make_shared<Ready>(choice, load(context, choice, problem, compile));
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    if (choice.match == Match::fallback) throw;
    why = fmt::format("{} {} could not be loaded: {}", choice.family->name(), choice.config.text(), error.what());
    is_locked = dynamic_cast<const DatabaseLockedError*>(&error) != nullptr;
  }
  warn_of_fallback(problem, why);
  const Choice instead = with(choice.fusion, table_.fallback(problem, std::move(why)));
  return std::make_shared<Ready>(instead, load(context, instead, problem, compile), is_locked);
}

/// Once: an application may have many sizes.
void ReadyKernels::warn_of_fallback(const Problem& problem, std::string_view why) {
  if (warned_of_fallback_.exchange(true)) return;
  log::warning("{}: {}; the fallback runs, which is slow: call prepare() where there is NVRTC, or run `{}`",
               to_string(problem), why,
               tune_command(fmt::format("{}x{}x{}", problem.m, problem.n, problem.k), places_.own));
}

ReadyPtr ReadyKernels::ready(CUcontext context, const Demand& demand, CUstream stream) {
  if (ReadyPtr ready = known(context, demand)) return ready;
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
    forget();
    return loaded;
  }
  if (loaded->choice.match != planned_match) remember(nullptr, demand, std::make_shared<Ready>(loaded->choice));
  return remember(context, demand, with_rivals(context, problem, std::move(loaded)));
}

/// Loading would end the capture, so that only what is loaded can run.
ReadyPtr ReadyKernels::ready_in_capture(CUcontext context, const Problem& problem) {
  const Choice choice = chosen(problem);
  if (auto kernel = loaded(context, choice, problem)) {
    return remember(context, {problem}, std::make_shared<Ready>(choice, kernel));
  }
  const Choice plain = table_.fallback(
      problem, "the stream is captured and the kernel that was chosen is not loaded; call prepare() before");
  if (auto kernel = loaded(context, plain, problem)) {
    forget();
    return std::make_shared<Ready>(plain, kernel, true);
  }
  throw Error(
      fmt::format("{}: its kernel is not loaded, which is not possible while the stream is captured; call "
                  "prepare() before",
                  to_string(problem)));
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

ReadyPtr ReadyKernels::prepared(CUcontext context, const Demand& demand) {
  if (demand.fusion.batched) return prepared_batched(context, demand);
  const auto& [problem, fusion, products] = demand;
  ReadyPtr before = known(context, demand);
  if (before != nullptr && before->finish) before = nullptr;  // one kernel is better
  if (before != nullptr && before->choice.match != Match::fallback) return before;
  Choice choice = planned(demand)->choice;
  const bool needs_fallback = choice.match == Match::fallback && fusion.is_empty();
  prepare_fallback(context, problem, needs_fallback ? Compile::yes : Compile::no);
  if (choice.match == Match::fallback) {
    if (auto better = to_compile(demand)) choice = *std::move(better);
  }
  if (before != nullptr && choice.match == Match::fallback) return before;
  // For other sizes. No plain program loads scalars.
  if (fusion.has_epilogue() && !fusion.loads_scalars) finish(context, problem, fusion, Compile::yes);
  ReadyPtr loaded = load_or_fall_back(context, with(fusion, std::move(choice)), problem, Compile::yes);
  if (loaded->is_stopgap) return loaded;
  // Asked for, so kept however much is remembered already.
  put(nullptr, demand, std::make_shared<Ready>(loaded->choice));
  if (fusion.is_empty()) loaded = with_rivals(context, problem, std::move(loaded));
  put(context, demand, loaded);
  return loaded;
}

}  // namespace mmtune
