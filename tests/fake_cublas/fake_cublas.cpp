#include "tests/fake_cublas/fake_cublas.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>

#include "preload/cublas_abi.h"

namespace {

namespace cublas = mmtune::cublas;

constexpr int kNotInitialized = 1, kInvalidValue = 7;  // cublasStatus_t

struct FakeHandle {
  void* stream = nullptr;
  int pointer_mode = 0;
  int math_mode = 0;
};

using Descriptor = std::map<int, std::int64_t>;

std::mutex mutex;
std::map<std::string, int>& calls() {
  static std::map<std::string, int>& all = *new std::map<std::string, int>;
  return all;
}

int count(const char* name) {
  const std::lock_guard lock(mutex);
  ++calls()[name];
  return cublas::kSuccess;
}

FakeHandle& at(void* handle) { return *static_cast<FakeHandle*>(handle); }

/// Refuses to read an attribute as one of another size, as the real cuBLAS does.
int get_attribute(void* descriptor, std::initializer_list<int> of_8_bytes, int attribute, void* buffer,
                  std::size_t bytes, std::size_t* written) {
  const bool is_long = std::find(of_8_bytes.begin(), of_8_bytes.end(), attribute) != of_8_bytes.end();
  if (buffer == nullptr || bytes != (is_long ? 8 : 4)) return kInvalidValue;
  const auto& known = *static_cast<Descriptor*>(descriptor);
  const auto found = known.find(attribute);
  const std::int64_t value = found == known.end() ? 0 : found->second;
  std::memcpy(buffer, &value, bytes);
  *written = bytes;
  return cublas::kSuccess;
}

}  // namespace

extern "C" {

int fake_cublas_calls(const char* name) {
  const std::lock_guard lock(mutex);
  return calls()[name];
}
void fake_cublas_forget_calls() {
  const std::lock_guard lock(mutex);
  calls().clear();
}

int cublasCreate_v2(void** handle) {
  *handle = new FakeHandle;
  return cublas::kSuccess;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<FakeHandle*>(handle);
  return count("cublasDestroy_v2");
}
int cublasSetStream_v2(void* handle, void* stream) {
  at(handle).stream = stream;
  return count("cublasSetStream_v2");
}
int cublasGetStream_v2(void* handle, void** stream) {
  if (handle == nullptr) return kNotInitialized;
  *stream = at(handle).stream;
  return cublas::kSuccess;
}
int cublasSetWorkspace_v2(void*, void*, std::size_t) { return count("cublasSetWorkspace_v2"); }
int cublasSetPointerMode_v2(void* handle, int mode) {
  at(handle).pointer_mode = mode;
  return cublas::kSuccess;
}
int cublasGetPointerMode_v2(void* handle, int* mode) {
  if (handle == nullptr) return kNotInitialized;
  *mode = at(handle).pointer_mode;
  return cublas::kSuccess;
}
int cublasSetMathMode(void* handle, int mode) {
  at(handle).math_mode = mode;
  return cublas::kSuccess;
}
int cublasGetMathMode(void* handle, int* mode) {
  if (handle == nullptr) return kNotInitialized;
  *mode = at(handle).math_mode;
  return cublas::kSuccess;
}

void* fake_cublas_descriptor() { return new Descriptor; }
void fake_cublas_set(void* descriptor, int attribute, std::int64_t value) {
  (*static_cast<Descriptor*>(descriptor))[attribute] = value;
}
void fake_cublas_free(void* descriptor) { delete static_cast<Descriptor*>(descriptor); }
int cublasLtMatmulDescGetAttribute(void* descriptor, int attribute, void* buffer, std::size_t bytes,
                                   std::size_t* written) {
  return get_attribute(descriptor, {cublas::kDescBias, cublas::kDescBiasStride}, attribute, buffer, bytes, written);
}
int cublasLtMatrixLayoutGetAttribute(void* descriptor, int attribute, void* buffer, std::size_t bytes,
                                     std::size_t* written) {
  return get_attribute(descriptor,
                       {cublas::kLayoutRows, cublas::kLayoutColumns, cublas::kLayoutLd, cublas::kLayoutStride},
                       attribute, buffer, bytes, written);
}

cublas::LtMatmul cublasLtMatmul;
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                   void*, void*, const void*, void*, std::size_t, void*) {
  return count("cublasLtMatmul");
}

/// As the real one does for some products, by the public name of the other library.
int cublasGemmEx(void* handle, int, int, int, int, int, const void* alpha, const void* a, int, int, const void* b, int,
                 int, const void* beta, void* c, int, int, int, int) {
  cublasLtMatmul(handle, nullptr, alpha, a, nullptr, b, nullptr, beta, c, nullptr, c, nullptr, nullptr, nullptr, 0,
                 nullptr);
  return count("cublasGemmEx");
}

#define FAKE_PLAIN(name, Int)                                                                                          \
  int name(void*, int, int, Int, Int, Int, const void*, const void*, Int, const void*, Int, const void*, void*, Int) { \
    return count(#name);                                                                                               \
  }
#define FAKE_STRIDED(name, Int)                                                                                   \
  int name(void*, int, int, Int, Int, Int, const void*, const void*, Int, long long, const void*, Int, long long, \
           const void*, void*, Int, long long, Int) {                                                             \
    return count(#name);                                                                                          \
  }
#define FAKE_STRIDED_EX(name, Int)                                                                               \
  int name(void*, int, int, Int, Int, Int, const void*, const void*, int, Int, long long, const void*, int, Int, \
           long long, const void*, void*, int, Int, long long, Int, int, int) {                                  \
    return count(#name);                                                                                         \
  }

FAKE_PLAIN(cublasSgemm_v2, int)
FAKE_PLAIN(cublasSgemm_v2_64, std::int64_t)
FAKE_PLAIN(cublasDgemm_v2, int)
FAKE_PLAIN(cublasDgemm_v2_64, std::int64_t)
FAKE_STRIDED(cublasSgemmStridedBatched, int)
FAKE_STRIDED(cublasSgemmStridedBatched_64, std::int64_t)
FAKE_STRIDED(cublasDgemmStridedBatched, int)
FAKE_STRIDED(cublasDgemmStridedBatched_64, std::int64_t)
FAKE_STRIDED_EX(cublasGemmStridedBatchedEx, int)
FAKE_STRIDED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)
int cublasGemmEx_64(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*, int,
                    std::int64_t, const void*, int, std::int64_t, const void*, void*, int, std::int64_t, int, int) {
  return count("cublasGemmEx_64");
}
}
