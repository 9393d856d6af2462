// Whether a kernel computes what it should, before and after it is timed.
//
// Two sets of operands: small whole numbers, whose results must agree bit for bit with the exact sums and so show any
// wrong index; and random numbers with alpha and beta, whose errors must stay within a bound
// (templates/problem/error_bound.h). Every buffer lies between guard zones filled with 0xff (a NaN), C is poisoned the
// same way, and its leading dimension is padded. What a kernel does to memory that is not its own, operands included,
// is found and made good, so that no other kernel pays for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/gpu/driver.h"
#include "tuner/measure/call.h"
#include "tuner/measure/check_kernels.h"
#include "tuner/measure/verdict.h"

namespace mmtune {

/// Device memory between two zones of 0xff.
class GuardedBuffer {
 public:
  /// Throws OutOfMemoryError.
  explicit GuardedBuffer(std::int64_t bytes);

  CUdeviceptr address() const { return memory_.address() + kZone; }
  std::int64_t bytes() const { return bytes_; }

  void poison_zones(CUstream stream) const;
  /// Enqueues counting of damaged bytes.
  void check_zones(const CheckKernels& kernels, CUdeviceptr damaged, CUstream stream) const;

  static constexpr std::int64_t kZone = 1 << 20;  ///< the bytes on each side: more than the largest tile's rows

 private:
  std::int64_t bytes_;
  DeviceBuffer memory_;
};

/// The operands and exact results of one problem. Not thread safe.
class Verifier {
 public:
  /// Fills operands and computes the references on `stream`. Throws OutOfMemoryError.
  Verifier(const CheckKernels& kernels, const Problem& problem, CUstream stream);

  /// Runs both sets and checks results and guard zones. The timing of a right one is that of its second launch: a first
  /// idea.
  Verdict check(const LoadedKernel& kernel, const LaunchPlan& plan);

  /// Checks what timing left in random_operands().c, and all guard zones again.
  Verdict check_after_timing();

  /// 64 bits that stand for all of random_operands().c.
  std::uint64_t bits_of_c() const;

  /// Runs the kernel so many times more on random_operands(), each time with C poisoned and other contents of the
  /// workspace, and checks each result and all guard zones. The first that is not right ends it as unstable, and the
  /// note says which it was. `before`: bits_of_c() of an earlier result, which those of the others must equal to be
  /// deterministic; by default they are compared with the first.
  Verdict check_again(const LoadedKernel& kernel, const LaunchPlan& plan, int launches,
                      std::optional<std::uint64_t> before = {});

  /// Makes the call on random_operands() and returns |C - exact| / |exact| in the Frobenius norm; NaN where C was not
  /// written.
  double relative_error(const Call& call);

  /// Packed operands with alpha = 1 and beta = 0, inside guard zones, for timing.
  Operands random_operands(const LaunchPlan& plan);

 private:
  static constexpr unsigned char kPoison = 0xff;  ///< the value of every byte of a NaN

  struct Data {
    Fill kind;
    std::uint64_t seed;
    GuardedBuffer a;
    GuardedBuffer b;
    DeviceBuffer exact;
    DeviceBuffer magnitude;
  };

  Data make_data(Fill kind, std::uint64_t seed) const;
  /// Operands, their guard zones, and the exact results.
  void fill(const Data& data) const;
  void fill_all() const;
  /// The fingerprints of everything that only the verifier writes.
  std::vector<std::uint64_t> fingerprints() const;
  /// Whether something else has written any of that; repairs it.
  bool repair_data() const;
  CUdeviceptr workspace(const LaunchPlan& plan);
  Verdict judge(const Data& data, double alpha, double beta, std::int64_t ldc, const ErrorBound& bound);
  void poison_c();
  /// `contents` are those of every byte of the workspace.
  void run(const LoadedKernel& kernel, const LaunchPlan& plan, const Operands& operands,
           unsigned char contents = kPoison);
  /// The bytes of guard zones that were written, which it repairs.
  unsigned damaged_guards();

  const CheckKernels& kernels_;
  Problem problem_;
  CUstream stream_;
  std::int64_t padded_ldc_;
  Data whole_;
  Data random_;
  GuardedBuffer c_;
  DeviceBuffer c0_;
  std::vector<std::uint64_t> fingerprints_;  ///< the fingerprints as they must stay
  std::vector<GuardedBuffer> workspace_;     ///< the workspace: no buffer or one, as large as any plan needed so far
  DeviceBuffer damaged_;
};

}  // namespace mmtune
