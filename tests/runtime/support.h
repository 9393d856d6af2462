// What several tests of the runtime need: a temporary environment, a compiler or a GPU or the reason for skipping.
#pragma once

#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/gpu/device_query.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/nvrtc.h"

namespace mmtune::test {

/// Sets (or, without a value, unsets) an environment variable until the end of the scope.
class ScopedEnv {
 public:
  ScopedEnv(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    set(value);
  }
  ~ScopedEnv() { set(old_ ? old_->c_str() : nullptr); }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      setenv(name_.c_str(), value, 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> old_;
};

inline Source source_of(const std::string& text) { return {"test", text, "0123456789abcdef0123456789abcdef"}; }

inline CompileTarget sm(int compute_capability) {
  return {compute_capability, true, "sm_" + std::to_string(compute_capability) + (compute_capability >= 90 ? "a" : "")};
}

/// Why a test that runs `mmtune` on a model must be skipped; empty where there is an NVRTC.
inline std::string why_no_compiler() {
  try {
    Nvrtc::load();
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

/// Skips where there is no NVRTC.
class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_.emplace(Nvrtc::load());
      diagnosing_.emplace(Nvrtc::load(CompileFor::diagnosis));
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  Compilation compile(const std::string& text, const CompileTarget& target = sm(80)) const {
    return nvrtc_->compile(source_of(text), TemplateFiles::embedded(), target);
  }

  /// What finds out whether a family's programs compile. Two kinds are compiled for speed all the same: for GPUs before
  /// Hopper those that may use its accelerator, since functions may stay that these cannot have, though nothing calls
  /// them; and those whose multiplications of warpgroups would wait for each other, which counts as no machine code.
  const Nvrtc& nvrtc_that_checks(std::string_view family, const CompileTarget& target) const {
    const bool has_accelerator = target.compute_capability >= 90;
    return family.starts_with("wgmma") || (family == "simt" && !has_accelerator) ? *nvrtc_ : *diagnosing_;
  }

  std::optional<Nvrtc> nvrtc_;
  std::optional<Nvrtc> diagnosing_;
};

/// Why a test that runs `mmtune` on a GPU must be skipped; empty where there is one.
inline std::string why_no_gpu() {
  try {
    return gpu_count() == 0 ? "the driver offers no GPU" : "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

/// Skips where there is no GPU or no NVRTC.
class GpuTest : public NvrtcTest {
 protected:
  void SetUp() override {
    try {
      if (gpu_count() == 0) GTEST_SKIP() << "the driver offers no GPU";
      gpu_.emplace(0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    device_ = query_device(0);
    target_ = compile_target(device_, nvrtc_->supported());
  }

  /// Machine code for GPU 0.
  std::string build(const std::string& text) const {
    const Compilation compilation = compile(text, target_);
    EXPECT_TRUE(compilation.ok()) << compilation.log;
    return compilation.cubin;
  }

  std::optional<Gpu> gpu_;  ///< GPU 0
  DeviceSpec device_;
  CompileTarget target_;
};

}  // namespace mmtune::test
