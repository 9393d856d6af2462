// Tensor maps on the simulated machine: boxes of three dimensions, swizzled as the PTX ISA has it, with zeros beyond
// the tensor; and what a kernel gets wrong about them.
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <vector>

#include "tests/shim/launch.h"
#include "tests/shim/product.h"
#include "tests/tensor_map_toy.h"

namespace mmtune::shim {
namespace {

using test::TensorMapToy;

/// Matrices of the toy: the last rows are less than a block's, the last columns of C are not in A.
class ToyRun {
 public:
  explicit ToyRun(const TensorMapToy& toy)
      : problem_(packed_problem(Precision::fp32, Layout::nn, 67, TensorMapToy::kPieces * toy.columns() - 3,
                                (TensorMapToy::kPieces - 2) * toy.columns())),
        plan_(toy.plan(problem_)),
        text_(toy.text()) {}

  LaunchPlan& plan() { return plan_; }
  void replace(std::string_view original, std::string_view by) {
    text_.replace(text_.find(original), original.size(), by);
  }

  /// What is wrong with C, or nothing.
  std::string run(Order order) const {
    const Program program({"toy", text_, ""}, plan_, kernel_sources());
    const FormatTraits& format = traits(Precision::fp32).a;
    const test::HostMatrix a(format, stored_a(problem_), {.padding = 4}, test::Values::random, 1);
    const test::HostMatrix c(format, stored_c(problem_), {.padding = 1}, test::Values::nan, 2);
    const MatrixMemory memory_a(a), memory_c(c);
    const Operands operands{memory_a.address(), memory_a.address(), memory_c.address(), {a.ld(), problem_.n, c.ld()}};
    launch(program, plan_, problem_, operands, order, "toy");
    const std::vector<char> image = memory_c.image();
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        const double expected = column < problem_.k ? a.at(row, column) : 0;
        const double is = test::decode(format.format, c.bits(image, row, column));
        if (is != expected) return fmt::format("C[{},{}] is {}, should be {}", row, column, is, expected);
      }
    }
    return c.gaps_intact(image) ? "" : "elements outside of C were written";
  }

 private:
  Problem problem_;
  LaunchPlan plan_;
  std::string text_;
};

class TensorMaps : public testing::TestWithParam<int> {};

TEST_P(TensorMaps, BringBoxesOfThreeDimensions) {
  const ToyRun toy({.swizzle_bytes = GetParam()});
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    EXPECT_EQ(toy.run(order), "") << to_string(order);
  }
}

TEST_P(TensorMaps, BringNanBeyondTheTensorWhereTheMapSaysSo) {
  ToyRun toy({.swizzle_bytes = GetParam()});
  toy.plan().maps[0].fills_with_nan = true;
  EXPECT_NE(toy.run(Order::forward).find("nan, should be 0"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Swizzles, TensorMaps, testing::Values(0, 32, 64, 128));

TEST(BrokenTensorMaps, AreWrongWhereTheKernelDoesNotUndoTheSwizzle) {
  for (const int bytes : {32, 64, 128}) {
    ToyRun toy({.swizzle_bytes = bytes});
    toy.replace("chunk ^=", "chunk ^= 0 *");
    EXPECT_NE(toy.run(Order::forward), "") << bytes;
  }
}

/// What a broken toy reports.
void expect_report(std::string_view original, std::string_view broken, const char* report) {
  ToyRun toy({});
  toy.replace(original, broken);
  EXPECT_EXIT(
      {
        toy.run(Order::forward);
        _exit(0);
      },
      testing::ExitedWithCode(1), report);
}

TEST(BrokenTensorMaps, KeepABarrierFromBringingItsBytes) {
  expect_report("barrier_expect(full, 2 * BOX_BYTES)", "barrier_expect(full, 3 * BOX_BYTES)", "wait for ever: ");
  expect_report("barrier_expect(full, 2 * BOX_BYTES)", "barrier_expect(full, BOX_BYTES)", "before its bulk copies");
}

TEST(BrokenTensorMaps, HaveAnotherNumberOfDimensionsThanTheCopy) {
  expect_report("&map, full, 0, row, 0)", "&map, full, 0, row)", "another number of coordinates");
}

TEST(BrokenTensorMaps, AreAFaultOfThePlan) {
  ToyRun toy({});
  toy.plan().maps[0].dimensions[1].box = 257;
  EXPECT_THROW(toy.run(Order::forward), Error);
}

}  // namespace
}  // namespace mmtune::shim
