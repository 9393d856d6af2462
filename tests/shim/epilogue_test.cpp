// Programs with an epilogue on the host: every family that it can run, in the configurations that store results in
// different ways, and the kernel that gives a plain product its epilogue.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "templates/families.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::Scalars;
using test::Values;

constexpr Scene kScenes[] = {
    {"odd, C is not read", 33, 65, 17},
    {"odd gaps", 67, 131, 35, Values::whole, {.alpha = 1, .beta = -1}, {.padding = 3, .offset = 1}},
    {"a row", 1, 67, 9, Values::whole, {.alpha = 2, .beta = 1}},
    {"a column", 67, 1, 31},
    {"wide gaps", 40, 72, 264, Values::whole, {.alpha = 1, .beta = 2}, {.padding = 16, .offset = 16}},
    {"no depth", 33, 40, 0, Values::whole, {.alpha = 3, .beta = 2}},
};

/// A scene whose values are whole, with a bias, and what must become of C.
class FusedProduct {
 public:
  FusedProduct(const Scene& scene, Precision precision, Layout layout, const Fusion& fusion)
      : scalars_(scene.scalars),
        fusion_(fusion),
        problem_{precision, layout, scene.m, scene.n, scene.k, {}},
        a_(traits(precision).a, stored_a(problem_), scene.gaps, scene.values, 1),
        b_(traits(precision).b, stored_b(problem_), scene.gaps, scene.values, 2),
        c_(traits(precision).c, stored_c(problem_), scene.gaps, scalars_.beta == 0 ? Values::nan : Values::whole, 3),
        bias_(traits(precision).c, {1, fusion.bias == Bias::per_row ? scene.m : scene.n}, {}, Values::whole, 4) {
    problem_.align =
        alignment_of(problem_, {a_.ld(), b_.ld(), c_.ld()}, {a_.offset_bytes(), b_.offset_bytes(), c_.offset_bytes()});
  }

  const Problem& problem() const { return problem_; }

  /// Calls run(operands) and returns the first thing that is wrong with C then, or nothing.
  template <class Run>
  std::string complaint_after(std::int64_t workspace_bytes, const Run& run) const {
    const MatrixMemory a(a_), b(b_), c(c_), bias(bias_);
    const Memory workspace(static_cast<std::size_t>(workspace_bytes));
    run(Operands{a.address(),
                 b.address(),
                 c.address(),
                 {a_.ld(), b_.ld(), c_.ld()},
                 scalars_.alpha,
                 scalars_.beta,
                 workspace.address(),
                 fusion_.bias == Bias::none ? 0 : bias.address()});
    return complaint(c.image());
  }

 private:
  std::string complaint(const std::vector<char>& image) const {
    const test::Sums sums = test::multiply(problem_, a_, b_);
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        const FormatTraits& format = traits(problem_.precision).c;
        const double before = before_activation(sums, row, column);
        const double expected = activated(before);
        const double actual = test::decode(format.format, c_.bits(image, row, column));
        const bool is_exact = fusion_.activation != Activation::gelu;
        const double most = is_exact ? 0 : format.roundoff * std::abs(expected) + 2e-7 * std::abs(before);
        if (std::abs(actual - (is_exact ? test::rounded(format, expected) : expected)) <= most) continue;
        return fmt::format("C[{},{}] is {}, should be {}", row, column, actual, expected);
      }
    }
    return c_.gaps_intact(image) ? "" : "elements outside of C were written";
  }

  double before_activation(const test::Sums& sums, std::int64_t row, std::int64_t column) const {
    double value = problem_.k == 0 ? 0 : scalars_.alpha * sum(sums, row, column);
    if (scalars_.beta != 0) value += scalars_.beta * c_.at(row, column);
    if (fusion_.bias != Bias::none) value += bias_.at(0, fusion_.bias == Bias::per_row ? row : column);
    return value;
  }

  double sum(const test::Sums& sums, std::int64_t row, std::int64_t column) const {
    const double value = sums.value[static_cast<std::size_t>(row * problem_.n + column)];
    if (!traits(problem_.precision).accumulator.integer) return value;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }

  double activated(double x) const {
    if (fusion_.activation == Activation::relu) return std::max(x, 0.0);
    return fusion_.activation == Activation::gelu ? x * std::erfc(-x * std::sqrt(0.5)) / 2 : x;
  }

  Scalars scalars_;
  Fusion fusion_;
  Problem problem_;
  test::HostMatrix a_, b_, c_, bias_;
};

struct Case {
  std::string_view family;
  Precision precision;
  Layout layout;
  std::string_view settings;  ///< that are not the default
  Fusion fusion;
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.family << ' ' << to_string(of.precision) << ' ' << to_string(of.layout) << ' ' << of.settings << ", "
             << to_string(of.fusion);
}

std::vector<Fusion> all_fusions() {
  std::vector<Fusion> all;
  for (const Activation activation : kAllActivations) {
    for (const Bias bias : kAllBiases) {
      if (!Fusion{activation, bias}.is_empty()) all.push_back({activation, bias});
    }
  }
  return all;
}

/// Every way to store results with a bias either way, and all epilogues with one of them.
std::vector<Case> cases() {
  constexpr auto kFp32 = Precision::fp32, kFp64 = Precision::fp64, kFp16 = Precision::fp16;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  constexpr Fusion kRows{Activation::gelu, Bias::per_row}, kColumns{Activation::relu, Bias::per_column};
  struct Kernel {
    std::string_view family;
    Precision precision;
    Layout layout;
    std::string_view settings;
  };
  constexpr Kernel kKernels[] = {
      {"naive", kFp32, kNn, "MAPPING=3 BX=8 BY=4 COARSE=4"},
      {"reference", kFp32, kTt, ""},
      {"tiled", kFp64, kTn, "TILE=16"},
      {"tiled_coarsened", kFp16, kNt, "TILE=8 CM=1 CN=2"},
      {"simt", kFp32, kNt, "BM=32 BN=32 TM=4 TN=4 SPLIT=4"},
      {"simt", kFp32, kTn, "BM=32 BN=32 TM=4 TN=4 SPLIT=4 REDUCE=1"},
      {"simt", kFp32, kTt, "STREAM=1 BM=32 TM=4"},
      {"skinny", kFp32, kNn, "SIDE=0 FEW=4 OWN=2 UNROLL=2 WARPS=4 WARPS_K=2 SPLIT=4"},
      {"skinny", kFp32, kNt, "SIDE=1 FEW=8 OWN=2 UNROLL=1 WARPS=4 WARPS_K=2"},
      {"mma_sync", Precision::bf16, kTn, ""},
      {"mma_sync", kFp16, kTt, "BM=64 BN=32 BK_BYTES=128 WM=32 WN=16 STAGES=3 SPLIT=4"},
      {"wgmma", kFp16, kNn, ""},
  };
  std::vector<Case> cases;
  for (const auto& [family, precision, layout, settings] : kKernels) {
    for (const Fusion& fusion : {kRows, kColumns}) cases.push_back({family, precision, layout, settings, fusion});
  }
  for (const Fusion& fusion : all_fusions()) cases.push_back({"simt", kFp32, kNn, "BM=32 BN=32 TM=4 TN=4", fusion});
  for (const Fusion& fusion : {kColumns, Fusion{Activation::none, Bias::per_row}}) {
    cases.push_back({"simt", Precision::int32, kNn, "BM=32 BN=32 TM=4 TN=4", fusion});
    cases.push_back({"mma_sync", Precision::int8, kNt, "", fusion});
  }
  return cases;
}

class EpilogueOnTheHost : public testing::TestWithParam<Case> {};

TEST_P(EpilogueOnTheHost, IsComputedBeforeTheRounding) {
  const auto& [name, precision, layout, settings, fusion] = GetParam();
  const Family& family = family_named(name);
  const Config config = family.with_defaults(family.parse(settings), packed_problem(precision, layout, 16, 64, 64));
  std::map<std::string, Program> programs;
  int runs = 0;
  for (const Scene& scene : kScenes) {
    const FusedProduct product(scene, precision, layout, fusion);
    const Problem& problem = product.problem();
    if (!family.broken_rule(problem, config, device()).empty()) continue;
    const LaunchPlan plan = family.plan(problem, config, device());
    const Source source = render(kernel_sources(), family, problem, config, plan, compute_capability(device()), fusion);
    if (const std::string beyond = beyond_the_host(source, kernel_sources()); !beyond.empty()) GTEST_SKIP() << beyond;
    auto program = programs.find(source.hash);
    if (program == programs.end()) {
      program = programs.emplace(source.hash, Program(source, plan, kernel_sources())).first;
    }
    const auto order = static_cast<Order>(runs++ % 3);
    EXPECT_EQ(product.complaint_after(plan.workspace.bytes(),
                                      [&](const Operands& operands) {
                                        launch(program->second, plan, problem, operands, order, scene.what);
                                      }),
              "")
        << scene.what;
  }
  EXPECT_GE(runs, 3) << "not every order of threads was seen";
}

INSTANTIATE_TEST_SUITE_P(Kernels, EpilogueOnTheHost, testing::ValuesIn(cases()), [](const auto& instance) {
  return fmt::format("{}_{}_{}_{}", instance.param.family, to_string(instance.param.precision),
                     to_string(instance.param.layout), instance.index);
});

TEST(EpilogueAfterTheProduct, IsThatOfOneKernelWhereTheProductIsNotRounded) {
  const Family& family = family_named("naive");
  for (const Fusion& fusion : all_fusions()) {
    for (const Scene& scene : kScenes) {
      const FusedProduct product(scene, Precision::fp32, Layout::nn, fusion);
      const Problem& problem = product.problem();
      const Config config = family.default_config(problem);
      const int capability = compute_capability(device());
      const LaunchPlan plain = family.plan(problem, config, device()), finish = finish_plan(problem);
      EXPECT_EQ(plan_fault(finish), "");
      const Source source = render(kernel_sources(), family, problem, config, plain, capability);
      const Source second = render_finish(kernel_sources(), problem, capability, fusion);
      static std::map<std::string, Program> programs;
      const auto program = [&](const Source& of, const LaunchPlan& plan) -> const Program& {
        const auto found = programs.find(of.hash);
        if (found != programs.end()) return found->second;
        return programs.emplace(of.hash, Program(of, plan, kernel_sources())).first->second;
      };
      EXPECT_EQ(product.complaint_after(
                    plain.workspace.bytes(),
                    [&](const Operands& operands) {
                      launch(program(source, plain), plain, problem, operands, Order::forward, scene.what);
                      launch(program(second, finish), finish, problem, operands, Order::forward, scene.what);
                    }),
                "")
          << scene.what << ", " << to_string(fusion);
    }
  }
}

}  // namespace
}  // namespace mmtune::shim
