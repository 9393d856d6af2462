// A shared library opened at run time, so that the program starts where it is missing and can say where it looked.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mmtune {

class DynamicLibrary {
 public:
  /// Tries each candidate (a path, or a bare name for the loader's own search) in order. Throws DeviceError with every
  /// candidate and the loader's reason, ending in `remedy`. Libraries stay loaded until the process ends: their
  /// threads and exit handlers do not survive unloading.
  static DynamicLibrary open(const std::string& what, const std::vector<std::string>& candidates,
                             const std::string& remedy);

  /// Null if the library lacks the symbol.
  void* find(const char* symbol) const;

  /// Throws DeviceError naming symbol and library.
  void* require(const char* symbol) const;

  /// The file that was loaded, also where the loader searched for a bare name.
  const std::string& path() const { return path_; }

 private:
  DynamicLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

}  // namespace mmtune
