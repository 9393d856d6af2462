#include "preload/product.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/call/gemm_call.h"

namespace mmtune {
namespace {

/// A row is what C, sums and scalars are; fp32 has two.
struct Combination {
  cublas::DataType input;
  cublas::DataType output;
  cublas::ComputeType compute;
  Precision precision;
};

constexpr Combination kCombinations[] = {
    {cublas::kR32F, cublas::kR32F, cublas::kCompute32F, Precision::fp32},
    {cublas::kR32F, cublas::kR32F, cublas::kCompute32FFastTf32, Precision::tf32},
    {cublas::kR64F, cublas::kR64F, cublas::kCompute64F, Precision::fp64},
    {cublas::kR16F, cublas::kR16F, cublas::kCompute32F, Precision::fp16},
    {cublas::kR16F, cublas::kR32F, cublas::kCompute32F, Precision::fp16_fp32},
    {cublas::kR16BF, cublas::kR16BF, cublas::kCompute32F, Precision::bf16},
    {cublas::kR16BF, cublas::kR32F, cublas::kCompute32F, Precision::bf16_fp32},
    {cublas::kR8I, cublas::kR32I, cublas::kCompute32I, Precision::int8},
};

bool is_empty(const BlasProduct& p) {
  return p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0 || p.a.address == nullptr || p.b.address == nullptr ||
         p.c.address == nullptr || p.a.ld <= 0 || p.b.ld <= 0 || p.c.ld <= 0;
}

/// Nothing if the mode means another arithmetic than the compute type says, or none that a kernel here does.
std::optional<cublas::ComputeType> compute_in(const BlasProduct& p, cublas::MathMode mode) {
  const int math = mode & cublas::kMathMask;
  const bool is_single = p.a.type == cublas::kR32F && p.compute == cublas::kCompute32F;
  switch (math) {
    case cublas::kDefaultMath:
      return p.compute;
    case cublas::kTensorOpMath:
    case cublas::kEmulatedFp32Math:
      return is_single ? std::nullopt : std::optional(p.compute);
    case cublas::kTf32Math:
      return is_single ? cublas::kCompute32FFastTf32 : p.compute;
    case cublas::kEmulatedFp64Math:
      return p.compute == cublas::kCompute64F ? std::nullopt : std::optional(p.compute);
    default:
      return std::nullopt;
  }
}

bool is_known_compute(cublas::ComputeType compute) {
  return compute == cublas::kCompute32F || compute == cublas::kCompute64F || compute == cublas::kCompute32I ||
         compute == cublas::kCompute32FFastTf32;
}

template <class T>
double value_at(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return static_cast<double>(value);
}

double scalar(const void* address, cublas::ComputeType compute) {
  if (compute == cublas::kCompute64F) return value_at<double>(address);
  if (compute == cublas::kCompute32I) return value_at<std::int32_t>(address);
  return value_at<float>(address);
}

bool is_operation(cublas::Operation operation) {
  return operation == cublas::kOpN || operation == cublas::kOpT || operation == cublas::kOpC;
}

}  // namespace

std::string_view to_string(Passed reason) {
  constexpr std::array<std::string_view, kPassedReasons> kNames = {
      "nothing to multiply",
      "alpha and beta on the device or of another type",
      "other arithmetic",
      "other formats",
      "other epilogue",
      "other placement",
      "no library",
      "not tuned",
      "cuBLAS is faster",
      "batches of products not compared with cuBLAS",
      "captured before it was loaded",
      "could not be run",
      "only counted",
  };
  return kNames[static_cast<std::size_t>(reason)];
}

std::variant<Gemm, Passed> translated(const BlasProduct& p, const BlasMode& mode) {
  if (is_empty(p)) return Passed::empty;
  if (mode.pointers != cublas::kPointersOfHost || p.alpha == nullptr || p.beta == nullptr) return Passed::scalars;
  const auto compute = compute_in(p, mode.math);
  if (!compute || !is_known_compute(*compute)) return Passed::arithmetic;
  const auto found = std::find_if(std::begin(kCombinations), std::end(kCombinations), [&](const Combination& each) {
    return each.input == p.a.type && p.a.type == p.b.type && each.output == p.c.type && each.compute == *compute;
  });
  if (found == std::end(kCombinations) || !is_operation(p.transa) || !is_operation(p.transb)) return Passed::formats;
  Gemm call;
  call.precision = found->precision;
  call.order = Order::column_major;
  call.layout = layout_of(p.transa != cublas::kOpN, p.transb != cublas::kOpN);
  call.m = p.m;
  call.n = p.n;
  call.k = p.k;
  call.alpha = scalar(p.alpha, *compute);
  call.beta = scalar(p.beta, *compute);
  call.a = p.a.address;
  call.lda = p.a.ld;
  call.b = p.b.address;
  call.ldb = p.b.ld;
  call.c = const_cast<void*>(p.c.address);
  call.ldc = p.c.ld;
  call.batch = p.batch;
  if (p.batch > 1) {
    call.stride_a = p.a.stride;
    call.stride_b = p.b.stride;
    call.stride_c = p.c.stride;
  }
  call.epilogue = p.epilogue;
  if (call.alpha == 0) return Passed::empty;
  return call;
}

}  // namespace mmtune
