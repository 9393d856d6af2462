// A place for files that nothing needs afterwards.
#pragma once

#include <fmt/format.h>
#include <mmtune/error.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace mmtune {

/// An empty directory of this user's until the end of the scope.
class TemporaryDirectory {
 public:
  /// Throws Error.
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "mmtune_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error(fmt::format("{}: cannot be created; set TMPDIR", name));
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace mmtune
