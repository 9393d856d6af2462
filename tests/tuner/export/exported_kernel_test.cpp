// A kernel in files of its own.
#include "tuner/export/exported_kernel.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <nlohmann/json.hpp>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/inspect/local_compiler.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExportedKernel : public test::NvrtcTest {};

TEST_F(ExportedKernel, CompilesAloneToTheSameMachineCode) {
  const DeviceSpec device = catalog_gpu("h200");
  const auto target = compile_target(device, nvrtc_->supported());
  for (const Family* family : families()) {
    const auto served = std::find_if(kAllPrecisions.begin(), kAllPrecisions.end(), [&](Precision precision) {
      const Problem any = packed_problem(precision, Layout::nn, 512, 512, 512);
      return family->broken_rule(any, family->default_config(any), device).empty();
    });
    ASSERT_NE(served, kAllPrecisions.end()) << family->name();
    const Problem problem = packed_problem(*served, Layout::nn, 512, 512, 512);
    const Config config = family->default_config(problem);
    const LaunchPlan plan = family->plan(problem, config, device);
    const Source source = render(TemplateFiles::embedded(), *family, problem, config, plan, target.compute_capability);
    Source alone = source;
    alone.text = self_contained(source, TemplateFiles::embedded());
    EXPECT_THAT(alone.text, Not(HasSubstr("#include")));
    const Nvrtc& nvrtc = nvrtc_that_checks(family->name(), target);  // either way code would differ where texts do
    const Compilation together = nvrtc.compile(source, TemplateFiles::embedded(), target);
    const Compilation by_itself = nvrtc.compile(alone, TemplateFiles::embedded(), target);
    ASSERT_TRUE(by_itself.ok()) << family->name() << by_itself.log;
    EXPECT_EQ(by_itself.code_hash, together.code_hash) << family->name();
  }
}

TEST(KernelName, NoNameBreaksTheHeaderOrLeadsElsewhere) {
  for (const auto* name : {"gemm", "gemm_4096", "out/gemm-4096.v2", "/tmp/out/4096"}) {
    EXPECT_NO_THROW(check_kernel_name(name)) << name;
  }
  for (const auto* name :
       {"a\"b", "a\nb", "a b", "../gemm", "out/../../gemm", "..", ".hidden", "out/", "-x", "gemm\\", "\xc3\xa4"}) {
    try {
      check_kernel_name(name);
      FAIL() << name;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("letters, digits")) << name;
    }
  }
}

TEST_F(Cli, ExportsAKernelWithItsLaunch) {
  const std::string arguments =
      fmt::format("export --size 512x256x1024 --device model:h200 --kernel '{}'", path("gemm"));
  const Result untuned = mmtune(arguments);
  if (untuned.code == 3) GTEST_SKIP() << untuned.err;
  EXPECT_EQ(untuned.code, 2);
  EXPECT_THAT(untuned.err,
              HasSubstr("has no winner for NVIDIA H200; run mmtune tune --device model:h200 --sizes 512x256x1024"));
  const Result result = mmtune(arguments + " --family wgmma --precision bf16 --config SPLIT=2");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(content(path("gemm.cu")), HasSubstr("extern \"C\" __global__"));
  EXPECT_THAT(content(path("gemm.cubin")), ::testing::StartsWith("\x7f"
                                                                 "ELF"));

  const auto launch = nlohmann::json::parse(content(path("gemm.json")));
  EXPECT_EQ(launch["family"], "wgmma");
  EXPECT_EQ(launch["m"], 512);
  EXPECT_EQ(launch["target"], "sm_90a");
  EXPECT_GT(launch["workspace"]["bytes"], 0);
  EXPECT_GE(launch["tensor_maps"].size(), 2u);
  EXPECT_EQ(launch["tensor_maps"][0]["dimensions"][0]["stride_bytes"], 0);
  ASSERT_GE(launch["steps"].size(), 2u);
  EXPECT_THAT(launch["steps"].dump(), HasSubstr("\"map 0\""));
  EXPECT_EQ(mmtune(arguments + " --family tiled").code, 2) << "the files exist";
  EXPECT_EQ(mmtune(arguments + " --family tiled --force").code, 0);
}

}  // namespace
}  // namespace mmtune
