// What the family skinny chooses and asks for: where the operand of the short side passes, and what it must be aligned
// to.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/floors.h"
#include "templates/space/space.h"
#include "tests/templates/family/settings.h"

namespace mmtune {
namespace {

const Family& skinny() { return family_named("skinny"); }

Config skinny_config(std::string_view settings, const Problem& problem) {
  return skinny().with_defaults(skinny().parse(settings), problem);
}

TEST(Skinny, TakesTheNarrowOperandToRegistersWhereItsStepsLieSideBySide) {
  const struct {
    Layout layout;
    std::int64_t m, n;
    int narrow;
  } cases[] = {
      {Layout::nn, 8192, 1, 1},  // a single column: its steps are neighbours, whatever the layout says
      {Layout::nn, 1, 8192, 1},  {Layout::nt, 8192, 4, 1}, {Layout::nn, 8192, 4, 0},  // four columns, row by row
      {Layout::nt, 8192, 16, 0},  // too many steps for the registers
  };
  for (const auto& [layout, m, n, narrow] : cases) {
    const Problem problem = packed_problem(Precision::bf16, layout, m, n, 8192);
    EXPECT_EQ(*skinny().default_config(problem).find("NARROW"), narrow) << to_string(problem);
  }
}

TEST(Skinny, RefusesRegistersForStepsThatLieApart) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const Problem apart = packed_problem(Precision::bf16, Layout::nn, 8192, 4, 8192);
  const Problem together = packed_problem(Precision::bf16, Layout::nt, 8192, 4, 8192);
  EXPECT_EQ(skinny().broken_rule(apart, skinny_config("SIDE=1 FEW=4 NARROW=1", apart), gpu),
            "NARROW=registers is for an operand contiguous along k, or FEW=1");
  EXPECT_EQ(skinny().broken_rule(together, skinny_config("SIDE=1 FEW=4 NARROW=1", together), gpu), "");
  EXPECT_EQ(skinny().broken_rule(apart, skinny_config("SIDE=1 FEW=1 NARROW=1", apart), gpu), "");
}

TEST(Skinny, CopiesToSharedMemoryWhereTheGpuAndTheAlignmentAllow) {
  const auto broken = [](const Problem& problem, const char* gpu) {
    return skinny().broken_rule(problem, skinny_config("SIDE=1 FEW=1 NARROW=1 STAGES=4 LANES=32", problem),
                                catalog_gpu(gpu));
  };
  const Problem even = packed_problem(Precision::bf16, Layout::nn, 1024, 1, 1024);
  EXPECT_EQ(broken(even, "h200"), "");
  EXPECT_EQ(broken(even, "a100"), "");
  EXPECT_EQ(broken(even, "t4"), "STAGES above 1 need compute capability 8.0");
  EXPECT_EQ(broken(packed_problem(Precision::bf16, Layout::nn, 1023, 1, 1023), "h200"),
            "STAGES above 1 need alignment to 4 bytes");
}

TEST(Skinny, AsksForTheAlignmentOfWhatItLoads) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const auto plan = [&gpu](const Problem& problem, std::string_view settings) {
    return skinny().plan(problem, skinny_config(settings, problem), gpu);
  };
  const Problem rows = packed_problem(Precision::int8, Layout::nt, 2, 4096, 4096);
  const LaunchPlan both = plan(rows, "SIDE=0 FEW=2 NARROW=1");
  EXPECT_EQ(both.needs, (Alignment{16, 16, 1}));
  EXPECT_EQ(test::constant_of(both, "VEC"), 16);
  EXPECT_EQ(test::constant_of(both, "NARROW_VEC"), 16);
  const LaunchPlan shared = plan(rows, "SIDE=0 FEW=2 NARROW=0");
  EXPECT_EQ(shared.needs, (Alignment{1, 16, 1}));
  EXPECT_EQ(test::constant_of(shared, "VEC"), 8);
  const Problem column = packed_problem(Precision::bf16, Layout::nn, 4096, 1, 4096);
  EXPECT_EQ(plan(column, "SIDE=1 FEW=1 NARROW=1").needs, (Alignment{16, 1, 1}));  // the kernel looks at its address
}

TEST(Skinny, IsExpectedToReadMatricesByVectorsAtTheSpeedOfMemory) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  for (const auto& [precision, layout] : {std::pair{Precision::fp32, Layout::nn},
                                          {Precision::bf16, Layout::nn},
                                          {Precision::int8, Layout::nt},
                                          {Precision::e4m3_bf16, Layout::nt}}) {
    for (const bool is_column : {false, true}) {
      const Problem problem = packed_problem(precision, layout, is_column ? 8192 : 1, is_column ? 1 : 8192, 8192);
      const SearchSpace space(skinny(), problem, gpu);
      const std::vector<RankedConfig> first = space.ranked(1);
      ASSERT_EQ(first.size(), 1u);
      const Config config = space.config(first[0].number);
      EXPECT_EQ(*config.find("NARROW"), 1) << to_string(problem) << ": " << config.text();
      EXPECT_LT(first[0].predicted_us, 1.25 * floors(problem, 1, gpu).memory_us + 2) << to_string(problem);
    }
  }
}

}  // namespace
}  // namespace mmtune
