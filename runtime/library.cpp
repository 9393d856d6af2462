#include <fmt/format.h>
#include <mmtune/mmtune.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <utility>

#include "runtime/append_map.h"
#include "runtime/current_context.h"
#include "runtime/device_query.h"
#include "runtime/dispatch.h"
#include "runtime/env.h"
#include "runtime/gemm_call.h"
#include "runtime/kernel_cache.h"
#include "runtime/log.h"
#include "runtime/programs.h"
#include "runtime/template_files.h"
#include "runtime/workspaces.h"
#include "templates/gpu_catalog.h"

namespace mmtune {

namespace {

constexpr std::chrono::milliseconds kPatienceInAll{50};  // for all locks of a database, as long as a library lives
constexpr std::size_t kRemembered = 1 << 14;             // answers; further sizes are worked out on every call

/// An answer worked out: complete once `kernel` is there, until then only good for planning.
struct Ready {
  Choice choice;
  Answer answer;
  KernelCache::Kernel kernel;
  bool is_stopgap = false;  ///< the choice could not be read just now: the next call tries again
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

std::string tune_command(std::string_view sizes, const std::string& database) {
  return fmt::format("mmtune --device auto --sizes {} --db {}", sizes, database);
}

/// Empty where there is no place for it.
std::string place_of_database(const LibraryOptions& options) {
  try {
    return options.database.empty() ? env::default_database() : options.database;
  } catch (const DatabaseError&) {
    return "";
  }
}

/// What the database offers this device. Nothing wrong with it may stop an application: `note` gets what is.
StoredKernels read_database(const std::string& path, const DeviceSpec& device, const TemplateFiles& files,
                            LockBudget& budget, std::string& note) {
  StoredKernels kernels;
  try {
    if (path.empty()) env::default_database();  // says why there is none
    std::error_code unreadable;
    if (std::filesystem::exists(path, unreadable) || unreadable) {
      Store store = Store::open(path, OpenMode::read_only, &budget);
      kernels = load_kernels(store, device, files);
      if (kernels.winners.empty()) note = fmt::format("database {} has no kernels for {}", path, device.name);
      if (kernels.unusable > 0) {
        note =
            fmt::format("database {}: {} kernels for {} are of another version", path, kernels.unusable, device.name);
      }
    } else {
      note = fmt::format("database {} does not exist", path);
    }
    if (!note.empty()) log::warning("{}; run `{}`", note, tune_command("256..8192", path));
  } catch (const DatabaseError& error) {
    note = error.what();
    log::warning("{}; going on with the fallback kernels", note);
  }
  return kernels;
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
        database(place_of_database(options)),
        device(std::move(spec)),
        programs(database, device, template_files(), lock_budget),
        table(device, load_database()) {
    if (installed) primary.emplace(*installed);
  }

  ~Impl() {
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
    StoredKernels kernels = read_database(database, device, programs.files(), lock_budget, note);
    programs.keep(std::move(kernels.images));
    return kernels;
  }

  PrimaryContext& require_gpu() {
    if (primary) return *primary;
    throw DeviceError(
        fmt::format("{} is not installed: this library only plans; open one without a model to run", device.name));
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
    return std::make_shared<const Ready>(Ready{std::move(choice), std::move(answer), std::move(kernel), is_stopgap});
  }

  ReadyPtr planned(const Problem& problem) {
    if (const ReadyPtr* known = on_gpu->ready.find({nullptr, problem})) return *known;
    return remember(nullptr, problem, make_ready(table.choose(problem)));
  }

  // -- loading -------------------------------------------------------------------------------------------------------

  enum class Compile { no, yes };

  KernelCache::Kernel load(CUcontext context, const Choice& choice, const Problem& problem, Compile compile) {
    if (!choice.binary_hash.empty()) {
      return on_gpu->kernels.get(context, choice.binary_hash, choice.plan,
                                 [&] { return programs.stored(choice.binary_hash); });
    }
    const std::string program =
        fmt::format("{} {} {} {} a{}b{}c{}", choice.family->name(), choice.config.text(), to_string(problem.precision),
                    to_string(problem.layout), choice.align.a, choice.align.b, choice.align.c);
    return on_gpu->kernels.get(context, program, choice.plan, [&] {
      if (compile == Compile::no) throw nothing_to_run(problem);
      return programs.compile(choice, problem);
    });
  }

  Error nothing_to_run(const Problem& problem) const {
    const std::string sizes = fmt::format("{}x{}x{}", problem.m, problem.n, problem.k);
    return Error(fmt::format(
        "{}: no stored kernel can run it and the fallback is not compiled; call prepare(), open "
        "the library with compile_missing, or run `{} --precision {} --layout {}`",
        to_string(problem), tune_command(sizes, database), to_string(problem.precision), to_string(problem.layout)));
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
      if (!is_locked || !warned_of_lock.exchange(true)) log::warning("{}: {}", to_string(problem), why);
    }
    const Choice instead = table.fallback(problem, std::move(why));
    return make_ready(instead, load(context, instead, problem, compile), is_locked);
  }

  ReadyPtr ready(CUcontext context, const Problem& problem) {
    if (const ReadyPtr* known = on_gpu->ready.find({context, problem})) return *known;
    const ReadyPtr plan = planned(problem);
    const Compile compile = compile_missing ? Compile::yes : Compile::no;
    ReadyPtr loaded = load_or_fall_back(context, plan->choice, problem, compile);
    if (loaded->is_stopgap) return loaded;
    if (loaded->choice.match != plan->choice.match) remember(nullptr, problem, make_ready(loaded->choice));
    return remember(context, problem, std::move(loaded));
  }

  ReadyPtr prepared(CUcontext context, const Problem& problem) {
    const ReadyPtr* known = on_gpu->ready.find({context, problem});
    if (known != nullptr && (*known)->choice.match != Match::fallback) return *known;
    Choice choice = planned(problem)->choice;
    if (choice.match == Match::fallback) {
      if (auto better = table.recompiled(problem)) choice = *std::move(better);
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

  void run(CUcontext context, const Ready& what, const Gemm& call, GemmCall& checked, CUstream stream) {
    const auto needed = static_cast<std::size_t>(what.choice.plan.workspace.bytes());
    if (call.workspace != nullptr && call.workspace_bytes < needed) {
      throw UsageError(fmt::format("workspace_bytes = {}: this call needs {}", call.workspace_bytes, needed));
    }
    const auto enqueue = [&] { launch(*what.kernel, what.choice.plan, checked.problem, checked.operands, stream); };
    if (call.workspace != nullptr || needed == 0) return enqueue();
    const Workspaces::Lease lease = on_gpu->workspaces.lease(context, stream, needed);
    checked.operands.workspace = lease.address();
    enqueue();
  }

  struct OnGpu {
    KernelCache kernels;
    Workspaces workspaces;
    AppendMap<Place, ReadyPtr, PlaceHash> ready{kRemembered};
  };

  bool compile_missing;
  std::string database;
  LockBudget lock_budget{kPatienceInAll};
  std::atomic<bool> warned_of_lock = false;
  std::string note;  ///< what is wrong with the database
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
  answer.why = "C is empty";
  return answer;
}

}  // namespace

Answer Library::gemm(const Gemm& call, void* stream) {
  GemmCall checked = check_call(call, CallPurpose::run);
  PrimaryContext& primary = impl_->require_gpu();
  if (checked.empty()) return nothing_to_do();
  const CurrentContext context(primary);
  const ReadyPtr ready = impl_->ready(context.get(), checked.problem);
  impl_->run(context.get(), *ready, call, checked, static_cast<CUstream>(stream));
  return ready->answer;
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
