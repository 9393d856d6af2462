// Where the library's machine code comes from: the database, or NVRTC where that is wanted.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "runtime/dispatch.h"
#include "runtime/nvrtc.h"

namespace mmtune {

/// Thread safe.
class Programs {
 public:
  Programs(std::string database, DeviceSpec device, TemplateFiles files)
      : database_(std::move(database)), device_(std::move(device)), files_(std::move(files)) {}

  const TemplateFiles& files() const { return files_; }

  /// The image of a stored binary. Throws DatabaseError if it is no longer there.
  std::string stored(const std::string& binary_hash) const;

  /// Renders and compiles the choice for the problem's precision and layout. Throws DeviceError without NVRTC, Error
  /// with the compiler's words if it refuses.
  std::string compile(const Choice& choice, const Problem& problem);

 private:
  const Nvrtc& nvrtc();

  std::string database_;
  DeviceSpec device_;
  TemplateFiles files_;
  std::mutex mutex_;
  std::optional<Nvrtc> nvrtc_;
};

}  // namespace mmtune
