// The machine code that a run has compiled, for sizes that try the same programs later: the database keeps only what
// may still win.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "db/trial.h"

namespace mmtune {

/// Programs by the hash of their source, all for one target. The oldest are forgotten where they take too much memory.
/// Thread safe.
class CodeMemory {
 public:
  void keep(const std::string& source_hash, const Binary& binary);
  std::optional<Binary> find(const std::string& source_hash) const;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{128} << 20;  // the most bytes: some 3000 kernels

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Binary> programs_;
  std::deque<std::string> in_order_;  ///< their sources, the oldest first
  std::size_t bytes_ = 0;             ///< the bytes of all images
};

}  // namespace mmtune
