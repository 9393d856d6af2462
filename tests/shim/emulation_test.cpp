// fp32 on tensor cores with operands of every kind: what planes of fp16 are not fit for goes to the CUDA cores, and all
// results are as precise as fp32's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::HostMatrix;
using test::kInfinity;

constexpr std::int64_t kM = 40, kN = 72;
const std::string kSmall = "BM=64 BN=64 CONSUMERS=1";  // the settings of the least tile of warpgroups

/// Elements of op(A) and op(B), by row and column.
struct Factors {
  const Problem& problem;
  HostMatrix a, b;

  explicit Factors(const Problem& of)
      : problem(of),
        a(traits(of.precision).a, stored_a(of), {}, test::Values::random, 1),
        b(traits(of.precision).b, stored_b(of), {}, test::Values::random, 2) {}

  double& at_a(std::int64_t row, std::int64_t l) { return transposes_a(problem.layout) ? a.at(l, row) : a.at(row, l); }
  double& at_b(std::int64_t l, std::int64_t column) {
    return transposes_b(problem.layout) ? b.at(column, l) : b.at(l, column);
  }

  /// Multiplies by factors that depend on the place, and rounds to fp32.
  void scale(const std::function<double(std::int64_t, std::int64_t)>& of_a,
             const std::function<double(std::int64_t, std::int64_t)>& of_b) {
    for (std::int64_t l = 0; l < problem.k; ++l) {
      for (std::int64_t row = 0; row < kM; ++row) at_a(row, l) = static_cast<float>(at_a(row, l) * of_a(row, l));
      for (std::int64_t column = 0; column < kN; ++column) {
        at_b(l, column) = static_cast<float>(at_b(l, column) * of_b(l, column));
      }
    }
  }
};

double one(std::int64_t, std::int64_t) { return 1; }

/// Ten to a power that differs from place to place, between -most and most.
double power(std::int64_t i, std::int64_t most) { return std::pow(10.0, i * 7919 % (2 * most + 1) - most); }

/// What multiplies, as the step that decides notes it.
enum class By { fp16, bf16, fp32 };

struct Data {
  const char* what;
  std::int64_t k;
  By by;  ///< by warpgroups; warps have no planes of bf16
  void (*make)(Factors&);
};

void from_tiny_to_huge(Factors& f) {
  f.scale([](auto row, auto l) { return (row + l) % 2 == 0 ? 1e-27 : 1e14; }, one);
}

constexpr Data kData[] = {
    {"random numbers", 520, By::fp16, [](Factors&) {}},
    {"two pieces of a row, and a part", 4500, By::fp16, [](Factors&) {}},
    {"few steps", 16, By::fp32, [](Factors&) {}},
    {"rows that differ by 10^12", 300, By::fp16,
     [](Factors& f) {
       f.scale([](auto row, auto) { return power(row, 6); }, [](auto, auto column) { return power(column, 6); });
     }},
    {"rows and columns of zeros", 300, By::fp16,
     [](Factors& f) { f.scale([](auto row, auto) { return row % 3; }, [](auto, auto column) { return column % 4; }); }},
    {"half of A is zero", 520, By::fp16,
     [](Factors& f) { f.scale([](auto row, auto l) { return (row + l) % 2; }, one); }},
    {"magnitudes from 10^-8 to 10^8", 300, By::bf16,
     [](Factors& f) {
       f.scale([](auto row, auto l) { return power(row + 3 * l, 8); },
               [](auto l, auto column) { return power(column + 5 * l, 8); });
     }},
    {"opposed scales", 300, By::bf16,
     [](Factors& f) {
       f.scale([](auto, auto l) { return power(l, 8); }, [](auto l, auto) { return 1 / power(l, 8); });
     }},
    {"a row's large elements meet zeros", 300, By::bf16,
     [](Factors& f) {
       f.scale([](auto, auto l) { return l < 150 ? 1e9 : 1; }, [](auto l, auto) { return l < 150 ? 0 : 1; });
     }},
    {"one element a row", 300, By::bf16,
     [](Factors& f) { f.scale([](auto row, auto l) { return row == l ? 1 : 0; }, one); }},
    {"cancellation", 300, By::fp16,
     [](Factors& f) {
       for (std::int64_t l = 0; l + 1 < 300; l += 2) {
         for (std::int64_t row = 0; row < kM; ++row) f.at_a(row, l + 1) = f.at_a(row, l);
         for (std::int64_t column = 0; column < kN; ++column) f.at_b(l + 1, column) = -f.at_b(l, column);
       }
     }},
    {"numbers from 10^-30 to 10^14", 128, By::bf16, from_tiny_to_huge},
    {"such numbers, a step fewer", 127, By::fp32, from_tiny_to_huge},
    {"one number too small for planes of bf16", 128, By::fp32,
     [](Factors& f) {
       from_tiny_to_huge(f);
       f.at_a(3, 7) = 0x1p-111;
     }},
    {"one number too large for planes of bf16", 128, By::fp32, [](Factors& f) { f.at_b(3, 7) = 0x1p50; }},
    {"subnormal numbers", 300, By::fp32,
     [](Factors& f) { f.scale([](auto, auto) { return 1e-39; }, [](auto, auto) { return 1e30; }); }},
    {"a row of subnormal numbers", 300, By::fp32,
     [](Factors& f) { f.scale([](auto row, auto) { return row == 7 ? 1e-39 : 1; }, [](auto, auto) { return 1e20; }); }},
    {"the largest numbers", 300, By::fp32,
     [](Factors& f) { f.scale([](auto, auto) { return 3e38; }, [](auto, auto) { return 1e-9; }); }},
    {"an infinity", 300, By::fp32, [](Factors& f) { f.at_a(5, 200) = kInfinity; }},
    {"an infinity that meets zeros", 300, By::fp32,
     [](Factors& f) {
       f.scale([](auto, auto) { return 0; }, one);
       f.at_b(299, 71) = -kInfinity;
     }},
    {"a NaN", 300, By::fp32, [](Factors& f) { f.at_b(0, 0) = test::kNan; }},
};

/// B of bf16 times fp32, whose A stays as it is.
const Data kDataOfB[] = {
    {"elements of all sizes", 304, By::fp16,
     [](Factors& f) { f.scale(one, [](auto l, auto column) { return power(l + column, 30); }); }},
    {"the largest numbers", 304, By::fp16,
     [](Factors& f) { f.scale([](auto, auto) { return 0x1p-20; }, [](auto, auto) { return 3.4e38; }); }},
    {"an infinity", 304, By::fp16, [](Factors& f) { f.at_b(299, 71) = -kInfinity; }},
    {"a NaN", 304, By::fp16, [](Factors& f) { f.at_b(0, 0) = test::kNan; }},
    {"an infinity of A that meets numbers of few bits, zero, and an infinity", 304, By::fp16,
     [](Factors& f) {
       f.at_a(5, 200) = -kInfinity;
       for (std::int64_t column = 0; column < kN; ++column) f.at_b(200, column) = column - 60;
       f.at_b(200, 7) = kInfinity;
     }},
};

/// What the step noted that decides, which not every family has.
By what_multiplied(const LaunchPlan& plan, const Memory& workspace) {
  const auto& slices = plan.workspace.slices();
  const auto slice = std::find_if(slices.begin(), slices.end(),
                                  [](const WorkspaceSlice& each) { return each.name == "what multiplies"; });
  if (slice == slices.end()) return By::fp16;
  std::uint32_t word = 0;
  std::memcpy(&word, workspace.data() + slice->offset_bytes, sizeof(word));
  return By{static_cast<int>(word)};
}

void check(const Data& data, const Family& family, Precision precision, Layout layout, const std::string& settings,
           const DeviceSpec& gpu = device()) {
  const Problem problem = packed_problem(precision, layout, kM, kN, data.k);
  const Config config = family.with_defaults(family.parse(settings), problem);
  ASSERT_EQ(family.broken_rule(problem, config, gpu), "");
  const LaunchPlan plan = family.plan(problem, config, gpu);
  const Source source = render(kernel_sources(), family, problem, config, plan, compute_capability(gpu));
  static std::map<std::string, Program> programs;
  if (!programs.contains(source.hash)) programs.emplace(source.hash, Program(source, plan, kernel_sources()));

  Factors factors(problem);
  data.make(factors);
  const HostMatrix result(traits(problem.precision).c, stored_c(problem), {}, test::Values::nan, 3);
  const MatrixMemory a(factors.a), b(factors.b), c(result);
  const Memory workspace(static_cast<std::size_t>(plan.workspace.bytes()));
  const LeadingDimensions ld{factors.a.ld(), factors.b.ld(), result.ld()};
  const Operands operands{a.address(), b.address(), c.address(), ld, 1, 0, workspace.address()};
  launch(programs.at(source.hash), plan, problem, operands, Order::forward, data.what);

  const test::Judge judge(problem, {}, false);
  EXPECT_EQ(test::complaint(judge, test::multiply(problem, factors.a, factors.b), result, c.image()), "");
  const bool is_wide = family.name() != "mma_fp16x3";
  EXPECT_EQ(what_multiplied(plan, workspace), data.by == By::bf16 && !is_wide ? By::fp32 : data.by);
}

/// By instructions of a warpgroup, and by those of a warp on a GPU without clusters.
TEST(EmulationOnTheHost, IsAsPreciseAsFp32ForAllOperands) {
  for (const Data& data : kData) {
    SCOPED_TRACE(data.what);
    check(data, family_named("wgmma_fp16x3"), Precision::fp32_emulated, Layout::nn, kSmall);
    if (data.k > 520) continue;
    check(data, family_named("mma_fp16x3"), Precision::fp32_emulated, Layout::tt, "", catalog_gpu("a100"));
  }
}

TEST(EmulationOnTheHost, TakesFp32ApartWhateverItsSize) {
  for (const Data& data : kDataOfB) {
    SCOPED_TRACE(data.what);
    const Family& family = family_named("wgmma_bf16x3");
    check(data, family, Precision::bf16_x_fp32, Layout::nt, kSmall);
    check(data, family, Precision::bf16_x_fp32, Layout::nt, kSmall + " SWAP=1");
    check(data, family, Precision::bf16_x_fp32, Layout::nn, kSmall + " SPLIT=2");
    check(data, family, Precision::bf16_x_fp32, Layout::nn, kSmall + " SWAP=1 SPLIT=5");
  }
}

}  // namespace
}  // namespace mmtune::shim
