// The verifier passes sound kernels and finds out faulty ones: the plainest kernel with one mistake at a time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <filesystem>
#include <fstream>

#include "templates/dtype.h"
#include "templates/families.h"
#include "tests/runtime/support.h"
#include "tuner/lane.h"
#include "tuner/verify.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernel = "templates/families/naive/kernel.cu";

/// A piece of the kernel and what stands there instead.
struct Edit {
  std::string_view from, to;
};

struct Fault {
  const char* what;
  std::vector<Edit> edits;
  Outcome outcome;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"none", {}, Outcome::ok},
      {"leaves out the last step along k", {{"l < k;", "l < k - 1;"}}, Outcome::wrong_result},
      {"reads a step too many", {{"l < k;", "l <= k;"}}, Outcome::wrong_result},
      {"writes nothing", {{"store_result(C", "if (m < 0) store_result(C"}}, Outcome::wrong_result},
      {"leaves out the last row", {{"row + i < m", "row + i < m - 1"}}, Outcome::wrong_result},
      {"writes a row too many", {{"row >= m", "row > m"}, {"row + i < m", "row + i <= m"}}, Outcome::guard_violation},
      {"writes a column too many",
       {{"column >= n", "column > n"}, {"column + j < n", "column + j <= n"}},
       Outcome::guard_violation},
      {"writes NaN", {{"sums[i][j], alpha", "sums[i][j] + __int_as_float(0x7fc00000), alpha"}}, Outcome::wrong_result},
      {"doubles beta", {{"alpha, beta);", "alpha, 2 * beta);"}}, Outcome::wrong_result},
      {"squares alpha", {{"alpha, beta);", "alpha * alpha, beta);"}}, Outcome::wrong_result},
      {"takes C for packed", {{"* ldc + column", "* n + column"}}, Outcome::wrong_result},
      {"transposes B", {{"offset_of<TRANSPOSE_B>", "offset_of<!TRANSPOSE_B>"}}, Outcome::wrong_result},
      {"drops half of the bits of A",
       {{"multiply_add(a[i],", "multiply_add(__uint_as_float(__float_as_uint(a[i]) & 0xfffff000u),"}},
       Outcome::wrong_result},
      {"is wrong once it is timed", {{"sums[i][j], alpha", "sums[i][j] + (ldc == n), alpha"}}, Outcome::unstable},
  };
  return all;
}

class GpuVerify : public test::GpuTest {
 protected:
  GpuVerify() : root_(fs::path(testing::TempDir()) / "mmtune_faulty_kernels") {}
  ~GpuVerify() override { fs::remove_all(root_); }

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    device_ = query_device(0);
    target_ = compile_target(device_, nvrtc_->supported());
    stream_ = make_stream();
  }

  /// The templates with the fault in them.
  TemplateFiles faulty(const Fault& fault) const {
    std::string text(TemplateFiles::embedded().text(std::string(kKernel)));
    for (const auto& [from, to] : fault.edits) {
      const std::size_t at = text.find(from);
      if (at == text.npos) throw Error(fmt::format("{}: the kernel has no '{}' any more", fault.what, from));
      text.replace(at, from.size(), to);
    }
    fs::remove_all(root_);
    fs::create_directories((root_ / kKernel).parent_path());
    fs::copy(fs::path(MMTUNE_SOURCE_DIR) / "templates/device", root_ / "templates/device");
    std::ofstream(root_ / kKernel) << text;
    return TemplateFiles::from_directory(root_.string());
  }

  /// What becomes of a candidate: checked, run as for timing, checked again, run again.
  Evaluation judge(const TemplateFiles& files, const Family& family, const Problem& problem) const {
    const Config config = family.default_config(problem);
    const LaunchPlan plan = family.plan(problem, config, device_);
    const Source source = render(files, family, problem, config, device_, target_.compute_capability);
    const Compilation compilation = nvrtc_->compile(source, files, target_);
    if (!compilation.ok()) throw Error(compilation.log);
    const LoadedKernel kernel(compilation.cubin, plan);
    const CheckKernels checks(*nvrtc_, target_, problem.precision, problem.layout);
    Verifier verifier(checks, problem, stream_.get());
    Verdict verdict = verifier.check(kernel, plan);
    if (verdict.outcome == Outcome::ok) {
      launch(kernel, plan, problem, verifier.random_operands(plan), stream_.get());
      const Verdict after = verifier.check_after_timing();
      if (after.outcome != Outcome::ok) verdict = after;
    }
    const bool repeats = verdict.outcome == Outcome::ok && verifier.repeats(kernel, plan);
    return {verdict.outcome, verdict.note, {}, verdict.error_share, repeats};
  }

  fs::path root_;
  DeviceSpec device_;
  CompileTarget target_;
  Stream stream_;
};

TEST_F(GpuVerify, FindsFaults) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 100, 101, 102);
  for (const Fault& fault : faults()) {
    const Evaluation verdict = judge(faulty(fault), family_named("naive"), problem);
    EXPECT_EQ(verdict.outcome, fault.outcome)
        << "a kernel that " << fault.what << " was " << to_string(verdict.outcome) << ": " << verdict.note;
    EXPECT_EQ(verdict.note.empty(), fault.outcome == Outcome::ok) << fault.what;
    EXPECT_EQ(verdict.deterministic, fault.outcome == Outcome::ok) << fault.what;
  }
}

TEST_F(GpuVerify, PassesSoundKernelsOfEveryPrecisionAndLayout) {
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(precision, layout, 65, 67, 300);
      for (const std::string_view family : {"naive", "reference"}) {
        const Evaluation verdict = judge(TemplateFiles::embedded(), family_named(family), problem);
        EXPECT_EQ(verdict.outcome, Outcome::ok) << family << ' ' << to_string(problem) << ": " << verdict.note;
        EXPECT_TRUE(verdict.deterministic) << family << ' ' << to_string(problem);
        EXPECT_LE(verdict.error_share, 1) << family << ' ' << to_string(problem);
        EXPECT_EQ(verdict.error_share > 0, !traits(precision).integer) << family << ' ' << to_string(problem);
      }
    }
  }
}

TEST_F(GpuVerify, TellsResultsThatDependOnTheMoment) {
  // The last bit follows the clock, but only of sums that are not whole: right every time, and never the same.
  const Fault fault{"rounds by the clock",
                    {{"sums[i][j], alpha",
                      "sums[i][j] * (1 + (sums[i][j] != rintf(sums[i][j])) * (clock64() / 8 % 2) * 1.2e-7f), alpha"}},
                    Outcome::ok};
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 300, 301, 102);
  const Evaluation verdict = judge(faulty(fault), family_named("naive"), problem);
  EXPECT_EQ(verdict.outcome, Outcome::ok) << verdict.note;
  EXPECT_FALSE(verdict.deterministic);
}

}  // namespace
}  // namespace mmtune
