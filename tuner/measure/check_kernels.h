// The kernels of tuner/measure/kernels/check.cu, compiled for one precision and layout, as functions on device memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/gpu/driver.h"
#include "runtime/gpu/nvrtc.h"
#include "templates/family/render.h"
#include "templates/problem/error_bound.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What fill() writes.
enum class Fill : int {
  whole_numbers = 0,  ///< whole numbers from -3 to 3: every sum is exact, so results are compared bit for bit
  uniform = 1,        ///< numbers in [-1, 1]; for integers all 32-bit values
  ones = 2,           ///< ones: every sum is k
  positive = 3,       ///< numbers in [0, 1]; for integers as uniform
};

/// The operand that a matrix is, which says how its elements are stored.
enum class Role : int { a = 0, b = 1, c = 2 };

/// What compare() found; the layout is that of `Finding` in check.cu.
struct Finding {
  float share = 0;                   ///< the largest error as a share of its bound; infinite for a NaN
  unsigned padding_written = 0;      ///< the elements between columns and leading dimension that lost their poison
  unsigned long long wrong = 0;      ///< the elements beyond their bound
  unsigned long long first = ~0ull;  ///< row * n + column of the first of them
};

/// Device memory, at a multiple of 8 bytes.
struct Range {
  CUdeviceptr address = 0;
  std::int64_t bytes = 0;
};

/// What is compiled for a precision and layout.
Source check_source(Precision precision, Layout layout);

/// Enqueues on the given stream; not thread safe. Throws DeviceError.
class CheckKernels {
 public:
  CheckKernels(const Nvrtc& nvrtc, const CompileTarget& target, Precision precision, Layout layout);

  void fill(Role role, CUdeviceptr elements, std::int64_t count, std::uint64_t seed, Fill kind, CUstream stream) const;

  /// exact: m*n values of 8 bytes (4 for integers); magnitude: m*n floats. Operands are packed.
  void reference_sums(const Problem& problem, CUdeviceptr a, CUdeviceptr b, CUdeviceptr exact, CUdeviceptr magnitude,
                      CUstream stream) const;

  /// Judges C[m, ldc]; C0 has the same leading dimension and is only read if beta is not 0. Waits for the result.
  Finding compare(const Problem& problem, double alpha, double beta, CUdeviceptr exact, CUdeviceptr magnitude,
                  CUdeviceptr c0, CUdeviceptr c, std::int64_t ldc, const ErrorBound& bound, CUstream stream) const;

  /// |C - exact| / |exact| in the Frobenius norm, summed in double; 0 if both are 0. For integers the differences are
  /// those modulo 2^32. Waits for the result.
  double relative_error(const Problem& problem, CUdeviceptr exact, CUdeviceptr c, std::int64_t ldc,
                        CUstream stream) const;

  /// A fingerprint of 64 bits for each range, which depends on every bit and its place: equal for equal memory, and
  /// for different memory with probability 2^-64. Waits for the results.
  std::vector<std::uint64_t> fingerprints(const std::vector<Range>& ranges, CUstream stream) const;

  /// Fills what lies between the columns and the leading dimension of C[m, ld] with 0xff.
  void poison_padding(CUdeviceptr c, std::int64_t m, std::int64_t n, std::int64_t ld, CUstream stream) const;

  /// Adds the number of bytes that are no poison to the 32-bit counter at `damaged`.
  void check_guard(CUdeviceptr zone, std::int64_t bytes, CUdeviceptr damaged, CUstream stream) const;

 private:
  Module module_;
  std::array<CUfunction, 3> fill_;  ///< a kernel for each Role
  CUfunction reference_sums_;
  CUfunction compare_;
  CUfunction squares_;
  CUfunction fingerprint_;
  CUfunction check_guard_;
  CUfunction poison_padding_;
  DeviceBuffer finding_;
  DeviceBuffer prints_;
};

}  // namespace mmtune
