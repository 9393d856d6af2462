// The functions of <mmtune/mmtune_c.h>, by those of <mmtune/mmtune.h>.
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/c/c_library.h"
#include "runtime/c/c_status.h"
#include "runtime/call/gemm_call.h"

using mmtune::Answer;
using mmtune::Gemm;
using mmtune::Library;
using mmtune::required;
using mmtune::status_of;
using mmtune::UsageError;

namespace {

// The enumerators of C have the numbers of those of C++; the test Listed compares precisions and activations.
static_assert(MMTUNE_COLUMN_MAJOR == static_cast<int>(mmtune::Order::column_major));
static_assert(MMTUNE_BIAS_PER_ROW == static_cast<int>(mmtune::Bias::per_row));
static_assert(MMTUNE_BIAS_PER_COLUMN == static_cast<int>(mmtune::Bias::per_column));
static_assert(MMTUNE_EXACT == static_cast<int>(mmtune::Match::exact));
static_assert(MMTUNE_NEAREST == static_cast<int>(mmtune::Match::nearest));
static_assert(MMTUNE_PREDICTED == static_cast<int>(mmtune::Match::predicted));
static_assert(MMTUNE_FALLBACK == static_cast<int>(mmtune::Match::fallback));

/// The struct of a program that may be older: the members that it lacks are those of `defaults`. Every version
/// of a struct ends where `oldest_bytes` says or behind it.
template <class T>
T completed(const T* given, T defaults, std::size_t oldest_bytes, std::string_view name) {
  const std::size_t bytes = required(given, name).struct_size;
  if (bytes < oldest_bytes) {
    throw UsageError(fmt::format("{}->struct_size = {}: begin with the struct's MMTUNE_…_INIT", name, bytes));
  }
  if (bytes > sizeof(T)) {
    throw UsageError(
        fmt::format("{}->struct_size = {}: this library knows {} bytes; the program was built for a newer "
                    "one, so install that",
                    name, bytes, sizeof(T)));
  }
  std::memcpy(&defaults, given, bytes);
  return defaults;
}

mmtune_call call_of(const mmtune_call* given) {
  return completed(given, mmtune_call MMTUNE_CALL_INIT, offsetof(mmtune_call, activation), "call");
}

bool transposes(mmtune_transpose value, std::string_view name) {
  if (value == MMTUNE_NO_TRANSPOSE || value == MMTUNE_TRANSPOSE) return value == MMTUNE_TRANSPOSE;
  throw UsageError(fmt::format("{} = {}: use MMTUNE_NO_TRANSPOSE or MMTUNE_TRANSPOSE", name, value));
}

Gemm gemm_of(const mmtune_call& call) {
  Gemm gemm;
  gemm.precision = static_cast<mmtune::Precision>(call.precision);
  gemm.order = static_cast<mmtune::Order>(call.order);
  gemm.layout =
      mmtune::layout_of(transposes(call.transpose_a, "transpose_a"), transposes(call.transpose_b, "transpose_b"));
  gemm.m = call.m;
  gemm.n = call.n;
  gemm.k = call.k;
  gemm.alpha = call.alpha;
  gemm.a = call.a;
  gemm.lda = call.lda;
  gemm.b = call.b;
  gemm.ldb = call.ldb;
  gemm.beta = call.beta;
  gemm.c = call.c;
  gemm.ldc = call.ldc;
  gemm.workspace = call.workspace;
  gemm.workspace_bytes = call.workspace_bytes;
  gemm.batch = call.batch;
  gemm.stride_a = call.stride_a;
  gemm.stride_b = call.stride_b;
  gemm.stride_c = call.stride_c;
  gemm.epilogue = {static_cast<mmtune::Activation>(call.activation), static_cast<mmtune::Bias>(call.bias),
                   call.bias_vector};
  gemm.device_alpha = call.device_alpha;
  gemm.device_beta = call.device_beta;
  gemm.invariant = call.invariant != 0;
  return gemm;
}

mmtune::LibraryOptions options_of(const mmtune_options* given) {
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  if (given != nullptr) options = completed(given, options, sizeof(mmtune_options), "options");
  mmtune::LibraryOptions result;
  if (options.database != nullptr) result.database = options.database;
  if (options.model != nullptr) result.model = options.model;
  result.device = options.device;
  result.compile_missing = options.compile_missing != 0;
  result.compile_untuned = options.compile_untuned != 0;
  result.learn = options.learn != 0;
  return result;
}

}  // namespace

extern "C" {

mmtune_status mmtune_open(const mmtune_options* options, mmtune_library** library) {
  if (library != nullptr) *library = nullptr;
  return status_of([&] {
    mmtune_library*& opened = required(library, "library");
    opened = new mmtune_library{Library::open(options_of(options))};
  });
}

void mmtune_close(mmtune_library* library) { delete library; }

mmtune_status mmtune_gemm(mmtune_library* library, const mmtune_call* call, void* stream) {
  return status_of([&] { required(library, "library").library.enqueue(gemm_of(call_of(call)), stream); });
}

mmtune_status mmtune_gemm_pointers(mmtune_library* library, const mmtune_call* call, const void* const* a,
                                   const void* const* b, void* const* c, size_t count, void* stream) {
  return status_of([&] {
    if (count > 0) {
      required(a, "a");
      required(b, "b");
      required(c, "c");
    }
    required(library, "library").library.enqueue(gemm_of(call_of(call)), {{a, count}, {b, count}, {c, count}}, stream);
  });
}

mmtune_status mmtune_prepare(mmtune_library* library, const mmtune_call* calls, size_t count, void* stream) {
  return status_of([&] {
    Library& target = required(library, "library").library;
    if (count > 0) required(calls, "calls");
    std::vector<Gemm> all;
    const char* next = reinterpret_cast<const char*>(calls);
    for (size_t i = 0; i < count; ++i, next += calls->struct_size) {
      all.push_back(gemm_of(call_of(reinterpret_cast<const mmtune_call*>(next))));
    }
    target.prepare(all, stream);
  });
}

mmtune_status mmtune_explain(const mmtune_library* library, const mmtune_call* call, mmtune_answer* answer) {
  return status_of([&] {
    const std::size_t bytes =
        completed(answer, mmtune_answer MMTUNE_ANSWER_INIT, offsetof(mmtune_answer, cublas_ratio), "answer")
            .struct_size;
    thread_local Answer kept;
    kept = required(library, "library").library.plan(gemm_of(call_of(call)));
    const mmtune_answer full = {bytes,
                                static_cast<mmtune_match>(kept.match),
                                kept.measured,
                                kept.expected_us,
                                kept.family.c_str(),
                                kept.config.c_str(),
                                kept.why.c_str(),
                                kept.cublas_ratio};
    std::memcpy(answer, &full, bytes);
  });
}

mmtune_status mmtune_workspace_bytes(const mmtune_library* library, const mmtune_call* call, size_t* bytes) {
  return status_of(
      [&] { required(bytes, "bytes") = required(library, "library").library.workspace_bytes(gemm_of(call_of(call))); });
}

const char* mmtune_last_error(void) { return mmtune::last_error(); }

const char* mmtune_status_text(mmtune_status status) {
  switch (status) {
    case MMTUNE_OK:
      return "ok";
    case MMTUNE_USAGE_ERROR:
      return "usage error";
    case MMTUNE_DEVICE_ERROR:
      return "device error";
    case MMTUNE_DEVICE_LOST:
      return "device lost";
    case MMTUNE_OUT_OF_MEMORY:
      return "out of memory";
    case MMTUNE_DATABASE_ERROR:
      return "database error";
    case MMTUNE_NOTHING_TO_RUN:
      return "nothing to run";
    default:
      return "unknown status";
  }
}

const char* mmtune_version(void) { return MMTUNE_VERSION; }

}  // extern "C"
