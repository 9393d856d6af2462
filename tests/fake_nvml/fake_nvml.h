// The library that pretends to be NVML, as tests set it: its file is MMTUNE_FAKE_NVML.
#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include "test_paths.h"
#include "tests/fake_nvml/answers.h"

namespace mmtune::test {

/// The answers for all of this process, as they are at first.
inline NvmlAnswers& fake_nvml() {
  void* library = dlopen(MMTUNE_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto* answers = static_cast<NvmlAnswers*>(dlsym(library, "mmtune_fake_answers"));
  *answers = {};
  return *answers;
}

}  // namespace mmtune::test
