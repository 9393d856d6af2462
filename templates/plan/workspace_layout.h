// How the memory is divided that the steps of a plan share besides the operands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "templates/base/round_up.h"
#include "templates/plan/arg.h"

namespace mmtune {

struct WorkspaceSlice {
  std::string_view name;  ///< a literal, for messages
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;     ///< bytes, a power of two
  std::int64_t offset_bytes = 0;  ///< the offset from the start of the workspace

  friend bool operator==(const WorkspaceSlice&, const WorkspaceSlice&) = default;
};

/// Named slices, one behind the other; kernels get the addresses of those that their steps name. This is the one place
/// that knows offsets.
class WorkspaceLayout {
 public:
  static constexpr std::int64_t kAlignment = 256;  ///< the alignment of the workspace; no slice may ask for more

  /// Appends a slice and returns the argument that names it. It may be empty: then it takes no place and has no
  /// address.
  Arg add(std::string_view name, std::int64_t bytes, std::int64_t alignment = kAlignment) {
    const std::int64_t offset = round_up(bytes_, alignment);
    if (bytes > 0) bytes_ = offset + bytes;
    slices_.push_back({name, bytes, alignment, offset});
    return Arg::slice(slices_.size() - 1);
  }

  const std::vector<WorkspaceSlice>& slices() const { return slices_; }
  std::int64_t bytes() const { return bytes_; }
  /// The bytes from the workspace of a product to that of the next, where a launch has several.
  std::int64_t step_bytes() const { return round_up(bytes_, kAlignment); }

  friend bool operator==(const WorkspaceLayout&, const WorkspaceLayout&) = default;

 private:
  std::vector<WorkspaceSlice> slices_;
  std::int64_t bytes_ = 0;
};

}  // namespace mmtune
