// Main loops whose multiply-adds never ask one bank of the register file for three operands. A change of the source
// that looks harmless may cost several percent that way: see docs/lab/2026-11-24-kernel-variants.md. Banks and the
// reuse cache: Z. Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018,
// arXiv:1804.06826.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/gpu/machine_instruction.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::MachineInstruction;

/// Fused multiply-add of floats, all of them in registers.
bool is_multiply_add(const MachineInstruction& instruction) { return instruction.opcode() == 0x223; }

/// The instructions of the one kernel among these that has any to speak of: the other is empty.
std::vector<MachineInstruction> main_loop(const std::string& cubin) {
  return std::max(test::machine_instructions(cubin, "gemm"), test::machine_instructions(cubin, "gemm_tma"),
                  [](const auto& x, const auto& y) { return x.size() < y.size(); });
}

struct MultiplyAdds {
  int all = 0;
  int colliding = 0;  ///< three different registers of one bank are read, the even ones or the odd ones
};

MultiplyAdds count(const std::vector<MachineInstruction>& program) {
  MultiplyAdds result;
  const MachineInstruction* before = nullptr;  // the instruction before, if that is a multiply-add
  for (const MachineInstruction& each : program) {
    if (!is_multiply_add(each)) {
      before = nullptr;
      continue;
    }
    std::array<std::set<int>, 2> read;
    for (int i = 0; i < 3; ++i) {
      const int source = each.sources()[i];
      const bool is_kept = before != nullptr && before->keeps(i) && before->sources()[i] == source;
      if (!is_kept) read[source % 2].insert(source);
    }
    ++result.all;
    if (read[0].size() == 3 || read[1].size() == 3) ++result.colliding;
    before = &each;
  }
  return result;
}

/// A configuration with at least 64 sums a thread, and a problem that it is for.
struct MainLoop {
  Problem problem;
  Config config;

  int sums() const { return *config.find("TM") * *config.find("TN"); }
};

std::ostream& operator<<(std::ostream& out, const MainLoop& loop) { return out << loop.config.text(); }

std::vector<MainLoop> proven_loops() {
  std::vector<MainLoop> loops;
  std::set<std::string_view> seen;
  const Family& simt = family_named("simt");
  for (const Proven& each : simt.proven()) {
    const Problem problem = packed_problem(each.precision, Layout::nn, each.m, each.n, each.k);
    MainLoop loop{problem, simt.with_defaults(Config::parse(each.config), problem)};
    if (each.precision != Precision::fp32 || loop.sums() < 64 || !seen.insert(each.config).second) continue;
    loops.push_back(std::move(loop));
  }
  return loops;
}

class RegisterBanks : public test::NvrtcTest, public testing::WithParamInterface<MainLoop> {};

TEST_P(RegisterBanks, ServeEveryMultiplyAdd) {
  if (nvrtc_->version() != "13.0") GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " may make other machine code";
  const auto& [problem, config] = GetParam();
  const DeviceSpec& gpu = catalog_gpu("h200");
  const CompileTarget target = compile_target(gpu, nvrtc_->supported());
  const TemplateFiles& files = TemplateFiles::embedded();
  const Family& simt = family_named("simt");
  const LaunchPlan plan = simt.plan(problem, config, gpu);
  const Source source = render(files, simt, problem, config, plan, target.compute_capability);
  const Compilation compilation = nvrtc_->compile(source, files, target);
  ASSERT_TRUE(compilation.ok()) << compilation.log;
  const MultiplyAdds found = count(main_loop(compilation.cubin));
  EXPECT_GE(found.all, GetParam().sums() * *config.find("UNROLL")) << "the main loop was not recognised";
  EXPECT_EQ(found.colliding, 0) << "of " << found.all;
}

/// Every fourth of the main loops, or the others.
std::vector<MainLoop> some_loops(bool every_fourth) {
  std::vector<MainLoop> some;
  const std::vector<MainLoop> loops = proven_loops();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if ((i % 4 == 0) == every_fourth) some.push_back(loops[i]);
  }
  return some;
}

std::string name_of(const testing::TestParamInfo<MainLoop>& instance) {
  const Problem& problem = instance.param.problem;
  return fmt::format("{}x{}x{}_{}", problem.m, problem.n, problem.k, instance.index);
}

INSTANTIATE_TEST_SUITE_P(Proven, RegisterBanks, testing::ValuesIn(some_loops(true)), name_of);
INSTANTIATE_TEST_SUITE_P(Thorough, RegisterBanks, testing::ValuesIn(some_loops(false)), name_of);

}  // namespace
}  // namespace mmtune
