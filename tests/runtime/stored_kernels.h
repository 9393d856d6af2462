// A temporary database with decisions that a test invents, of binaries that are compiled or just pretended.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "db/store.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/gpu/nvrtc.h"
#include "templates/family/families.h"
#include "templates/family/render.h"

namespace mmtune::test {

/// The problem of packed operands as they are stored.
inline Problem fp32(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(Precision::fp32, Layout::nn, m, n, k);
}

/// A decision for the problem: the family's default with these settings, `median_us` long.
struct Decision {
  Problem problem;
  std::string family = "simt";
  std::string config = "";
  double median_us = 100;
  Evidence evidence = Evidence::measured;
};

inline Config config_of(const Decision& decision, const DeviceSpec& device) {
  const Family& family = family_named(decision.family);
  return family.complete(family.parse(decision.config), decision.problem, device);
}

inline Source source_of(const Decision& decision, const DeviceSpec& device, int target) {
  const Family& family = family_named(decision.family);
  const Config config = config_of(decision, device);
  return render(TemplateFiles::embedded(), family, decision.problem, config,
                family.plan(decision.problem, config, device), target);
}

/// A binary that cannot be loaded.
inline Binary pretended_binary(const Source& source, const CompileTarget& target) {
  Binary binary;
  binary.target = target.name;
  binary.exact_target = target.exact;
  binary.cubin = "no machine code of " + source.hash;
  binary.hash = hash_machine_code(binary.cubin);
  binary.registers = 64;
  return binary;
}

inline Binary compiled_binary(const Nvrtc& nvrtc, const Source& source, const CompileTarget& target) {
  Compilation compilation = nvrtc.compile(source, TemplateFiles::embedded(), target);
  EXPECT_TRUE(compilation.ok()) << compilation.log;
  Binary binary;
  binary.hash = compilation.code_hash;
  binary.target = target.name;
  binary.exact_target = target.exact;
  binary.cubin = std::move(compilation.cubin);
  for (const KernelResources& kernel : compilation.kernels) {
    binary.registers = std::max(binary.registers, kernel.registers);
  }
  return binary;
}

/// Stores the decision as made with this binary.
inline void put(Store& store, const DeviceSpec& device, const Decision& decision, const std::string& source_hash,
                const Binary& binary) {
  Trial trial;
  trial.key = {key_of(device), decision.problem, decision.family, config_of(decision, device).text(),
               source_hash,    decision.evidence};
  trial.binary_hash = binary.hash;
  trial.timing.median_us = decision.median_us;
  store.put(trial, &binary);
  store.put_winner(trial.key, "test", 1);
}

}  // namespace mmtune::test
