// NVRTC: run-time compilation from a rendered source to machine code for one architecture. Opened at run time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/machine_code.h"
#include "templates/family/render.h"
#include "templates/gpu/device_spec.h"

namespace mmtune {

/// A compilation's result. It failed if `cubin` is empty; then `log` says why.
struct Compilation {
  std::string cubin;
  std::string ptx;        ///< the PTX, only if asked for (MMTUNE_DUMP)
  std::string log;        ///< the compiler's log, also on success
  std::string code_hash;  ///< the hash of machine code and launch metadata: equal hash, equal kernel
  std::vector<KernelResources> kernels;
  double compile_ms = 0;

  /// Whether there is machine code. A program whose wgmma instructions ptxas reports as serialised has none: it is
  /// right, but far too slow.
  bool ok() const { return !cubin.empty(); }

  static constexpr void fields(auto&& visit) {
    visit("cubin", &Compilation::cubin, rule::machine_code);
    visit("ptx", &Compilation::ptx);
    visit("log", &Compilation::log);
    visit("code_hash", &Compilation::code_hash, rule::hash_or_nothing);
    visit("kernels", &Compilation::kernels);
    visit("compile_ms", &Compilation::compile_ms, rule::amount);
  }
  std::string_view contradiction() const {
    return !ok() || hash_machine_code(cubin) == code_hash ? "" : "code_hash: not that of the machine code";
  }
};
static_assert(kListsAllMembers<Compilation>);

/// What NVRTC is to find out: the fastest machine code, or only whether a source compiles, which takes half the time.
enum class CompileFor { speed, diagnosis };

class Nvrtc {
 public:
  /// Opens libnvrtc: MMTUNE_NVRTC and nothing else if that is set, else the toolkit's directories, the loader's search.
  /// Reads MMTUNE_DUMP. Throws DeviceError that lists where it looked and what to install; UsageError for MMTUNE_DUMP.
  static Nvrtc load(CompileFor what = CompileFor::speed);

  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }  ///< "13.0"

  /// Compute capabilities it can compile for, ascending.
  const std::vector<int>& supported() const { return supported_; }

  /// Compiles for `target`. Never throws for what the source contains: that is a Compilation that is not ok. Throws
  /// DeviceError where NVRTC itself is at fault: an incomplete installation, a target it does not know. Thread safe;
  /// programs compile concurrently from NVRTC 12.7 on. `cancelled` is polled now and then while compiling, where NVRTC
  /// can do so; compilation stops, as a failure, once it returns true. It may be polled from any thread, must stay true
  /// and must not throw.
  Compilation compile(const Source& source, const TemplateFiles& files, const CompileTarget& target,
                      const std::function<bool()>& cancelled = {}) const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
  std::string path_;
  std::string version_;
  std::vector<int> supported_;
};

}  // namespace mmtune
