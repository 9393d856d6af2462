// What mmtune's kernels are compared with: another implementation of the same product.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/nvrtc.h"
#include "templates/gpu/device_spec.h"
#include "templates/problem/problem.h"
#include "tuner/measure/call.h"

namespace mmtune {

class Opponent {
 public:
  virtual ~Opponent() = default;

  /// "cublas": the column of its error is "<name>_error".
  virtual std::string_view name() const = 0;

  /// Name, version and where it was found, for the report's heading.
  virtual std::string description() const = 0;

  /// The ways into a product, which are timed side by side; the column of each is "<name>_us".
  virtual std::vector<std::string> entries() const = 0;

  /// The algorithms of every entry for this problem, best first as far as the opponent knows; none for an entry that
  /// cannot do it. They hold until the next call of prepare(). Throws DeviceError.
  virtual std::vector<std::vector<Call>> prepare(const Problem& problem) = 0;
};

/// The naive family's default configuration, compiled for `target`. `nvrtc` must outlive it, and it the GPU's context.
std::unique_ptr<Opponent> make_naive_opponent(const Nvrtc& nvrtc, const DeviceSpec& device,
                                              const CompileTarget& target);

}  // namespace mmtune
