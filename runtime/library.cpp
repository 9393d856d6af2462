#include <fmt/format.h>
#include <mmtune/mmtune.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/call_record.h"
#include "runtime/current_context.h"
#include "runtime/device_query.h"
#include "runtime/env.h"
#include "runtime/gemm_call.h"
#include "runtime/log.h"
#include "runtime/ready_kernels.h"
#include "runtime/workspaces.h"
#include "templates/gpu_catalog.h"

namespace mmtune {

namespace {

constexpr std::int64_t kBatchWorkspace = 64 << 20;  // bytes that the library takes for a launch of several products

/// What of a call is one launch of each step.
struct Portion {
  std::int64_t products;
  std::size_t workspace_bytes;
};

/// As many products as have a part of `room` bytes of workspace. About: batches of similar size need the same.
Portion portion_of(const Choice& choice, const Demand& demand, std::int64_t room) {
  const std::int64_t most = choice.fusion.batched ? products_at_once(choice.plan, room) : 1;
  const std::int64_t products = std::min(most, demand.products);
  return {products, static_cast<std::size_t>(batch_workspace_bytes(choice.plan, products))};
}

std::int64_t room_of(const Gemm& call) {
  constexpr std::size_t kMost = std::size_t{1} << 60;
  return call.workspace == nullptr ? kBatchWorkspace : static_cast<std::int64_t>(std::min(call.workspace_bytes, kMost));
}

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
  Impl(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed)
      : kernels(std::make_unique<ReadyKernels>(options, std::move(device), installed)) {
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
    kernels.reset();
    workspaces.reset();
    if (borrow) check_in_destructor(cuda().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent(nullptr)");
  }

  PrimaryContext& require_gpu() {
    if (primary) return *primary;
    throw DeviceError(fmt::format("{} is not installed: this library only plans; open one without a model to run",
                                  kernels->device().name));
  }

  /// Null where there is nothing to compute.
  ReadyPtr enqueue(const Gemm& call, const GemmCall& checked, CUstream stream) {
    PrimaryContext& device_context = require_gpu();
    if (checked.empty()) return nullptr;
    const CurrentContext context(device_context);
    const Demand demand = demand_of(checked);
    ReadyPtr what = kernels->ready(context.get(), demand, stream);
    const auto [at_once, needed] = portion_of(what->choice, demand, room_of(call));
    if (call.workspace != nullptr && call.workspace_bytes < needed) {
      throw UsageError(fmt::format("workspace_bytes = {}: this call needs {}", call.workspace_bytes, needed));
    }
    std::optional<Workspaces::Lease> lease;
    if (call.workspace == nullptr && needed > 0) lease.emplace(workspaces->lease(context.get(), stream, needed));
    for (std::int64_t i = 0; i < checked.batch; i += at_once) {
      Operands operands = operands_of(checked, i);
      if (lease) operands.workspace = lease->address();
      if (what->choice.fusion.batched) {
        operands.batch = Batch{std::min(at_once, checked.batch - i), checked.step_bytes};
      }
      launch(*what->kernel, what->choice.plan, checked.problem, operands, stream);
      if (what->finish) launch(*what->finish->kernel, what->finish->plan, checked.problem, operands, stream);
    }
    if (record_file) what->products.fetch_add(checked.batch, std::memory_order_relaxed);
    return what;
  }

  void write_record() noexcept {
    if (!record_file) return;
    try {
      std::vector<RecordedCalls> calls;
      kernels->for_each([&](const Problem& problem, const Ready& what) {
        const std::int64_t products = what.products.load(std::memory_order_relaxed);
        const double seconds = static_cast<double>(products) * what.answer.expected_us * 1e-6;
        if (products > 0) calls.push_back({problem, products, seconds});
      });
      append_record(*record_file, calls);
      if (kernels->has_forgotten()) log::warning("MMTUNE_RECORD={}: some calls are not in it", *record_file);
    } catch (const std::exception& error) {
      log::warning("{}", error.what());
    }
  }

  std::optional<std::string> record_file = env::get("MMTUNE_RECORD");
  std::optional<PrimaryContext> primary;  ///< none for a model
  std::unique_ptr<ReadyKernels> kernels;
  std::unique_ptr<Workspaces> workspaces = std::make_unique<Workspaces>();
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
  return checked.empty() ? nothing_to_do() : impl_->kernels->planned(demand_of(checked))->answer;
}

std::size_t Library::workspace_bytes(const Gemm& call) const {
  const GemmCall checked = check_call(call, CallPurpose::plan);
  if (checked.empty()) return 0;
  const Demand demand = demand_of(checked);
  return portion_of(impl_->kernels->planned(demand)->choice, demand, kBatchWorkspace).workspace_bytes;
}

void Library::prepare(std::span<const Gemm> calls, void* stream) {
  PrimaryContext& primary = impl_->require_gpu();
  for (const Gemm& call : calls) {
    const GemmCall checked = check_call(call, CallPurpose::plan);
    if (checked.empty()) continue;
    const CurrentContext context(primary);
    const Demand demand = demand_of(checked);
    const ReadyPtr ready = impl_->kernels->prepared(context.get(), demand);
    const std::size_t needed = portion_of(ready->choice, demand, kBatchWorkspace).workspace_bytes;
    if (call.workspace != nullptr || needed == 0) continue;
    impl_->workspaces->lease(context.get(), static_cast<CUstream>(stream), needed);
  }
}

}  // namespace mmtune
