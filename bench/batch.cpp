// Time on the GPU of strided batches of small products beside cublasGemmStridedBatchedEx: bench_batch > batch.csv.
//
// Column-major, the library with what is tuned, prepared; both are timed in turn, several calls at a time, and the
// medians are printed. stderr names the kernels.
#include <dlfcn.h>
#include <mmtune/mmtune.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "runtime/gpu/driver.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

constexpr int kRounds = 50;
constexpr unsigned char kAny = 0x3c;            // every byte of A and B: a number near 0 or 1 in each format
constexpr int kCalls = 10;                      // the calls of one kind in a round
constexpr std::int64_t kMostBytes = 4LL << 30;  // the bytes of one matrix of all products
constexpr std::array kSizes{16, 32, 64, 128, 256, 512, 1024};
constexpr std::array kBatches{10, 100, 1000, 10'000};

/// What cuBLAS calls a precision whose sums and scalars are fp32.
struct OfCublas {
  Precision precision;
  int type;  // cudaDataType_t
};
constexpr OfCublas kPrecisions[] = {{Precision::fp32, 0}, {Precision::fp16, 2}, {Precision::bf16, 14}};

class Cublas {
 public:
  explicit Cublas(CUstream stream) {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW);
    }
    if (library_ == nullptr) throw Error(std::string("cuBLAS: ") + dlerror());
    symbol<int (*)(void**)>("cublasCreate_v2")(&handle_);
    symbol<int (*)(void*, CUstream)>("cublasSetStream_v2")(handle_, stream);
    multiply_ = symbol<Multiply>("cublasGemmStridedBatchedEx");
  }

  void run(const Gemm& call, int type) const {
    constexpr int kComputeFp32 = 68, kDefaultAlgorithm = -1;
    const float alpha = 1, beta = 0;
    const auto size = static_cast<int>(call.m);
    const int status = multiply_(handle_, 0, 0, size, size, size, &alpha, call.a, type, size, call.stride_a, call.b,
                                 type, size, call.stride_b, &beta, call.c, type, size, call.stride_c,
                                 static_cast<int>(call.batch), kComputeFp32, kDefaultAlgorithm);
    if (status != 0) throw Error("cublasGemmStridedBatchedEx: status " + std::to_string(status));
  }

 private:
  using Multiply = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*,
                           int, int, long long, const void*, void*, int, int, long long, int, int, int);

  template <class Function>
  Function symbol(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw Error(std::string("cuBLAS has no ") + name);
    return reinterpret_cast<Function>(found);
  }

  void* library_ = nullptr;
  void* handle_ = nullptr;
  Multiply multiply_ = nullptr;
};

/// Microseconds of one call, of several between two events.
double time_us(const std::function<void()>& call, CUstream stream, const Event& begin, const Event& end) {
  MMTUNE_CUDA(cuEventRecord(begin.get(), stream));
  for (int i = 0; i < kCalls; ++i) call();
  MMTUNE_CUDA(cuEventRecord(end.get(), stream));
  MMTUNE_CUDA(cuEventSynchronize(end.get()));
  float ms = 0;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, begin.get(), end.get()));
  return 1e3 * ms / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

void compare(Library& library, const Cublas& cublas, const OfCublas& precision, std::int64_t size, std::int64_t batch,
             CUstream stream) {
  const std::int64_t elements = size * size;
  const auto bytes = static_cast<std::size_t>(elements * batch * traits(precision.precision).a.bytes);
  if (static_cast<std::int64_t>(bytes) > kMostBytes) return;
  const DeviceBuffer a(bytes), b(bytes), c(bytes);
  for (const DeviceBuffer* each : {&a, &b}) MMTUNE_CUDA(cuMemsetD8(each->address(), kAny, bytes));
  const auto pointer = [](const DeviceBuffer& of) { return reinterpret_cast<void*>(of.address()); };
  const Gemm call{.precision = precision.precision,
                  .m = size,
                  .n = size,
                  .k = size,
                  .a = pointer(a),
                  .b = pointer(b),
                  .c = pointer(c),
                  .order = Order::column_major,
                  .batch = batch,
                  .stride_a = elements,
                  .stride_b = elements,
                  .stride_c = elements};
  library.prepare(std::array{call}, stream);
  const Answer answer = library.gemm(call, stream);
  std::fprintf(stderr, "%s %lld x %lld: %s %s (%s)\n", std::string(to_string(precision.precision)).c_str(),
               static_cast<long long>(batch), static_cast<long long>(size), answer.family.c_str(),
               answer.config.c_str(), answer.why.c_str());
  const Event begin = make_event(), end = make_event();
  std::vector<double> own, other;
  for (int round = 0; round < kRounds; ++round) {
    own.push_back(time_us([&] { library.enqueue(call, stream); }, stream, begin, end));
    other.push_back(time_us([&] { cublas.run(call, precision.type); }, stream, begin, end));
  }
  const auto extent = static_cast<long long>(size);
  std::printf("%s,%lld,%lld,%lld,%lld,%.2f,%.2f\n", std::string(to_string(precision.precision)).c_str(), extent, extent,
              extent, static_cast<long long>(batch), median(own), median(other));
}

void run() {
  const Gpu gpu(0);
  const Stream stream = make_stream();
  Library library = Library::open();
  const Cublas cublas(stream.get());
  std::puts("precision,m,n,k,batch,us,cublas_us");
  for (const OfCublas& precision : kPrecisions) {
    for (const std::int64_t size : kSizes) {
      for (const std::int64_t batch : kBatches) compare(library, cublas, precision, size, batch, stream.get());
    }
  }
}

}  // namespace
}  // namespace mmtune

int main() try {
  mmtune::run();
  return 0;
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
