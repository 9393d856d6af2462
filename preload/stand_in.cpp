#include "preload/stand_in.h"

#include <mmtune/error.h>
#include <pthread.h>

#include <bit>
#include <cstdlib>
#include <utility>

#include "preload/report.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/call/call_record.h"
#include "runtime/call/gemm_call.h"
#include "runtime/gpu/driver.h"

namespace mmtune {
namespace {

std::atomic<bool> is_child = false;

constexpr std::size_t kMostShapes = 1 << 16;
constexpr std::uintptr_t kWorkspaceAlignment = 256;  // the bytes that Gemm::workspace must be aligned to

/// A program may change its directory and its environment before it multiplies. Never destroyed, as what needs them.
const StandIn::Files& files_at_load() {
  static const StandIn::Files& files = *new StandIn::Files(StandIn::Files::of_environment());
  return files;
}
[[maybe_unused]] const StandIn::Files& kFilesAtLoad = files_at_load();

/// The largest power of two up to 16 that divides all of it, in bytes.
int alignment(const void* address, std::int64_t ld, std::int64_t stride, int element_bytes) {
  const auto bytes = static_cast<std::uint64_t>(element_bytes);
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uint64_t>(ld) * bytes |
                            static_cast<std::uint64_t>(stride) * bytes | 16;
  return 1 << std::countr_zero(all);
}

/// The row-major shape: C' = op(B)' op(A)'. The alignment tells calls apart that may need different kernels; the
/// library works out its own.
ShapeKey key_of(CUcontext context, const Gemm& call, std::uint32_t reloads, bool only_counted) {
  const PrecisionTraits& types = traits(call.precision);
  const Alignment align{alignment(call.b, call.ldb, call.stride_b, types.b.bytes),
                        alignment(call.a, call.lda, call.stride_a, types.a.bytes),
                        alignment(call.c, call.ldc, call.stride_c, types.c.bytes)};
  return {
      context,
      {call.precision, layout_of(transposes_b(call.layout), transposes_a(call.layout)), call.n, call.m, call.k, align},
      std::bit_ceil(static_cast<std::uint64_t>(call.batch)),
      call.epilogue.activation,
      call.epilogue.bias,
      reloads,
      only_counted};
}

/// What `mmtune bench` compares: one product, nothing after it.
Gemm plain(Gemm call) {
  call.batch = 1;
  call.stride_a = call.stride_b = call.stride_c = 0;
  call.epilogue = {};
  return call;
}

/// Where the stream is captured: with a workspace that the graph allocates and frees. Returns false where it cannot.
bool enqueue_in_memory_of_graph(Library& library, Gemm call, std::size_t bytes, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUdevice device = 0;
  int has_pools = 0;
  CUdeviceptr memory = 0;
  if (cuda().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE ||
      cuda().cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      cuda().cuDeviceGetAttribute(&has_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device) != CUDA_SUCCESS ||
      has_pools == 0 || cuda().cuMemAllocAsync(&memory, bytes, stream) != CUDA_SUCCESS) {
    return false;
  }
  struct Free {
    CUdeviceptr memory;
    CUstream stream;
    ~Free() { cuda().cuMemFreeAsync(memory, stream); }
  } const free{memory, stream};
  call.workspace = reinterpret_cast<void*>(memory);
  call.workspace_bytes = bytes;
  library.enqueue(call, stream);
  return true;
}

/// Whether lines of an odd length are padded, which cuBLAS gains by: what was tuned and compared is packed.
bool is_padded_to_align(const Problem& problem) {
  return !satisfies(packed_problem(problem.precision, problem.layout, problem.m, problem.n, problem.k).align,
                    problem.align);
}

std::optional<Passed> why_passed(const Library& library, const ShapeKey& key, const Gemm& call, const Answer& answer) {
  if (answer.match != Match::exact || is_padded_to_align(key.problem)) return Passed::untuned;
  if (answer.cublas_ratio > 0) {
    if (answer.cublas_ratio <= 1) return Passed::slower;
  } else if (!answer.measured) {
    return Passed::untuned;
  }
  if (call.batch == 1) return std::nullopt;
  if (answer.cublas_ratio == 0) return Passed::not_compared;
  return library.plan(call).match == Match::exact ? std::nullopt : std::optional(Passed::untuned);
}

}  // namespace

std::uint64_t ShapeKeyHash::operator()(const ShapeKey& key) const {
  const auto [a, b, c] = key.problem.align;
  const auto kind = static_cast<std::uint64_t>(key.problem.precision) << 32 |
                    static_cast<std::uint64_t>(key.problem.layout) << 28 | static_cast<std::uint64_t>(a) << 20 |
                    static_cast<std::uint64_t>(b) << 12 | static_cast<std::uint64_t>(c) << 4 |
                    static_cast<std::uint64_t>(key.activation) << 2 | static_cast<std::uint64_t>(key.bias) |
                    static_cast<std::uint64_t>(key.reloads) << 40 | static_cast<std::uint64_t>(key.only_counted) << 39;
  // Each field is multiplied by a constant of its own, of the initial ones of SHA-512.
  return static_cast<std::uint64_t>(key.problem.m) * 0x6a09e667f3bcc908 +
         static_cast<std::uint64_t>(key.problem.n) * 0xbb67ae8584caa73b +
         static_cast<std::uint64_t>(key.problem.k) * 0x3c6ef372fe94f82b +
         reinterpret_cast<std::uintptr_t>(key.context) * 0xa54ff53a5f1d36f1 + kind * 0x510e527fade682d1 +
         key.products * 0x9b05688c2b3e6c1f;
}

StandIn::Files StandIn::Files::of_environment() {
  return {env::get_path("MMTUNE_CUBLAS_REPORT"), env::get_path("MMTUNE_RECORD")};
}

StandIn::StandIn(Files files)
    : files_(std::move(files)), leaves_single_(env::get("NVIDIA_TF32_OVERRIDE").has_value()) {}

StandIn& StandIn::instance() {
  static StandIn& all = *[] {
    pthread_atfork(nullptr, nullptr, [] { is_child = true; });
    std::atexit([] {
      if (!is_in_child()) instance().write_files();
    });
    return new StandIn(files_at_load());
  }();
  return all;
}

bool StandIn::is_in_child() noexcept { return is_child.load(std::memory_order_relaxed); }

bool StandIn::serve(const Gemm& call, CUstream stream, const WorkspaceOfCall& workspace) noexcept {
  try {
    CUcontext context = nullptr;
    if (cuda().cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) {
      pass(Passed::no_library);
      return false;
    }
    if (leaves_single_ && (call.precision == Precision::fp32 || call.precision == Precision::tf32)) {
      pass(Passed::arithmetic);
      return false;
    }
    const ShapeKey key =
        key_of(context, call, reloads_.load(std::memory_order_relaxed), only_counts_.load(std::memory_order_relaxed));
    Shape* const* known = shapes_.find(key);
    Shape* shape = known != nullptr ? *known : decide(key, call, stream);
    if (shape == nullptr) return false;
    if (!shape->passed && run(*shape, call, stream, workspace)) {
      shape->served_calls.fetch_add(1, std::memory_order_relaxed);
      shape->served_products.fetch_add(call.batch, std::memory_order_relaxed);
      return true;
    }
    if (shape->passed) shape->passed_calls.fetch_add(1, std::memory_order_relaxed);
    shape->passed_products.fetch_add(call.batch, std::memory_order_relaxed);
  } catch (...) {
    pass(Passed::refused);
  }
  return false;
}

bool StandIn::run(Shape& shape, const Gemm& call, CUstream stream, const WorkspaceOfCall& workspace) {
  try {
    if (shape.workspace_bytes == 0) {
      shape.library->enqueue(call, stream);
      return true;
    }
    Gemm with_workspace = call;
    const auto [address, bytes] = workspace.get();
    if (bytes >= shape.workspace_bytes && reinterpret_cast<std::uintptr_t>(address) % kWorkspaceAlignment == 0) {
      with_workspace.workspace = address;
      with_workspace.workspace_bytes = bytes;
    } else if (may_be_capturing(stream)) {  // The library's own workspace would be shared by graphs, or allocated now.
      if (enqueue_in_memory_of_graph(*shape.library, with_workspace, shape.workspace_bytes, stream)) return true;
      pass(Passed::capture);
      return false;
    }
    shape.library->enqueue(with_workspace, stream);
    return true;
  } catch (const std::exception& error) {
    log::debug("passed on to cuBLAS: {}", error.what());
    pass(Passed::refused);
    return false;
  }
}

Shape* StandIn::decide(const ShapeKey& key, const Gemm& call, CUstream stream) {
  if (may_be_capturing(stream)) {
    pass(Passed::capture);
    return nullptr;
  }
  const std::lock_guard lock(deciding_);
  if (Shape* const* known = shapes_.find(key)) return *known;
  Library* library = library_of_device();
  if (library == nullptr || shapes_.size() >= kMostShapes) {
    pass(Passed::no_library);
    return nullptr;
  }
  auto shape = std::make_unique<Shape>();
  shape->library = library;
  try {
    const Answer answer = library->plan(plain(call));
    shape->expected_us = answer.expected_us;
    shape->cublas_ratio = answer.cublas_ratio;
    shape->passed = key.only_counted ? Passed::counted : why_passed(*library, key, call, answer);
    if (!shape->passed) {
      library->prepare({&call, 1}, stream);
      shape->workspace_bytes = library->workspace_bytes(call);
    }
  } catch (const std::exception& error) {
    log::info("passed on to cuBLAS: {}", error.what());
    shape->passed = Passed::refused;
  }
  owned_.push_back(std::move(shape));
  shapes_.put(key, owned_.back().get());
  return owned_.back().get();
}

Library* StandIn::library_of_device() {
  CUdevice device = 0;
  if (cuda().cuCtxGetDevice(&device) != CUDA_SUCCESS) return nullptr;
  const auto [found, is_new] = libraries_.try_emplace(device);
  if (is_new) {
    try {
      found->second = std::make_unique<Library>(Library::open({.database = database_}));
    } catch (const std::exception& error) {
      log::warning("all products are left to cuBLAS: {}", error.what());
    }
  }
  return found->second.get();
}

StandIn::Counts StandIn::counts() const {
  Counts all;
  shapes_.for_each([&](const ShapeKey&, const Shape* shape) {
    all.served += shape->served_calls;
    all.passed += shape->passed_calls;
  });
  for (const auto& count : passed_) all.passed += count;
  return all;
}

void StandIn::reload(const char* database) noexcept {
  const std::lock_guard lock(deciding_);
  if (database != nullptr) database_ = database;
  for (auto& [device, library] : libraries_) retired_.push_back(std::move(library));
  libraries_.clear();
  reloads_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<ReportRow> StandIn::rows() const {
  std::vector<ReportRow> rows;
  shapes_.for_each([&](const ShapeKey& key, const Shape* shape) {
    ReportRow row{key.problem,         key.activation,         key.bias,           {},
                  shape->served_calls, shape->served_products, shape->expected_us, shape->cublas_ratio};
    rows.push_back(row);
    row.passed = shape->passed;
    row.calls = shape->passed_calls;
    row.products = shape->passed_products;
    if (row.passed) rows.push_back(row);
  });
  for (std::size_t i = 0; i < kPassedReasons; ++i) {
    if (passed_[i] > 0) rows.push_back({.passed = static_cast<Passed>(i), .calls = passed_[i]});
  }
  return rows;
}

bool StandIn::write_report(const char* path) noexcept {
  try {
    append_report(path, rows());
    return true;
  } catch (const std::exception& error) {
    log::warning("{}", error.what());
    return false;
  }
}

void StandIn::write_files() noexcept {
  if (files_.report) write_report(files_.report->c_str());
  if (!files_.record) return;
  try {
    std::vector<RecordedCalls> calls;
    shapes_.for_each([&](const ShapeKey& key, const Shape* shape) {
      const std::int64_t products = shape->served_products + shape->passed_products;
      calls.push_back({key.problem, products, static_cast<double>(products) * shape->expected_us * 1e-6});
    });
    append_record(*files_.record, calls);
  } catch (const std::exception& error) {
    log::warning("{}", error.what());
  }
}

}  // namespace mmtune
