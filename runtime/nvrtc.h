// NVRTC: run-time compilation from a rendered source to machine code for one architecture. Opened at run time.
#pragma once

#include "templates/device_spec.h"
#include "templates/render.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mmtune {

/// What ptxas said of one kernel of the program.
struct KernelResources {
  std::string kernel;       ///< "gemm"
  int registers = 0;        ///< per thread
  int spill_bytes = 0;      ///< stores plus loads, per thread
  int stack_bytes = 0;      ///< per thread
  int static_smem_bytes = 0;
};

/// A compilation's result. It failed if `cubin` is empty; then `log` says why.
struct Compilation {
  std::string cubin;
  std::string ptx;          ///< only if asked for (MMTUNE_DUMP)
  std::string log;          ///< never lost, also on success
  std::string code_hash;    ///< of machine code and launch metadata: equal hash, equal kernel
  std::vector<KernelResources> kernels;
  double compile_ms = 0;

  bool ok() const { return !cubin.empty(); }
};

class Nvrtc {
 public:
  /// Opens libnvrtc: MMTUNE_NVRTC, the toolkit's directories, the loader's search. Throws DeviceError that lists where
  /// it looked and what to install.
  static Nvrtc load();

  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }  ///< "13.0"

  /// Compute capabilities it can compile for, ascending.
  const std::vector<int>& supported() const { return supported_; }

  /// Compiles for `target`. Never throws for what the source contains: that is a Compilation that is not ok. Thread
  /// safe: NVRTC compiles programs concurrently. `cancelled` is polled now and then while compiling; compilation
  /// stops, as a failure, once it returns true.
  Compilation compile(const Source& source, const TemplateFiles& files, const CompileTarget& target,
                      const std::function<bool()>& cancelled = {}) const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
  std::string path_;
  std::string version_;
  std::vector<int> supported_;
};

/// Reads "Used 32 registers, …" and its neighbours from the log of --ptxas-options=-v.
std::vector<KernelResources> parse_resource_report(const std::string& log);

/// Hashes the sections of a cubin that decide what it does (code, constants, per-kernel information), not its notes.
/// Returns the hash of all bytes if the image is no well-formed 64-bit ELF file.
std::string hash_machine_code(const std::string& cubin);

}  // namespace mmtune
