#include <fmt/format.h>
#include <mmtune/mmtune.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "runtime/append_map.h"
#include "runtime/call_record.h"
#include "runtime/current_context.h"
#include "runtime/databases.h"
#include "runtime/device_query.h"
#include "runtime/dispatch.h"
#include "runtime/env.h"
#include "runtime/gemm_call.h"
#include "runtime/kernel_cache.h"
#include "runtime/log.h"
#include "runtime/programs.h"
#include "runtime/template_files.h"
#include "runtime/untuned.h"
#include "runtime/workspaces.h"
#include "templates/gpu_catalog.h"

namespace mmtune {

namespace {

constexpr std::chrono::milliseconds kPatienceInAll{50};  // for all locks of a database, as long as a library lives
constexpr std::size_t kRemembered = 1 << 14;             // answers; further sizes are worked out on every call

/// An answer worked out: complete once `kernel` is there, until then only good for planning.
struct Ready {
  Ready(Choice chosen, Answer answered, KernelCache::Kernel loaded, bool stopgap)
      : choice(std::move(chosen)), answer(std::move(answered)), kernel(std::move(loaded)), is_stopgap(stopgap) {}

  Choice choice;
  Answer answer;
  KernelCache::Kernel kernel;
  bool is_stopgap = false;                         ///< the choice could not be read just now: the next call tries again
  mutable std::atomic<std::int64_t> products = 0;  ///< that it ran, where calls are recorded
};

using ReadyPtr = std::shared_ptr<const Ready>;

struct Place {
  CUcontext context;  ///< null: planned, loaded nowhere
  Problem problem;

  friend bool operator==(const Place&, const Place&) = default;
};

struct PlaceHash {
  std::size_t operator()(const Place& place) const {
    return ProblemHash{}(place.problem) ^ (reinterpret_cast<std::uintptr_t>(place.context) >> 4);
  }
};

/// The device of the calling thread's context, or 0.
int current_device() {
  CUcontext context = nullptr;
  if (gpu_count() > 0) MMTUNE_CUDA(cuCtxGetCurrent(&context));
  CUdevice device = 0;
  if (context != nullptr) MMTUNE_CUDA(cuCtxGetDevice(&device));
  return device;
}

}  // namespace

std::string_view to_string(Match match) {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::nearest:
      return "nearest";
    case Match::predicted:
      return "predicted";
    case Match::fallback:
      break;
  }
  return "fallback";
}

struct Library::Impl {
  Impl(const LibraryOptions& options, DeviceSpec spec, std::optional<CUdevice> installed)
      : compile_missing(options.compile_missing),
        places(database_places(options)),
        device(std::move(spec)),
        programs(places.all(), device, template_files(), lock_budget),
        table(device, load_database()) {
    if (installed) primary.emplace(*installed);
  }

  ~Impl() {
    write_record();
    if (!primary) return;
    // Modules are unloaded in their context.
    CUcontext context = nullptr;
    check_in_destructor(cuda().cuCtxGetCurrent(&context), "cuCtxGetCurrent(&context)");
    const bool borrow = context == nullptr && primary->if_retained() != nullptr;
    if (borrow) check_in_destructor(cuda().cuCtxSetCurrent(primary->if_retained()), "cuCtxSetCurrent");
    on_gpu.reset();
    if (borrow) check_in_destructor(cuda().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent(nullptr)");
  }

  /// The fallbacks' machine code is kept, so that there is always something to run.
  StoredKernels load_database() {
    StoredKernels kernels = read_databases(places, device, programs.files(), lock_budget, note);
    programs.keep(std::move(kernels.images));
    return kernels;
  }

  PrimaryContext& require_gpu() {
    if (primary) return *primary;
    throw DeviceError(
        fmt::format("{} is not installed: this library only plans; open one without a model to run", device.name));
  }

  // -- recording -----------------------------------------------------------------------------------------------------

  void count(const Ready& what, std::int64_t products) {
    if (!record_file) return;
    what.products.fetch_add(products, std::memory_order_relaxed);
    if (what.is_stopgap || on_gpu->ready.size() >= kRemembered) forgotten.store(true, std::memory_order_relaxed);
  }

  void write_record() noexcept {
    if (!record_file) return;
    try {
      std::vector<RecordedCalls> calls;
      on_gpu->ready.for_each([&](const Place& place, const ReadyPtr& what) {
        const std::int64_t products = what->products.load(std::memory_order_relaxed);
        const double seconds = static_cast<double>(products) * what->answer.expected_us * 1e-6;
        if (products > 0) calls.push_back({place.problem, products, seconds});
      });
      append_record(*record_file, calls);
      if (forgotten)
        log::warning("MMTUNE_RECORD={}: calls of more than {} sizes are not in it", *record_file, kRemembered);
    } catch (const std::exception& error) {
      log::warning("{}", error.what());
    }
  }

  // -- choosing ------------------------------------------------------------------------------------------------------

  ReadyPtr remember(CUcontext context, const Problem& problem, ReadyPtr ready) {
    if (on_gpu->ready.size() < kRemembered) on_gpu->ready.put({context, problem}, ready);
    return ready;
  }

  ReadyPtr make_ready(Choice choice, KernelCache::Kernel kernel = nullptr, bool is_stopgap = false) const {
    Answer answer{choice.match,         std::string(choice.family->name()),
                  choice.config.text(), choice.expected_us,
                  choice.measured,      note.empty() ? choice.why : fmt::format("{} ({})", choice.why, note)};
    return std::make_shared<const Ready>(std::move(choice), std::move(answer), std::move(kernel), is_stopgap);
  }

  ReadyPtr planned(const Problem& problem) {
    if (const ReadyPtr* known = on_gpu->ready.find({nullptr, problem})) return *known;
    return remember(nullptr, problem, make_ready(table.choose(problem)));
  }

  // -- loading -------------------------------------------------------------------------------------------------------

  enum class Compile { no, yes };

  /// What tells a program from others: the hash of its machine code, else what is to be compiled.
  static std::string program_of(const Choice& choice, const Problem& problem) {
    if (!choice.binary_hash.empty()) return choice.binary_hash;
    return fmt::format("{} {} {} {} a{}b{}c{}", choice.family->name(), choice.config.text(),
                       to_string(problem.precision), to_string(problem.layout), choice.align.a, choice.align.b,
                       choice.align.c);
  }

  KernelCache::Kernel load(CUcontext context, const Choice& choice, const Problem& problem, Compile compile) {
    return on_gpu->kernels.get(context, program_of(choice, problem), choice.plan, [&] {
      if (!choice.binary_hash.empty()) return programs.stored(choice.binary_hash);
      if (compile == Compile::no) throw nothing_to_run(problem);
      return programs.compile(choice, problem);
    });
  }

  KernelCache::Kernel loaded(CUcontext context, const Choice& choice, const Problem& problem) {
    return on_gpu->kernels.find(context, program_of(choice, problem), choice.plan);
  }

  Error nothing_to_run(const Problem& problem) const {
    const std::string sizes = fmt::format("{}x{}x{}", problem.m, problem.n, problem.k);
    return Error(fmt::format(
        "{}: no stored kernel can run it and the fallback is not compiled; call prepare(), open "
        "the library with compile_missing, or run `{} --precision {} --layout {}`",
        to_string(problem), tune_command(sizes, places.own), to_string(problem.precision), to_string(problem.layout)));
  }

  /// The choice's kernel, or the fallback's if that one cannot be loaded.
  ReadyPtr load_or_fall_back(CUcontext context, const Choice& choice, const Problem& problem, Compile compile) {
    require_context_of(primary->device());
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
    const Choice instead = table.fallback(problem, std::move(why));
    return make_ready(instead, load(context, instead, problem, compile), is_locked);
  }

  /// Once: an application may have many sizes.
  void warn_of_fallback(const Problem& problem, std::string_view why) {
    if (warned_of_fallback.exchange(true)) return;
    log::warning("{}: {}; the fallback runs, which is slow: call prepare() where there is NVRTC, or run `{}`",
                 to_string(problem), why,
                 tune_command(fmt::format("{}x{}x{}", problem.m, problem.n, problem.k), places.own));
  }

  ReadyPtr ready(CUcontext context, const Problem& problem, CUstream stream) {
    if (const ReadyPtr* known = on_gpu->ready.find({context, problem})) return *known;
    if (is_capturing(stream)) return ready_in_capture(context, problem);
    const ReadyPtr plan = planned(problem);
    const Compile compile = compile_missing ? Compile::yes : Compile::no;
    ReadyPtr loaded = load_or_fall_back(context, plan->choice, problem, compile);
    if (plan->choice.match == Match::fallback) warn_of_fallback(problem, plan->choice.why);
    if (loaded->is_stopgap) return loaded;
    if (loaded->choice.match != plan->choice.match) remember(nullptr, problem, make_ready(loaded->choice));
    return remember(context, problem, std::move(loaded));
  }

  /// Loading would end the capture, so that only what is loaded can run.
  ReadyPtr ready_in_capture(CUcontext context, const Problem& problem) {
    const Choice& choice = planned(problem)->choice;
    if (auto kernel = loaded(context, choice, problem)) return remember(context, problem, make_ready(choice, kernel));
    const Choice plain = table.fallback(
        problem, "the stream is captured and the kernel that was chosen is not loaded; call prepare() before");
    if (auto kernel = loaded(context, plain, problem)) return make_ready(plain, kernel, true);
    throw Error(
        fmt::format("{}: its kernel is not loaded, which is not possible while the stream is captured; call "
                    "prepare() before",
                    to_string(problem)));
  }

  /// Loads the fallback too, for sizes that nothing is said of and that may come while a stream is captured.
  void prepare_fallback(CUcontext context, const Problem& problem, Compile compile) {
    try {
      load(context, table.fallback(problem, ""), problem, compile);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error& error) {
      log::debug("{}: {}", to_string(problem), error.what());
    }
  }

  ReadyPtr prepared(CUcontext context, const Problem& problem) {
    const ReadyPtr* known = on_gpu->ready.find({context, problem});
    if (known != nullptr && (*known)->choice.match != Match::fallback) return *known;
    Choice choice = planned(problem)->choice;
    prepare_fallback(context, problem, choice.match == Match::fallback ? Compile::yes : Compile::no);
    if (choice.match == Match::fallback) {
      auto better = table.recompiled(problem);
      if (!better) better = untuned_choice(problem, device);
      if (better) choice = *std::move(better);
    }
    if (known != nullptr && choice.match == Match::fallback) return *known;
    ReadyPtr loaded = load_or_fall_back(context, choice, problem, Compile::yes);
    if (loaded->is_stopgap) return loaded;
    // Asked for, so kept however much is remembered already.
    on_gpu->ready.put({nullptr, problem}, make_ready(loaded->choice));
    on_gpu->ready.put({context, problem}, loaded);
    return loaded;
  }

  // -- running -------------------------------------------------------------------------------------------------------

  ReadyPtr enqueue(const Gemm& call, const GemmCall& checked, CUstream stream) {
    PrimaryContext& device_context = require_gpu();
    if (checked.empty()) return nullptr;
    const CurrentContext context(device_context);
    ReadyPtr what = ready(context.get(), checked.problem, stream);
    const auto needed = static_cast<std::size_t>(what->choice.plan.workspace.bytes());
    if (call.workspace != nullptr && call.workspace_bytes < needed) {
      throw UsageError(fmt::format("workspace_bytes = {}: this call needs {}", call.workspace_bytes, needed));
    }
    std::optional<Workspaces::Lease> lease;
    if (call.workspace == nullptr && needed > 0) lease.emplace(on_gpu->workspaces.lease(context.get(), stream, needed));
    for (std::int64_t i = 0; i < checked.batch; ++i) {
      Operands operands = operands_of(checked, i);
      if (lease) operands.workspace = lease->address();
      launch(*what->kernel, what->choice.plan, checked.problem, operands, stream);
    }
    count(*what, checked.batch);
    return what;
  }

  struct OnGpu {
    KernelCache kernels;
    Workspaces workspaces;
    AppendMap<Place, ReadyPtr, PlaceHash> ready{kRemembered};
  };

  bool compile_missing;
  DatabasePlaces places;
  LockBudget lock_budget{kPatienceInAll};
  std::atomic<bool> warned_of_fallback = false;
  std::optional<std::string> record_file = env::get("MMTUNE_RECORD");
  std::atomic<bool> forgotten = false;  ///< a call that ran is in no record
  std::string note;                     ///< what is wrong with the database
  DeviceSpec device;
  Programs programs;
  DispatchTable table;
  std::optional<PrimaryContext> primary;  ///< none for a model
  std::unique_ptr<OnGpu> on_gpu = std::make_unique<OnGpu>();
};

Library Library::open(const LibraryOptions& options) {
  if (!options.model.empty()) return Library(std::make_unique<Impl>(options, catalog_gpu(options.model), std::nullopt));
  const int ordinal = options.device == kCurrentDevice ? current_device() : options.device;
  return Library(std::make_unique<Impl>(options, query_device(ordinal), device_at(ordinal)));
}

Library::Library(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

namespace {

Answer nothing_to_do() {
  Answer answer;
  answer.why = "there is nothing to compute";
  return answer;
}

}  // namespace

Answer Library::gemm(const Gemm& call, void* stream) {
  const ReadyPtr ran = impl_->enqueue(call, check_call(call, CallPurpose::run), static_cast<CUstream>(stream));
  return ran ? ran->answer : nothing_to_do();
}

void Library::enqueue(const Gemm& call, void* stream) {
  impl_->enqueue(call, check_call(call, CallPurpose::run), static_cast<CUstream>(stream));
}

void Library::enqueue(const Gemm& call, const GemmPointers& pointers, void* stream) {
  impl_->enqueue(call, check_call(call, pointers), static_cast<CUstream>(stream));
}

Answer Library::plan(const Gemm& call) const {
  const GemmCall checked = check_call(call, CallPurpose::plan);
  return checked.empty() ? nothing_to_do() : impl_->planned(checked.problem)->answer;
}

std::size_t Library::workspace_bytes(const Gemm& call) const {
  const GemmCall checked = check_call(call, CallPurpose::plan);
  if (checked.empty()) return 0;
  return static_cast<std::size_t>(impl_->planned(checked.problem)->choice.plan.workspace.bytes());
}

void Library::prepare(std::span<const Gemm> calls, void* stream) {
  PrimaryContext& primary = impl_->require_gpu();
  for (const Gemm& call : calls) {
    const GemmCall checked = check_call(call, CallPurpose::plan);
    if (checked.empty()) continue;
    const CurrentContext context(primary);
    const ReadyPtr ready = impl_->prepared(context.get(), checked.problem);
    const std::int64_t needed = ready->choice.plan.workspace.bytes();
    if (call.workspace != nullptr || needed == 0) continue;
    impl_->on_gpu->workspaces.lease(context.get(), static_cast<CUstream>(stream), static_cast<std::size_t>(needed));
  }
}

}  // namespace mmtune
