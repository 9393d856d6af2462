// The verifier passes sound kernels and finds out faulty ones: the plainest kernel with one mistake at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "templates/family/families.h"
#include "templates/problem/dtype.h"
#include "tests/runtime/support.h"
#include "tests/tuner/edited_kernel.h"
#include "tuner/lanes/lane.h"
#include "tuner/measure/verify.h"

namespace mmtune {
namespace {

using test::Edit;
using test::kLaunchCounter;
using ::testing::HasSubstr;

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
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    stream_ = make_stream();
  }

  /// What becomes of a candidate: checked, run as for timing, checked again, run again several times.
  Verdict judge(const TemplateFiles& files, const Family& family, const Problem& problem) const {
    const Config config = family.default_config(problem);
    const LaunchPlan plan = family.plan(problem, config, device_);
    const Source source = render(files, family, problem, config, plan, target_.compute_capability);
    const Compilation compilation = nvrtc_->compile(source, files, target_);
    if (!compilation.ok()) throw Error(compilation.log);
    const LoadedKernel kernel(compilation.cubin, plan);
    const CheckKernels checks(*nvrtc_, target_, problem.precision, problem.layout);
    Verifier verifier(checks, problem, stream_.get());
    Verdict verdict = verifier.check(kernel, plan);
    const double error_share = verdict.error_share;
    if (verdict.outcome == Outcome::ok) {
      launch(kernel, plan, problem, verifier.random_operands(plan), stream_.get());
      verdict = verifier.check_after_timing();
    }
    if (verdict.outcome == Outcome::ok) verdict = verifier.check_again(kernel, plan, 3, verifier.bits_of_c());
    const bool deterministic = verdict.outcome == Outcome::ok && verdict.deterministic;
    return {verdict.outcome, verdict.note, {}, error_share, deterministic};
  }

  Stream stream_;
};

TEST_F(GpuVerify, FindsFaults) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 100, 101, 102);
  for (const Fault& fault : faults()) {
    const Verdict verdict = judge(test::edited_templates(fault.edits), family_named("naive"), problem);
    EXPECT_EQ(verdict.outcome, fault.outcome)
        << "a kernel that " << fault.what << " was " << to_string(verdict.outcome) << ": " << verdict.note;
    EXPECT_EQ(verdict.note.empty(), fault.outcome == Outcome::ok) << fault.what;
    EXPECT_EQ(verdict.deterministic, fault.outcome == Outcome::ok) << fault.what;
  }
}

TEST_F(GpuVerify, SaysWhichLaunchWentWrong) {
  // Two launches check, one stands for timing, and three look again: the fourth to the sixth.
  struct Later {
    Edit edit;
    const char* note;
  };
  const std::vector<Later> all = {
      {test::kWrongLater, "launch 1 of 3: 1 of 10100 elements beyond the bound, first C[0,0]"},
      {{"sums[i][j], alpha", "sums[i][j] + (row + i + column + j == 0 && atomicAdd(&launches, 1u) >= 5), alpha"},
       "launch 3 of 3: 1 of 10100 elements beyond the bound, first C[0,0]"},
      {{"store_result(C", "if (row + i + column + j > 0 || atomicAdd(&launches, 1u) < 4) store_result(C"},
       "launch 2 of 3: 1 of 10100 elements beyond the bound, first C[0,0]"},
      {{"store_result(C",
        "(row + i + column + j == 0 && atomicAdd(&launches, 1u) >= 4 ? C[-1] = 1 : 0), store_result(C"},
       "launch 2 of 3: 4 bytes of guard zones"},
  };
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 100, 101, 102);
  for (const Later& later : all) {
    const Verdict verdict = judge(test::edited_templates({kLaunchCounter, later.edit}), family_named("naive"), problem);
    EXPECT_EQ(verdict.outcome, Outcome::unstable) << later.edit.to;
    EXPECT_THAT(verdict.note, HasSubstr(later.note));
  }
}

TEST_F(GpuVerify, PassesSoundKernelsOfEveryPrecisionAndLayout) {
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(precision, layout, 65, 67, 300);
      for (const std::string_view family : {"naive", "reference"}) {
        const Verdict verdict = judge(TemplateFiles::embedded(), family_named(family), problem);
        EXPECT_EQ(verdict.outcome, Outcome::ok) << family << ' ' << to_string(problem) << ": " << verdict.note;
        EXPECT_TRUE(verdict.deterministic) << family << ' ' << to_string(problem);
        EXPECT_LE(verdict.error_share, 1) << family << ' ' << to_string(problem);
        EXPECT_EQ(verdict.error_share > 0, !traits(precision).accumulator.integer)
            << family << ' ' << to_string(problem);
      }
    }
  }
}

TEST_F(GpuVerify, PassesResultsBelowTheNormalNumbers) {
  // Some single products in [-1, 1] are so small that rounding them to 16 bits costs more than its share of them.
  for (const Precision precision : kAllPrecisions) {
    const Problem problem = packed_problem(precision, Layout::nn, 512, 512, 1);
    const Verdict verdict = judge(TemplateFiles::embedded(), family_named("naive"), problem);
    EXPECT_EQ(verdict.outcome, Outcome::ok) << to_string(problem) << ": " << verdict.note;
  }
}

TEST_F(GpuVerify, TellsResultsThatDependOnTheMoment) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 300, 301, 102);
  const Verdict verdict = judge(test::edited_templates({test::kRoundsByTheClock}), family_named("naive"), problem);
  EXPECT_EQ(verdict.outcome, Outcome::ok) << verdict.note;
  EXPECT_FALSE(verdict.deterministic);
}

}  // namespace
}  // namespace mmtune
