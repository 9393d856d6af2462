// The sources that NVRTC gets, up to the kernel's own file: what a default configuration renders to stands in
// tests/golden/FAMILY.cu. With MMTUNE_UPDATE_GOLDEN set, the files are written instead of compared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "templates/family/families.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"

namespace mmtune {
namespace {

class Golden : public ::testing::TestWithParam<const Family*> {};

INSTANTIATE_TEST_SUITE_P(Registered, Golden, ::testing::ValuesIn(families()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

TEST_P(Golden, PrologueOfTheDefault) {
  const Family& family = *GetParam();
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);
  const Config config = family.default_config(problem);
  const LaunchPlan plan = family.plan(problem, config, catalog_gpu("h200"));
  const std::string text = render(TemplateFiles::embedded(), family, problem, config, plan, 90).text;
  const std::size_t kernel = text.find("#line 1 ");
  ASSERT_NE(kernel, text.npos);
  const std::string prologue = text.substr(0, text.find('\n', kernel) + 1);

  const std::string path = fmt::format("{}/tests/golden/{}.cu", MMTUNE_SOURCE_DIR, family.name());
  if (std::getenv("MMTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(std::ofstream(path, std::ios::binary) << prologue) << path;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(prologue, golden) << path << ": if this change is meant, run the test with MMTUNE_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace mmtune
