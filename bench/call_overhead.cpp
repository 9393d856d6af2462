// Host time of a call of the library beside cublasGemmEx, interleaved in one run: call_overhead > call_overhead.csv.
//
// fp32, column-major, 64x64x64, so that the GPU keeps up; calls are timed one by one, and the stream is waited for
// between groups of them.
#include <dlfcn.h>
#include <mmtune/blas.h>
#include <mmtune/mmtune.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "runtime/gpu/driver.h"

namespace mmtune {
namespace {

constexpr int kSize = 64;
constexpr int kCalls = 20'000;  // the calls of each kind
constexpr int kGroup = 50;      // calls of all kinds between two waits

struct Kind {
  std::string name;
  std::function<void()> call;
  std::vector<double> ns = {};
};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

/// cublasGemmEx on the stream; nothing where cuBLAS is not installed.
std::function<void()> cublas_call(CUstream stream, const Gemm& call) {
  void* library = nullptr;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) {
    std::fprintf(stderr, "cuBLAS: %s\n", dlerror());
    return {};
  }
  using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                         const void*, void*, int, int, int, int);
  void* handle = nullptr;
  symbol<int (*)(void**)>(library, "cublasCreate_v2")(&handle);
  symbol<int (*)(void*, CUstream)>(library, "cublasSetStream_v2")(handle, stream);
  return [=, gemm = symbol<GemmEx>(library, "cublasGemmEx")] {
    const float alpha = 1, beta = 0;
    gemm(handle, 0, 0, kSize, kSize, kSize, &alpha, call.a, 0, kSize, call.b, 0, kSize, &beta, call.c, 0, kSize, 68,
         -1);
  };
}

void measure(std::vector<Kind>& kinds, CUstream stream) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < kCalls; ++i) {
    for (Kind& kind : kinds) {
      const auto start = Clock::now();
      kind.call();
      kind.ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    if (i % kGroup == 0) MMTUNE_CUDA(cuStreamSynchronize(stream));
  }
  MMTUNE_CUDA(cuStreamSynchronize(stream));
}

int run() {
  const Gpu gpu(0);
  const Stream stream = make_stream();
  const DeviceBuffer a(kSize * kSize * 4), b(kSize * kSize * 4), c(kSize * kSize * 4);
  const auto pointer = [](const DeviceBuffer& buffer) { return reinterpret_cast<void*>(buffer.address()); };
  const Gemm call{.m = kSize,
                  .n = kSize,
                  .k = kSize,
                  .a = pointer(a),
                  .b = pointer(b),
                  .c = pointer(c),
                  .order = Order::column_major};
  Library library = Library::open({.compile_missing = true});
  library.prepare(std::array{call}, stream.get());
  mmtuneHandle_t handle = nullptr;
  if (mmtuneCreate(&handle) != MMTUNE_BLAS_SUCCESS) throw Error(mmtune_last_error());
  mmtuneSetStream(handle, stream.get());
  const float one = 1, zero = 0;
  const auto sgemm = [&] {
    mmtuneSgemm(handle, 0, 0, kSize, kSize, kSize, &one, static_cast<const float*>(call.a), kSize,
                static_cast<const float*>(call.b), kSize, &zero, static_cast<float*>(call.c), kSize);
  };
  std::vector<Kind> kinds = {{"enqueue", [&] { library.enqueue(call, stream.get()); }},
                             {"gemm", [&] { library.gemm(call, stream.get()); }},
                             {"mmtuneSgemm", sgemm}};
  if (auto cublas = cublas_call(stream.get(), call)) kinds.push_back({"cublasGemmEx", cublas});
  for (const Kind& kind : kinds) kind.call();  // loads kernels
  measure(kinds, stream.get());
  std::puts("call,ns_median,ns_p99");
  for (Kind& kind : kinds) {
    std::sort(kind.ns.begin(), kind.ns.end());
    std::printf("%s,%.0f,%.0f\n", kind.name.c_str(), kind.ns[kCalls / 2], kind.ns[kCalls * 99 / 100]);
  }
  mmtuneDestroy(handle);
  return 0;
}

}  // namespace
}  // namespace mmtune

int main() try { return mmtune::run(); } catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
