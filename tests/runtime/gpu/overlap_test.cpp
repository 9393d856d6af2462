// The first step of a plan that overlaps what precedes it on the stream touches no global memory before it has waited:
// not in the source, which the simulated machine checks, and not in what compilers make of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/random_config.h"
#include "tests/runtime/gpu/machine_instruction.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::MachineInstruction;

// Instructions of compute capability 9.0, as NVRTC's machine code has them.
bool is_wait(const MachineInstruction& instruction) { return instruction.opcode() == 0x82e; }  // griddepcontrol.wait
bool is_access(const MachineInstruction& instruction) {
  switch (instruction.opcode()) {
    case 0x980:  // ld
    case 0x981:  // ld.global
    case 0x985:  // st
    case 0x986:  // st.global
    case 0xfae:  // cp.async
    case 0x5b4:  // cp.async.bulk.tensor
      return true;
    default:
      return false;
  }
}

/// Those whose plans overlap what comes before them.
std::vector<const Family*> overlapping_families() {
  std::vector<const Family*> found;
  for (const Family* family : families()) {
    const auto overlaps = [&](Precision precision) {
      const Problem problem = packed_problem(precision, Layout::nt, 1024, 1024, 1024);
      const auto plan = family->legal_plan(problem, family->default_config(problem), catalog_gpu("h200"));
      return plan && plan->steps.front().overlaps_previous;
    };
    if (std::any_of(kAllPrecisions.begin(), kAllPrecisions.end(), overlaps)) found.push_back(family);
  }
  return found;
}

class Overlap : public test::NvrtcTest, public testing::WithParamInterface<const Family*> {
 protected:
  static constexpr int kCases = 12;
  static constexpr int kDraws = 20000;

  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    if (nvrtc_->version() != "13.0") GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " may make other machine code";
    target_ = compile_target(gpu_, nvrtc_->supported());
  }

  Compilation compile(const Problem& problem, const Config& config, const LaunchPlan& plan) const {
    const TemplateFiles& files = TemplateFiles::embedded();
    const Source source = render(files, *GetParam(), problem, config, plan, target_.compute_capability);
    return nvrtc_->compile(source, files, target_);
  }

  const DeviceSpec& gpu_ = catalog_gpu("h200");
  CompileTarget target_;
};

TEST_P(Overlap, FirstStepsTouchNoMemoryBeforeTheyWait) {
  const Family& family = *GetParam();
  std::mt19937 random(1);
  int found = 0;
  for (int draw = 0; draw < kDraws && found < kCases; ++draw) {
    const Problem problem = test::random_problem(random);
    const Config config = test::random_config(family, random);
    if (!family.broken_rule(problem, config, gpu_).empty()) continue;
    const LaunchPlan plan = family.plan(problem, config, gpu_);
    if (!plan.steps.front().overlaps_previous) continue;
    ++found;
    const std::string what = fmt::format("{} {} {}", family.name(), config.text(), to_string(problem));
    const Compilation compilation = compile(problem, config, plan);
    ASSERT_TRUE(compilation.ok()) << what << '\n' << compilation.log;
    const auto instructions = test::machine_instructions(compilation.cubin, plan.steps.front().kernel);
    const auto wait = std::find_if(instructions.begin(), instructions.end(), is_wait);
    const auto access = std::find_if(instructions.begin(), instructions.end(), is_access);
    EXPECT_NE(wait, instructions.end()) << what << ": never waits";
    EXPECT_NE(access, instructions.end()) << what << ": no access was recognised";
    EXPECT_LT(wait, access) << what << ": begins too early";
  }
  EXPECT_EQ(found, kCases);
}

INSTANTIATE_TEST_SUITE_P(Registered, Overlap, testing::ValuesIn(overlapping_families()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

}  // namespace
}  // namespace mmtune
