// A call of cuBLAS as this library sees it, whichever function it came by, and what mmtune makes of it.
#pragma once

#include <mmtune/mmtune.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "preload/cublas_abi.h"

namespace mmtune {

/// Why a call is passed on to cuBLAS. In the order in which a call is looked at.
enum class Passed : int {
  empty,         ///< An extent, the batch, a leading dimension or alpha is 0, or an address is missing.
  scalars,       ///< They are on the device, or of another type than sums.
  arithmetic,    ///< It is pedantic, emulated or rounded otherwise than any kernel here does.
  formats,       ///< mmtune has no product of these formats of the matrices.
  epilogue,      ///< mmtune does not have it.
  placement,     ///< Rows come before columns, a bias has several strides, or C is apart from D.
  no_library,    ///< There is no GPU that mmtune can use, or there are more shapes than are remembered.
  untuned,       ///< This size was not tuned.
  slower,        ///< `mmtune bench` measured cuBLAS to be as fast or faster.
  not_compared,  ///< `mmtune bench` has not compared the product of this batch.
  capture,       ///< A stream is captured, and the kernel or workspace is not there.
  refused,       ///< The library could not run it.
  counted,       ///< Calls are only counted.
};
inline constexpr std::size_t kPassedReasons = static_cast<std::size_t>(Passed::counted) + 1;

/// "not tuned".
std::string_view to_string(Passed reason);

/// One of the matrices: column-major, as cuBLAS has them.
struct BlasMatrix {
  const void* address = nullptr;
  cublas::DataType type = 0;
  std::int64_t ld = 0;
  std::int64_t stride = 0;  ///< the elements from a product's to that of the next
};

/// What a call of any of the functions asks for.
struct BlasProduct {
  cublas::Operation transa = 0;
  cublas::Operation transb = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* alpha = nullptr;
  BlasMatrix a;
  BlasMatrix b;
  const void* beta = nullptr;
  BlasMatrix c;
  std::int64_t batch = 1;
  cublas::ComputeType compute = 0;
  Epilogue epilogue = {};
};

/// How a handle, or a descriptor, has it done.
struct BlasMode {
  cublas::PointerMode pointers = cublas::kPointersOfHost;
  cublas::MathMode math = cublas::kDefaultMath;
};

/// The same call for mmtune::Library, in the arithmetic that was asked for, or why there is none.
std::variant<Gemm, Passed> translated(const BlasProduct& product, const BlasMode& mode);

}  // namespace mmtune
