// MMTUNE_DUMP: files of what NVRTC got and gave, to debug a kernel.
#pragma once

#include <string>
#include <string_view>

#include "templates/family/render.h"

namespace mmtune {

/// The files to write. Immutable after creation, so usable from any thread.
class Dump {
 public:
  enum class Kind { src, ptx, log, cubin };

  /// What MMTUNE_DUMP and MMTUNE_DUMP_DIR say. Throws UsageError naming a word that is no kind.
  static Dump from_environment();

  bool wants(Kind kind) const;

  /// Writes <directory>/<name>-<hash>.<cu|ptx|log|cubin> if `kind` is wanted. A file that cannot be written is worth a
  /// warning, not a failure.
  void write(Kind kind, const Source& source, std::string_view contents) const;

 private:
  unsigned kinds_ = 0;  ///< bit set over Kind
  std::string directory_;
};

}  // namespace mmtune
