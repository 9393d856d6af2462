// Where the library's machine code comes from: the database, or NVRTC where that is wanted.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/choose/dispatch.h"
#include "runtime/gpu/nvrtc.h"

namespace mmtune {

/// The machine code of kernels. Thread safe.
class Programs {
 public:
  /// `budget` limits how long the database's locks are waited for and must live as long.
  Programs(std::vector<std::string> databases, DeviceSpec device, TemplateFiles files, LockBudget& budget)
      : databases_(std::move(databases)), device_(std::move(device)), files_(std::move(files)), budget_(budget) {}

  const TemplateFiles& files() const { return files_; }

  /// Keeps machine code that is to be there also while the database is locked. To be called before stored().
  void keep(std::map<std::string, std::string> images) { kept_ = std::move(images); }

  /// The image of a stored binary, of the first database that has it. Throws DatabaseError if none has it any more, or
  /// what kept the last one from being read, as DatabaseLockedError.
  std::string stored(const std::string& binary_hash) const;

  /// Renders and compiles the choice for the problem's precision and layout. Throws DeviceError without NVRTC, Error
  /// with the compiler's words if it refuses.
  std::string compile(const Choice& choice, const Problem& problem);

  /// The same for the program of finish_plan(problem).
  std::string compile_finish(const Problem& problem, const Fusion& fusion);

 private:
  std::string compiled(const Nvrtc& compiler, const CompileTarget& target, const Source& source,
                       const std::string& what) const;
  const Nvrtc& nvrtc();

  std::vector<std::string> databases_;
  DeviceSpec device_;
  TemplateFiles files_;
  LockBudget& budget_;
  std::map<std::string, std::string> kept_;  ///< machine code by its hash
  std::mutex mutex_;
  std::optional<Nvrtc> nvrtc_;
};

}  // namespace mmtune
