#include "templates/problem/problem.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

TEST(Problem, StoredShapesFollowTheLayout) {
  const Problem nn = packed_problem(Precision::fp32, Layout::nn, 2, 3, 5);
  EXPECT_EQ(packed_leading_dimensions(nn), (LeadingDimensions{5, 3, 3}));
  const Problem tt = packed_problem(Precision::fp32, Layout::tt, 2, 3, 5);
  EXPECT_EQ(packed_leading_dimensions(tt), (LeadingDimensions{2, 5, 3}));
  EXPECT_EQ(stored_a(tt).rows, 5);
  EXPECT_EQ(stored_b(tt).rows, 3);
}

TEST(Problem, PackedAlignmentIsThatOfTheRows) {
  // Rows of A have 6 floats, rows of B and C 7.
  EXPECT_EQ(packed_problem(Precision::fp32, Layout::nn, 8, 7, 6).align, (Alignment{8, 4, 4}));
  EXPECT_EQ(packed_problem(Precision::fp32, Layout::nn, 8, 64, 32).align, (Alignment{16, 16, 16}));
  EXPECT_EQ(packed_problem(Precision::fp16, Layout::nn, 8, 8, 3).align, (Alignment{2, 16, 16}));
  EXPECT_EQ(packed_problem(Precision::fp64, Layout::tn, 3, 2, 4).align, (Alignment{8, 16, 16}));
}

TEST(Problem, AlignmentIsTheWorstOfAddressPitchAndExtent) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 64, 64, 64);
  EXPECT_EQ(alignment_of(problem, {64, 64, 64}, {256, 264, 4}), (Alignment{16, 8, 4}));
  EXPECT_EQ(alignment_of(problem, {66, 65, 68}, {256, 256, 256}), (Alignment{8, 4, 16}));
  // A padded pitch does not help where a vector would straddle the edge of the matrix.
  const Problem odd = packed_problem(Precision::fp32, Layout::nn, 64, 63, 64);
  EXPECT_EQ(alignment_of(odd, {64, 64, 64}, {256, 256, 256}), (Alignment{16, 4, 4}));
}

TEST(Problem, SatisfiesComparesEveryOperand) {
  EXPECT_TRUE(satisfies({16, 8, 4}, {16, 8, 4}));
  EXPECT_FALSE(satisfies({16, 8, 4}, {16, 8, 8}));
}

TEST(Problem, TextNamesAlignmentOnlyWhereItIsLess) {
  EXPECT_EQ(to_string(packed_problem(Precision::bf16, Layout::nt, 1024, 512, 256)), "bf16 nt 1024x512x256");
  EXPECT_EQ(to_string(packed_problem(Precision::fp32, Layout::nn, 8, 7, 6)), "fp32 nn 8x7x6 a8b4c4");
}

TEST(Problem, CountsWorkInDoubleBeyondInt64) {
  const Problem huge = packed_problem(Precision::fp64, Layout::nn, 3000000, 3000000, 3000000);
  EXPECT_DOUBLE_EQ(flops(huge), 2 * 2.7e19);
  EXPECT_DOUBLE_EQ(minimal_bytes(packed_problem(Precision::fp16, Layout::nn, 2, 3, 5)), 2.0 * (10 + 15 + 6));
}

}  // namespace
}  // namespace mmtune
