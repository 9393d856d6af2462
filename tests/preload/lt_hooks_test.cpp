// What cublasLtMatmul does that the stand-in has.
#include <utility>

#include "tests/preload/hooks.h"

namespace mmtune {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the fixture and its numbers

/// Descriptors of kM x kN x kK in fp32.
class LtHooks : public Hooks {
 protected:
  using Attributes = std::vector<std::pair<int, std::int64_t>>;

  void* descriptor(const Attributes& attributes) {
    owned_.push_back(fake_cublas_descriptor());
    for (const auto& [attribute, value] : attributes) fake_cublas_set(owned_.back(), attribute, value);
    return owned_.back();
  }
  void* layout(int rows, int columns, int type = kR32F) {
    return descriptor({{kLayoutType, type},
                       {kLayoutRows, rows},
                       {kLayoutColumns, columns},
                       {kLayoutLd, rows},
                       {kLayoutBatchCount, 1}});
  }
  void TearDown() override {
    for (void* each : owned_) fake_cublas_free(each);
    Hooks::TearDown();
  }

  std::vector<void*> owned_;
  void* plain_ = descriptor({{kDescComputeType, kCompute32F},
                             {kDescFillMode, kFillFull},
                             {kDescEpilogue, kEpilogueNone},
                             {kDescBiasType, -1}});

  Status matmul(const float* c = nullptr, void* workspace = nullptr) {
    return cublasLtMatmul(handle_, plain_, &alpha_, a_.data(), a_layout_, b_.data(), b_layout_, &beta_,
                          c != nullptr ? c : c_.data(), d_layout_, c_.data(), d_layout_, nullptr, workspace, 0,
                          nullptr);
  }

  void* a_layout_ = layout(kM, kK);
  void* b_layout_ = layout(kK, kN);
  void* d_layout_ = layout(kM, kN);
};

TEST_F(LtHooks, APlainProductIsServedInPlaceOrWithoutC) {
  expect_served("cublasLtMatmul", matmul());
  expect_passed("cublasLtMatmul", matmul(b_.data()));
  beta_ = 0;
  expect_served("cublasLtMatmul", matmul(b_.data()));
}

TEST_F(LtHooks, WhatMmtuneDoesNotDoIsPassedOn) {
  const auto with = [&](void* descriptor, int attribute, std::int64_t value, std::int64_t before) {
    fake_cublas_set(descriptor, attribute, value);
    expect_passed("cublasLtMatmul", matmul());
    fake_cublas_set(descriptor, attribute, before);
  };
  for (const auto epilogue : {kEpilogueGelu, kEpilogueGeluBias, kEpilogueRelu | 128}) {
    with(plain_, kDescEpilogue, epilogue, kEpilogueNone);
  }
  with(plain_, kDescEpilogue, kEpilogueBias, kEpilogueNone);  // There is no vector.
  with(plain_, kDescPointerMode, 1, 0);
  with(plain_, kDescScaleType, kR64F, kR32F);
  with(plain_, kDescSmCountTarget, 100, 0);
  with(plain_, kDescFillMode, 0, kFillFull);
  with(a_layout_, kLayoutOrder, 1, 0);
  with(b_layout_, kLayoutRows, kK + 1, kK);
  with(d_layout_, kLayoutBatchCount, 2, 1);
  for (void* const layout : {a_layout_, b_layout_, d_layout_}) with(layout, kLayoutBatchMode, 1, 0);
  expect_served("cublasLtMatmul", matmul());
}

TEST_F(LtHooks, ABiasAndReluAreCompiledOnce) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  const auto bias = reinterpret_cast<std::int64_t>(b_.data());
  fake_cublas_set(plain_, kDescBias, bias);
  for (const auto epilogue : {kEpilogueRelu, kEpilogueBias, kEpilogueReluBias}) {
    fake_cublas_set(plain_, kDescEpilogue, epilogue);
    expect_served("cublasLtMatmul", matmul());
    const int programs = test::fake_cuda().loaded_programs;
    expect_served("cublasLtMatmul", matmul());
    EXPECT_EQ(test::fake_cuda().loaded_programs, programs);
  }
}

}  // namespace
}  // namespace mmtune
