#include "runtime/ready_kernels.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
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
  const auto fusion = static_cast<std::size_t>(place.fusion.activation) << 3 |
                      static_cast<std::size_t>(place.fusion.bias) << 1 |
                      static_cast<std::size_t>(place.fusion.loads_scalars);
  return ProblemHash{}(place.problem) ^ (reinterpret_cast<std::uintptr_t>(place.context) >> 4) ^ fusion;
}

ReadyKernels::ReadyKernels(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed)
    : compile_missing_(options.compile_missing || options.compile_untuned),
      compile_untuned_(options.compile_untuned),
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
  ready_.for_each([&](const Place& place, const ReadyPtr& what) { visit(place.problem, *what); });
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

ReadyPtr ReadyKernels::make_ready(Choice choice, KernelCache::Kernel kernel, bool is_stopgap,
                                  std::optional<Finish> finish) const {
  Answer answer{choice.match,         std::string(choice.family->name()),
                choice.config.text(), choice.expected_us,
                choice.measured,      note_.empty() ? choice.why : fmt::format("{} ({})", choice.why, note_)};
  return std::make_shared<const Ready>(std::move(choice), std::move(answer), std::move(kernel), std::move(finish),
                                       is_stopgap);
}

ReadyPtr ReadyKernels::planned(const Problem& problem, const Fusion& fusion) {
  if (const ReadyPtr* known = ready_.find({nullptr, problem, fusion})) return *known;
  if (!fusion.is_empty()) return planned(problem, {});
  return remember({nullptr, problem, {}}, make_ready(table_.choose(problem)));
}

std::optional<Choice> ReadyKernels::to_compile(const Problem& problem) const {
  auto choice = table_.recompiled(problem);
  return choice ? std::move(choice) : untuned_choice(problem, device_);
}

/// What was compiled for the first problem of its kind, for all others that it can run.
std::optional<Choice> ReadyKernels::first_pick(const Problem& problem) {
  const Kind kind{problem.precision, problem.layout,     problem.align.a,    problem.align.b,
                  problem.align.c,   problem.m >= kThin, problem.n >= kThin, problem.k >= kThin};
  const std::lock_guard lock(picks_mutex_);
  const auto [entry, is_new] = picks_.try_emplace(kind);
  if (is_new) return entry->second = to_compile(problem);
  std::optional<Choice> choice = entry->second;
  if (!choice) return std::nullopt;
  const Problem timed = with_depth(problem);
  const auto plan = choice->family->legal_plan(timed, choice->config, device_);
  if (!plan) return std::nullopt;
  choice->expected_us = predict(timed, *plan, device_, 0).time_us;
  choice->plan = choice->family->plan(problem, choice->config, device_);
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

ReadyPtr ReadyKernels::ready(CUcontext context, const Problem& problem, const Fusion& fusion, CUstream stream) {
  if (const ReadyPtr* known = ready_.find({context, problem, fusion})) return *known;
  if (!fusion.is_empty()) return ready_fused(context, problem, fusion, stream);
  if (is_capturing(stream)) return ready_in_capture(context, problem);
  Choice choice = planned(problem, {})->choice;
  const Match planned_match = choice.match;
  if (choice.match == Match::fallback && compile_untuned_) {
    if (auto pick = first_pick(problem)) choice = *std::move(pick);
  }
  ReadyPtr loaded = load_or_fall_back(context, choice, problem, compile_missing_ ? Compile::yes : Compile::no);
  if (choice.match == Match::fallback) warn_of_fallback(problem, choice.why);
  if (loaded->is_stopgap) {
    forgotten_ = true;
    return loaded;
  }
  if (loaded->choice.match != planned_match) remember({nullptr, problem, {}}, make_ready(loaded->choice));
  return remember({context, problem, {}}, std::move(loaded));
}

/// Loading would end the capture, so that only what is loaded can run.
ReadyPtr ReadyKernels::ready_in_capture(CUcontext context, const Problem& problem) {
  const Choice choice = planned(problem, {})->choice;
  if (auto kernel = loaded(context, choice, problem))
    return remember({context, problem, {}}, make_ready(choice, kernel));
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
ReadyPtr ReadyKernels::ready_fused(CUcontext context, const Problem& problem, const Fusion& fusion, CUstream stream) {
  require_context_of(*installed_);
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  Choice choice = planned(problem, fusion)->choice;
  if (choice.match == Match::fallback && compile_untuned_ && may_compile) {
    if (auto pick = first_pick(problem)) choice = *std::move(pick);
  }
  choice = with(fusion, std::move(choice));
  KernelCache::Kernel kernel = loaded(context, choice, problem);
  std::string why = "its kernel is not compiled with it; call prepare() before";
  if (kernel == nullptr && may_compile) {
    try {
      kernel = load(context, choice, problem, Compile::yes);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  if (kernel == nullptr && fusion.loads_scalars) {
    throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(fusion), why));
  }
  if (kernel == nullptr) return ready_in_two_kernels(context, problem, fusion, stream, why);
  if (choice.match == Match::fallback) warn_of_fallback(problem, choice.why);
  remember({nullptr, problem, fusion}, make_ready(choice));
  return remember({context, problem, fusion}, make_ready(choice, std::move(kernel)));
}

/// The plain product and a kernel that goes over C again; `why` not one.
ReadyPtr ReadyKernels::ready_in_two_kernels(CUcontext context, const Problem& problem, const Fusion& fusion,
                                            CUstream stream, std::string_view why) {
  const bool may_compile = compile_missing_ && !is_capturing(stream);
  auto second = finish(context, problem, fusion, may_compile ? Compile::yes : Compile::no);
  if (!second) throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(fusion), why));
  const ReadyPtr plain = ready(context, problem, {}, stream);
  Choice choice = plain->choice;
  choice.measured = false;
  choice.why += fmt::format("; {} by a second kernel, since {}", to_string(fusion), why);
  const bool is_stopgap = plain->is_stopgap || (compile_missing_ && !may_compile);
  ReadyPtr both = make_ready(std::move(choice), plain->kernel, is_stopgap, std::move(second));
  return is_stopgap ? both : remember({context, problem, fusion}, std::move(both));
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

ReadyPtr ReadyKernels::prepared(CUcontext context, const Problem& problem, const Fusion& fusion) {
  const ReadyPtr* known = ready_.find({context, problem, fusion});
  if (known != nullptr && (*known)->finish) known = nullptr;  // one kernel is better
  if (known != nullptr && (*known)->choice.match != Match::fallback) return *known;
  Choice choice = planned(problem, fusion)->choice;
  const bool needs_fallback = choice.match == Match::fallback && fusion.is_empty();
  prepare_fallback(context, problem, needs_fallback ? Compile::yes : Compile::no);
  if (choice.match == Match::fallback) {
    if (auto better = to_compile(problem)) choice = *std::move(better);
  }
  if (known != nullptr && choice.match == Match::fallback) return *known;
  // For other sizes. No plain program loads scalars.
  if (fusion.has_epilogue() && !fusion.loads_scalars) finish(context, problem, fusion, Compile::yes);
  ReadyPtr loaded = load_or_fall_back(context, with(fusion, std::move(choice)), problem, Compile::yes);
  if (loaded->is_stopgap) return loaded;
  // Asked for, so kept however much is remembered already.
  ready_.put({nullptr, problem, fusion}, make_ready(loaded->choice));
  ready_.put({context, problem, fusion}, loaded);
  return loaded;
}

}  // namespace mmtune
