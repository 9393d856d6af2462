// Orders of memory, transpositions and batches, by what calls compute.
#include <gmock/gmock.h>

#include <array>

#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

// Where one changes, so must MMTUNE_CXX_… of cmake/libmmtune.map.
static_assert(sizeof(LibraryOptions) == 80 && sizeof(Gemm) == 192 && sizeof(GemmPointers) == 48);
static_assert(sizeof(Answer) == 128);

class Calls : public test::ApiTest {
 protected:
  void SetUp() override {
    offer(Precision::fp32);
    library_.emplace(Library::open());
  }

  std::string error_of(const Gemm& call) {
    try {
      library_->plan(call);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  std::vector<float> a_ = test::numbers<float>(4000, 1), b_ = test::numbers<float>(4000, 2),
                     c_ = test::numbers<float>(4000, 3);
  std::optional<Library> library_;
};

TEST_F(Calls, EveryOrderAndLayoutGivesTheProduct) {
  for (const Order order : {Order::row_major, Order::column_major}) {
    for (const Layout layout : kAllLayouts) {
      std::vector<float> c = c_;
      const Gemm call{.layout = layout,
                      .m = 5,
                      .n = 7,
                      .k = 3,
                      .alpha = 2,
                      .a = a_.data(),
                      .lda = 9,
                      .b = b_.data(),
                      .ldb = 10,
                      .beta = -1,
                      .c = c.data(),
                      .ldc = 11,
                      .order = order};
      library_->gemm(call, nullptr);
      EXPECT_EQ(c, test::expected(call, c_)) << to_string(layout) << ' ' << static_cast<int>(order);
    }
  }
}

TEST_F(Calls, ColumnMajorLeadingDimensionsAreThoseOfColumns) {
  Gemm call{.m = 5, .n = 7, .k = 3, .lda = 4, .order = Order::column_major};
  EXPECT_THAT(error_of(call), HasSubstr("lda = 4: less than the 5 elements of a stored column"));
  call.lda = 5;
  call.ldb = 2;
  EXPECT_THAT(error_of(call), HasSubstr("ldb = 2"));
  call.ldb = 3;
  call.ldc = 4;
  EXPECT_THAT(error_of(call), HasSubstr("ldc = 4"));
  call.ldc = 5;
  EXPECT_EQ(error_of(call), "");
  call.order = static_cast<Order>(2);
  EXPECT_THAT(error_of(call), HasSubstr("order = 2"));
}

TEST_F(Calls, WhatIsPlannedOfIntegersHasWholeNumbers) {
  Gemm call{.precision = Precision::int8, .m = 5, .n = 7, .k = 3, .alpha = 0.5};
  EXPECT_THAT(error_of(call), HasSubstr("alpha = 0.5: int8 products need a 32-bit integer"));
  call.alpha = -3;
  call.beta = 1e10;
  EXPECT_THAT(error_of(call), HasSubstr("beta = 1"));
  call.device_alpha = call.device_beta = a_.data();
  EXPECT_EQ(error_of(call), "") << "those of the host do not count";
}

TEST_F(Calls, AStridedBatchIsOneProductAfterTheOther) {
  for (const Order order : {Order::row_major, Order::column_major}) {
    std::vector<float> c = c_, wanted = c_;
    Gemm call{.m = 4,
              .n = 6,
              .k = 5,
              .a = a_.data(),
              .lda = 7,
              .b = b_.data(),
              .ldb = 8,
              .beta = 1,
              .c = c.data(),
              .ldc = 9,
              .order = order,
              .batch = 3,
              .stride_a = 100,
              .stride_b = 0,
              .stride_c = 60};
    const int before = test::fake_cuda().launches;
    library_->enqueue(call, nullptr);
    EXPECT_EQ(test::fake_cuda().launches - before, 3);
    for (int i = 0; i < 3; ++i) {
      Gemm one = call;
      one.a = a_.data() + i * 100;
      std::vector<float> rest(wanted.begin() + i * 60, wanted.end());
      rest = test::expected(one, rest);
      std::copy(rest.begin(), rest.end(), wanted.begin() + i * 60);
    }
    EXPECT_EQ(c, wanted);
  }
}

TEST_F(Calls, ABatchOfPointersUsesEachOfThem) {
  std::vector<float> c = c_, wanted = c_;
  const std::array<const void*, 2> as{a_.data() + 50, a_.data()}, bs{b_.data(), b_.data() + 3};
  const std::array<void*, 2> cs{c.data() + 100, c.data()};
  const Gemm shape{.m = 4, .n = 6, .k = 5, .lda = 5, .ldb = 6, .ldc = 6};
  library_->enqueue(shape, {as, bs, cs}, nullptr);
  for (int i = 0; i < 2; ++i) {
    Gemm one = shape;
    one.a = as.at(i);
    one.b = bs.at(i);
    const std::int64_t begin = static_cast<float*>(cs.at(i)) - c.data();
    std::vector<float> rest(wanted.begin() + begin, wanted.end());
    rest = test::expected(one, rest);
    std::copy(rest.begin(), rest.end(), wanted.begin() + begin);
  }
  EXPECT_EQ(c, wanted);
  EXPECT_THROW(library_->enqueue(shape, {std::span(as).first(1), bs, cs}, nullptr), UsageError);
  const std::array<void*, 2> with_null{c.data(), nullptr};
  EXPECT_THROW(library_->enqueue(shape, {as, bs, with_null}, nullptr), UsageError);
}

TEST_F(Calls, ABatchIsAsAlignedAsItsLeastAlignedProduct) {
  Gemm call{.m = 64, .n = 64, .k = 64, .batch = 2, .stride_a = 64 * 64 + 2, .stride_b = 0, .stride_c = 64 * 64};
  EXPECT_EQ(library_->workspace_bytes(call), 0u);
  // A kernel for 16 bytes would serve the first product, and read the second wrongly.
  EXPECT_THAT(library_->plan(call).why, HasSubstr("nearest tuned size"));
}

TEST_F(Calls, BatchesThatMakeNoSenseAreNamed) {
  Gemm call{.m = 4, .n = 6, .k = 5, .batch = -1};
  EXPECT_THAT(error_of(call), HasSubstr("batch = -1"));
  call.batch = 2;
  EXPECT_THAT(error_of(call), HasSubstr("stride_c = 0: the 2 products would overlap"));
  call.stride_c = 23;
  EXPECT_THAT(error_of(call), HasSubstr("stride_c = 23"));
  call.stride_c = 24;
  EXPECT_EQ(error_of(call), "");
  call.stride_c = 6, call.ldc = 12;
  EXPECT_EQ(error_of(call), "") << "beside each other";
  call.stride_a = -5;
  EXPECT_THAT(error_of(call), HasSubstr("stride_a = -5"));
  call.stride_a = std::int64_t{1} << 62;
  EXPECT_THAT(error_of(call), HasSubstr("stride_a = "));
}

TEST_F(Calls, AnEmptyBatchDoesNothing) {
  const int before = test::fake_cuda().launches;
  EXPECT_EQ(library_->gemm({.m = 4, .n = 4, .k = 4, .batch = 0}, nullptr).family, "");
  library_->enqueue({.m = 4, .n = 4, .k = 4}, GemmPointers{}, nullptr);
  EXPECT_EQ(test::fake_cuda().launches, before);
}

TEST(Precisions, AAndBHaveOneFormat) {
  for (const Precision precision : kAllPrecisions) {
    if (precision == Precision::bf16_x_fp32) continue;  // the test Blas.FactorsOfTwoTypesAreExchanged
    EXPECT_EQ(traits(precision).a.format, traits(precision).b.format) << "column-major calls exchange A and B";
  }
}

}  // namespace
}  // namespace mmtune
