// Matrices of more than 2^31 elements, where a 32-bit index anywhere would wrap: sampled elements of the result against
// sums on the host.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "tests/runtime/support.h"
#include "tuner/measure/check_kernels.h"

namespace mmtune {
namespace {

constexpr std::int64_t kTall = 65552, kWide = 32784;  // kTall * kWide is above 2^31; both are multiples of 16
static_assert(kTall * kWide > std::int64_t{1} << 31);

class GpuLarge : public test::GpuTest, public testing::WithParamInterface<Problem> {
 protected:
  struct Position {
    std::int64_t row, column;
  };

  const Problem& problem() const { return GetParam(); }

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const auto bytes = [](const StoredShape& shape) {
      return static_cast<std::size_t>(shape.rows * shape.columns) * 4;
    };
    const std::size_t a = bytes(stored_a(problem())), b = bytes(stored_b(problem())), c = bytes(stored_c(problem()));
    std::size_t free = 0, total = 0;
    MMTUNE_CUDA(cuMemGetInfo(&free, &total));
    const std::size_t needed = a + b + c + (std::size_t{1} << 30);
    if (free < needed) GTEST_SKIP() << "needs " << (needed >> 30) << " GiB of " << (free >> 30) << " that are free";
    a_ = DeviceBuffer(a);
    b_ = DeviceBuffer(b);
    c_ = DeviceBuffer(c);
    const CheckKernels kernels(*nvrtc_, target_, problem().precision, problem().layout);
    kernels.fill(Role::a, a_.address(), static_cast<std::int64_t>(a / 4), 1, Fill::whole_numbers, nullptr);
    kernels.fill(Role::b, b_.address(), static_cast<std::int64_t>(b / 4), std::uint64_t{1} << 40, Fill::whole_numbers,
                 nullptr);
    MMTUNE_CUDA(cuCtxSynchronize());
  }

  static float element(const DeviceBuffer& matrix, std::int64_t index) {
    float value = 0;
    MMTUNE_CUDA(cuMemcpyDtoH(&value, matrix.address() + static_cast<CUdeviceptr>(index) * sizeof value, sizeof value));
    return value;
  }

  /// The corners, what lies around element 2^31, and some at random: fewer where sums are long.
  std::vector<Position> positions() const {
    const std::int64_t m = problem().m, n = problem().n, wraps = std::min((std::int64_t{1} << 31) / n, m - 1);
    std::vector<Position> found{{0, 0}, {m - 1, n - 1}, {m - 1, 0}, {wraps, 0}, {wraps, n - 1}};
    std::mt19937_64 random(1);
    for (std::int64_t i = 0; i < 1000 / problem().k; ++i) {
      found.push_back({static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(m)),
                       static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n))});
    }
    return found;
  }

  double expected(Position at) const {
    const auto [m, n, k] = std::tuple(problem().m, problem().n, problem().k);
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int64_t a = transposes_a(problem().layout) ? l * m + at.row : at.row * k + l;
      const std::int64_t b = transposes_b(problem().layout) ? at.column * k + l : l * n + at.column;
      sum += static_cast<double>(element(a_, a)) * element(b_, b);
    }
    return sum;
  }

  void run(const Family& family) const {
    const Config config = family.default_config(problem());
    const LaunchPlan plan = family.plan(problem(), config, device_);
    const Source source =
        render(TemplateFiles::embedded(), family, problem(), config, plan, target_.compute_capability);
    const LoadedKernel kernel(nvrtc_->compile(source, TemplateFiles::embedded(), target_).cubin, plan);
    const DeviceBuffer workspace(static_cast<std::size_t>(plan.workspace.bytes()));
    MMTUNE_CUDA(cuMemsetD8(c_.address(), 0xff, c_.bytes()));
    MMTUNE_CUDA(cuCtxSynchronize());
    launch(kernel, plan, problem(),
           {a_.address(), b_.address(), c_.address(), packed_leading_dimensions(problem()), 1, 0, workspace.address()},
           nullptr);
    MMTUNE_CUDA(cuCtxSynchronize());
  }

  DeviceBuffer a_, b_, c_;
};

TEST_P(GpuLarge, EveryFamilyIndexesWith64Bits) {
  const std::vector<Position> places = positions();
  std::vector<double> sums;
  for (const Position& place : places) sums.push_back(expected(place));
  for (const Family* family : families()) {
    if (!family->broken_rule(problem(), family->default_config(problem()), device_).empty()) continue;
    run(*family);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [row, column] = places[i];
      ASSERT_EQ(element(c_, row * problem().n + column), sums[i])
          << family->name() << " C[" << row << ',' << column << ']';
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GpuLargeMatrices, GpuLarge,
                         testing::Values(packed_problem(Precision::fp32, Layout::nn, kTall, kWide, 4),
                                         packed_problem(Precision::fp32, Layout::nn, kTall, 4, kWide),
                                         packed_problem(Precision::fp32, Layout::tn, kTall, 4, kWide),
                                         packed_problem(Precision::fp32, Layout::nn, 4, kTall, kWide),
                                         packed_problem(Precision::fp32, Layout::nt, 4, kTall, kWide)),
                         [](const auto& instance) {
                           const Problem& problem = instance.param;
                           return std::string(to_string(problem.layout)) + (problem.k == 4   ? "_large_c"
                                                                            : problem.n == 4 ? "_large_a"
                                                                                             : "_large_b");
                         });

}  // namespace
}  // namespace mmtune
