// What the simulated machine cannot run, it says by name.
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "templates/family/families.h"
#include "tests/edited_files.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

constexpr const char* kKernel = "#include \"mmtune/unit.cuh\"\nextern \"C\" __global__ void gemm() { use(); }\n";

TEST(BeyondTheHost, IsSaidByName) {
  const struct {
    const char* ptx;
    const char* reason;
  } cases[] = {
      {"asm volatile(\"wgmma.fence.sync.aligned;\");", "wgmma cannot run on the host: the GPU suite covers it"},
      {"asm(\"{ .reg .pred p;\\n mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {}, {}, {}, {};}\");",
       "mma.sync cannot run on the host: the GPU suite covers it"},
      {"asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\");",
       "setmaxnreg cannot run on the host: the GPU suite covers it"},
      {"return;  // wgmma.mma_async and \"mma.sync.\" are for others", ""},
  };
  for (const auto& [ptx, reason] : cases) {
    const TemplateFiles files = test::with_file(kernel_sources(), "templates/device/unit.cuh",
                                                fmt::format("inline void use() {{ {} \n}}\n", ptx));
    const Source source{"beyond", kKernel, ""};
    EXPECT_EQ(beyond_the_host(source, files), reason);
    LaunchPlan plan;
    plan.steps.resize(1);
    if (*reason == 0) {
      EXPECT_NO_THROW(Program(source, plan, files));
      continue;
    }
    try {
      const Program program(source, plan, files);
      FAIL() << reason;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), reason);
    }
  }
}

TEST(BeyondTheHost, IsNoFamily) {
  for (const Family* family : families()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      const Problem problem = packed_problem(precision, Layout::nn, 64, 64, 64);
      const Config config = family->default_config(problem);
      if (!family->broken_rule(problem, config, device()).empty()) continue;
      const LaunchPlan plan = family->plan(problem, config, device());
      const Source source = render(kernel_sources(), *family, problem, config, plan, 90);
      EXPECT_EQ(beyond_the_host(source, kernel_sources()), "") << family->name();
    }
  }
}

}  // namespace
}  // namespace mmtune::shim
