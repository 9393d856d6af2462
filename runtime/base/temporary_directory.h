// A place for files that nothing needs afterwards.
#pragma once

#include <fmt/format.h>
#include <mmtune/error.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace mmtune {

/// An empty directory of this user's until the end of the scope.
class TemporaryDirectory {
 public:
  /// Throws Error.
  TemporaryDirectory() {
    std::error_code failure;
    std::string name = (std::filesystem::temp_directory_path(failure) / "mmtune_XXXXXX").string();
    if (failure || mkdtemp(name.data()) == nullptr) {
      throw Error(fmt::format("no temporary directory: {}; set TMPDIR to a directory that can be written",
                              failure ? failure.message() : std::strerror(errno)));
    }
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace mmtune
