// Calls with an epilogue: which programs run, when they are compiled, and what is refused. What such programs compute
// is tested in tests/shim and on GPUs.
#include <gmock/gmock.h>
#include <mmtune/mmtune_c.h>

#include <array>
#include <cstddef>

#include "runtime/call/gemm_call.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Epilogue kRelu{.activation = Activation::relu};

/// Memory that holds all operands of a small call.
class Memory {
 public:
  Gemm call(std::int64_t size, Epilogue epilogue = kRelu) {
    if (epilogue.bias != Bias::none) epilogue.bias_vector = values_.data();
    return {.m = size,
            .n = size,
            .k = size,
            .a = values_.data(),
            .b = values_.data(),
            .c = values_.data(),
            .epilogue = epilogue};
  }

 private:
  std::vector<float> values_ = std::vector<float>(100 * 100);
};

/// Number of kernels that a call launches.
int launches_of(Library& library, const Gemm& call) {
  const int before = test::fake_cuda().launches;
  library.enqueue(call, CU_STREAM_PER_THREAD);
  return test::fake_cuda().launches - before;
}

class EpilogueCalls : public test::ApiTest {
 protected:
  /// What a call throws, or nothing.
  static std::string refusal(const Gemm& call, CallPurpose purpose = CallPurpose::run) {
    try {
      check_call(call, purpose);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  Memory memory_;
};

TEST_F(EpilogueCalls, WithoutAProgramAreRefusedBeforeAnythingIsLaunched) {
  offer(Precision::fp32, Layout::nn);
  Library library = Library::open();
  const int launched = test::fake_cuda().launches;
  try {
    library.enqueue(memory_.call(9, {.activation = Activation::relu, .bias = Bias::per_column}), nullptr);
    FAIL() << "nothing was compiled";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("with bias per column and relu"));
    EXPECT_THAT(error.what(), HasSubstr("prepare()"));
  }
  EXPECT_EQ(test::fake_cuda().launches, launched);
  EXPECT_EQ(launches_of(library, memory_.call(9, {})), 1) << "the plain call runs as ever";
}

TEST_F(EpilogueCalls, WhatMakesNoSenseIsNamed) {
  const auto with = [&](Epilogue epilogue) {
    Gemm call = memory_.call(9, {});
    call.epilogue = epilogue;
    return call;
  };
  alignas(4) char bytes[8];
  EXPECT_EQ(refusal(with({Activation::gelu, Bias::per_row, bytes})), "");
  EXPECT_THAT(refusal(with({static_cast<Activation>(9)})), HasSubstr("epilogue.activation = 9"));
  EXPECT_THAT(refusal(with({Activation::none, static_cast<Bias>(-1)})), HasSubstr("epilogue.bias = -1"));
  EXPECT_THAT(refusal(with({Activation::none, Bias::per_row})), HasSubstr("epilogue.bias_vector: null pointer"));
  EXPECT_EQ(refusal(with({Activation::none, Bias::per_row}), CallPurpose::plan), "");
  EXPECT_THAT(refusal(with({Activation::none, Bias::per_row, bytes + 2})), HasSubstr("not aligned"));
  EXPECT_THAT(refusal(with({Activation::none, Bias::none, bytes})), HasSubstr("epilogue.bias is none"));
  Gemm whole = with({Activation::gelu});
  whole.precision = Precision::int8;
  EXPECT_THAT(refusal(whole), HasSubstr("int8 has integers as results"));
  whole.epilogue = kRelu;
  EXPECT_EQ(refusal(whole), "");
}

TEST_F(EpilogueCalls, ScalarsOnTheDeviceComeInPairs) {
  alignas(8) char bytes[16];
  Gemm call = memory_.call(9, {});
  EXPECT_FALSE(check_call(call, CallPurpose::run).fusion.loads_scalars);
  call.device_beta = bytes + 4;
  EXPECT_THAT(refusal(call), HasSubstr("device_alpha: null pointer"));
  call.device_alpha = bytes;
  EXPECT_EQ(refusal(call), "");
  call.alpha = 0;
  const GemmCall checked = check_call(call, CallPurpose::run);
  EXPECT_TRUE(checked.fusion.loads_scalars);
  EXPECT_EQ(checked.operands.alpha, 1) << "A and B are read, whatever the host's alpha is";
  EXPECT_EQ(checked.operands.beta_address, reinterpret_cast<CUdeviceptr>(bytes + 4));
  call.precision = Precision::fp64;
  EXPECT_THAT(refusal(call), HasSubstr("device_beta = ")) << "a double lies at a multiple of 8";
}

TEST_F(EpilogueCalls, RowsOfAColumnMajorCAreColumnsOfTheRowMajorOne) {
  Gemm call = memory_.call(9, {.bias = Bias::per_row});
  EXPECT_EQ(check_call(call, CallPurpose::run).fusion.bias, Bias::per_row);
  call.order = Order::column_major;
  EXPECT_EQ(check_call(call, CallPurpose::run).fusion.bias, Bias::per_column);
  call.epilogue.bias = Bias::per_column;
  EXPECT_EQ(check_call(call, CallPurpose::run).fusion.bias, Bias::per_row);
}

TEST_F(EpilogueCalls, OfCReachTheLibraryAndOlderStructsHaveNone) {
  offer(Precision::fp32, Layout::nn);
  mmtune_library* library = nullptr;
  ASSERT_EQ(mmtune_open(nullptr, &library), MMTUNE_OK) << mmtune_last_error();
  std::vector<float> memory(100);
  mmtune_call call = MMTUNE_CALL_INIT;
  call.m = call.n = call.k = 4;
  call.a = call.b = call.c = memory.data();
  call.activation = MMTUNE_GELU;
  call.bias = MMTUNE_BIAS_PER_ROW;
  call.bias_vector = memory.data();
  EXPECT_EQ(mmtune_gemm(library, &call, nullptr), MMTUNE_NOTHING_TO_RUN);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("bias per row and gelu"));
  call.struct_size = offsetof(mmtune_call, activation);
  EXPECT_EQ(mmtune_gemm(library, &call, nullptr), MMTUNE_OK) << mmtune_last_error();
  mmtune_close(library);
}

class PreparedEpilogue : public test::ApiTestWith<test::NvrtcTest> {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    for (const auto& [size, config] : {std::pair{8, "MAPPING=2"}, {64, "MAPPING=1"}}) {
      offer(database(), {packed_problem(Precision::fp32, Layout::nn, size, size, size), "naive", config, 1});
    }
  }
  Memory memory_;
};

TEST_F(PreparedEpilogue, RunsInOneKernelOfTheTunedConfiguration) {
  Library library = Library::open();
  const Gemm call = memory_.call(64, {.activation = Activation::gelu, .bias = Bias::per_row});
  EXPECT_EQ(library.plan(call).match, Match::exact);
  library.prepare(std::array{call});
  EXPECT_EQ(launches_of(library, call), 1);
  const Answer answer = library.gemm(call, nullptr);
  EXPECT_EQ(answer.match, Match::exact);
  EXPECT_THAT(answer.config, HasSubstr("MAPPING=1"));
  EXPECT_THAT(answer.why, HasSubstr("compiled with bias per row and gelu"));
  EXPECT_FALSE(answer.measured);
  EXPECT_EQ(library.plan(call).why, answer.why);
  EXPECT_THAT(library.plan(memory_.call(64, {})).why, Not(HasSubstr("gelu"))) << "of the call without";
}

TEST_F(PreparedEpilogue, OtherSizesRunTheSameProgramOrAPlainOneAndASecondKernel) {
  Library library = Library::open();
  library.prepare(std::array{memory_.call(8)});
  EXPECT_EQ(launches_of(library, memory_.call(9)), 1);
  const Gemm other = memory_.call(64);
  EXPECT_EQ(launches_of(library, other), 2);
  EXPECT_THAT(library.gemm(other, nullptr).why, HasSubstr("relu by a second kernel"));
  EXPECT_THROW(library.enqueue(memory_.call(64, {.activation = Activation::gelu}), nullptr), Error)
      << "another epilogue is another program";
  library.prepare(std::array{other});
  EXPECT_EQ(launches_of(library, other), 1);
}

TEST_F(PreparedEpilogue, NothingIsLoadedOrAllocatedAfterPreparing) {
  Library library = Library::open();
  const Gemm call = memory_.call(64);
  library.prepare(std::array{call});
  const int loaded = test::fake_cuda().loaded_programs, allocated = test::fake_cuda().allocations;
  test::fake_cuda().is_capturing = true;
  EXPECT_EQ(launches_of(library, call), 1);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
  EXPECT_EQ(test::fake_cuda().allocations, allocated);
}

TEST_F(PreparedEpilogue, WhileAStreamIsCapturedWhatIsLoadedRuns) {
  Library library = Library::open();
  library.prepare(std::array{memory_.call(64), memory_.call(8, {})});
  const int loaded = test::fake_cuda().loaded_programs;
  test::fake_cuda().is_capturing = true;
  EXPECT_EQ(launches_of(library, memory_.call(8)), 2);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
}

TEST_F(PreparedEpilogue, ACallCompilesIfAllowed) {
  Library library = Library::open({.compile_missing = true});
  const Gemm call = memory_.call(64);
  EXPECT_EQ(launches_of(library, call), 1);
  const int loaded = test::fake_cuda().loaded_programs;
  EXPECT_EQ(launches_of(library, call), 1);
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded);
}

TEST_F(PreparedEpilogue, WhereNothingIsTunedIsCompiledAsWithout) {
  Library library = Library::open({.compile_untuned = true});
  Gemm call = memory_.call(70);
  call.layout = Layout::nt;
  Gemm plain = call;
  plain.epilogue = {};
  EXPECT_EQ(launches_of(library, call), launches_of(library, plain)) << "no second kernel for the epilogue";
  const Answer first = library.gemm(call, nullptr);
  EXPECT_EQ(first.match, Match::predicted);
  EXPECT_NE(first.family, "naive");
  Library other = Library::open();
  other.prepare(std::array{call});
  EXPECT_EQ(other.gemm(call, nullptr).config, first.config);
}

TEST_F(PreparedEpilogue, ScalarsOnTheDeviceTakeAProgramThatLoadsThem) {
  Library library = Library::open();
  const float scalars[] = {2, 3};
  Gemm call = memory_.call(64, {});
  call.device_alpha = &scalars[0];
  call.device_beta = &scalars[1];
  library.prepare(std::array{memory_.call(64), memory_.call(64, {})});
  try {
    library.enqueue(call, CU_STREAM_PER_THREAD);
    FAIL() << "a plain program has no scalars from memory";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("with loaded scalars"));
    EXPECT_THAT(error.what(), HasSubstr("prepare()"));
  }
  const int loaded = test::fake_cuda().loaded_programs;
  library.prepare(std::array{call});
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded + 1) << "and no second kernel";
  EXPECT_EQ(launches_of(library, call), 1);
}

TEST_F(PreparedEpilogue, EveryProductOfABatchHasIt) {
  Library library = Library::open();
  library.prepare(std::array{memory_.call(64)});
  Gemm call = memory_.call(8);
  call.batch = 3;
  call.stride_c = 64;
  EXPECT_EQ(launches_of(library, call), 6);
}

}  // namespace
}  // namespace mmtune
