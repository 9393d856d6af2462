#include <gmock/gmock.h>
#include <mmtune/blas.h>
#include <mmtune/mmtune_c.h>

#include <thread>

#include "tests/api/c_program.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;
using testing::StrEq;

class CApi : public test::ApiTest {
 protected:
  void SetUp() override {
    offer(Precision::fp64);
    ASSERT_EQ(mmtune_open(nullptr, &library_), MMTUNE_OK) << mmtune_last_error();
  }
  void TearDown() override { mmtune_close(library_); }

  mmtune_library* library_ = nullptr;
};

TEST_F(CApi, AProgramInCMultiplies) {
  const auto a = test::numbers<double>(15, 1), b = test::numbers<double>(20, 2);
  std::vector<double> c(12, 7);
  EXPECT_EQ(multiply_in_c(3, 4, 5, a.data(), b.data(), c.data()), 0);
  const Gemm call{
      .precision = Precision::fp64, .m = 3, .n = 4, .k = 5, .a = a.data(), .lda = 5, .b = b.data(), .ldb = 4, .ldc = 4};
  EXPECT_EQ(c, test::expected(call, std::vector<double>(12, 7)));
}

TEST_F(CApi, EveryMemberReachesTheCall) {
  const auto a = test::numbers<double>(900, 1), b = test::numbers<double>(900, 2),
             before = test::numbers<double>(900, 3);
  std::vector<double> c = before;
  mmtune_call call = MMTUNE_CALL_INIT;
  call.precision = MMTUNE_FP64;
  call.order = MMTUNE_COLUMN_MAJOR;
  call.transpose_b = MMTUNE_TRANSPOSE;
  call.m = 3, call.n = 4, call.k = 5;
  call.alpha = 3, call.beta = -2;
  call.a = a.data(), call.lda = 6;
  call.b = b.data(), call.ldb = 7;
  call.c = c.data(), call.ldc = 8;
  call.batch = 2;
  call.stride_a = 200, call.stride_b = 300, call.stride_c = 400;
  int stream = 0;
  ASSERT_EQ(mmtune_gemm(library_, &call, &stream), MMTUNE_OK) << mmtune_last_error();
  EXPECT_EQ(test::fake_cuda().last_stream, &stream);

  Gemm one{.precision = Precision::fp64,
           .layout = Layout::nt,
           .m = 3,
           .n = 4,
           .k = 5,
           .alpha = 3,
           .a = a.data(),
           .lda = 6,
           .b = b.data(),
           .ldb = 7,
           .beta = -2,
           .ldc = 8,
           .order = Order::column_major};
  std::vector<double> wanted = test::expected(one, before);
  one.a = a.data() + 200;
  one.b = b.data() + 300;
  const auto second = test::expected(one, std::vector<double>(before.begin() + 400, before.end()));
  std::copy(second.begin(), second.end(), wanted.begin() + 400);
  EXPECT_EQ(c, wanted);

  std::vector<double> again = before;
  const void* as[] = {a.data(), a.data() + 200};
  const void* bs[] = {b.data(), b.data() + 300};
  void* cs[] = {again.data(), again.data() + 400};
  ASSERT_EQ(mmtune_gemm_pointers(library_, &call, as, bs, cs, 2, nullptr), MMTUNE_OK) << mmtune_last_error();
  EXPECT_EQ(again, wanted);
}

TEST_F(CApi, ALibraryLearnsIfAskedTo) {
  offer(database(), {packed_problem(Precision::fp64, Layout::nn, 32, 32, 32), "naive", "UNROLL=2", 1});
  std::vector<double> memory(100);
  mmtune_call call = MMTUNE_CALL_INIT;
  call.precision = MMTUNE_FP64;
  call.m = call.n = call.k = 5;
  call.a = call.b = call.c = memory.data();
  for (const int learn : {0, 1}) {
    mmtune_options options = MMTUNE_OPTIONS_INIT;
    options.learn = learn;
    mmtune_library* library = nullptr;
    ASSERT_EQ(mmtune_open(&options, &library), MMTUNE_OK) << mmtune_last_error();
    ASSERT_EQ(mmtune_gemm(library, &call, nullptr), MMTUNE_OK) << mmtune_last_error();
    EXPECT_EQ(test::fake_cuda().events > 0, learn == 1);
    mmtune_close(library);
    EXPECT_EQ(test::fake_cuda().events, 0);
  }
}

TEST_F(CApi, ExplainsAndCountsWorkspace) {
  mmtune_call call = MMTUNE_CALL_INIT;
  call.precision = MMTUNE_FP64;
  call.m = call.n = call.k = 100;
  mmtune_answer answer = MMTUNE_ANSWER_INIT;
  ASSERT_EQ(mmtune_explain(library_, &call, &answer), MMTUNE_OK);
  EXPECT_EQ(answer.match, MMTUNE_NEAREST);
  EXPECT_THAT(answer.family, StrEq("naive"));
  EXPECT_THAT(answer.why, HasSubstr("nearest tuned size is fp64 nn 1x1x1"));
  EXPECT_GT(answer.expected_us, 0);
  EXPECT_EQ(answer.cublas_ratio, 0);
  std::size_t bytes = 1;
  ASSERT_EQ(mmtune_workspace_bytes(library_, &call, &bytes), MMTUNE_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(mmtune_prepare(library_, &call, 1, nullptr), MMTUNE_OK) << mmtune_last_error();
}

TEST_F(CApi, MessagesAreOneShortPrintableLine) {
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  const std::string model = "h2\n\x1b[31m00" + std::string(1 << 20, 'x');
  options.model = model.c_str();
  mmtune_library* library = nullptr;
  EXPECT_EQ(mmtune_open(&options, &library), MMTUNE_USAGE_ERROR);
  const std::string text = mmtune_last_error();
  EXPECT_THAT(text, HasSubstr("h2\\x0a\\x1b[31m00xxx"));
  EXPECT_THAT(text, HasSubstr("xxx … xxx"));
  EXPECT_LE(text.size(), 2000u);
}

TEST_F(CApi, NowhereToPutALibraryOpensNone) {
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  options.model = "no such GPU";  // Opening a library would complain about this name.
  EXPECT_EQ(mmtune_open(&options, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), StrEq("library: null pointer"));
  const int before = test::fake_cuda().devices.exchange(0);
  EXPECT_EQ(mmtuneCreate(nullptr), MMTUNE_USAGE_ERROR) << "not for want of a GPU";
  test::fake_cuda().devices = before;
  EXPECT_THAT(mmtune_last_error(), StrEq("handle: null pointer"));
}

TEST_F(CApi, WhatIsWrongIsAStatusAndAMessage) {
  mmtune_call call = MMTUNE_CALL_INIT;
  call.m = -1;
  EXPECT_EQ(mmtune_gemm(library_, &call, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("m = -1"));
  std::thread([] { EXPECT_THAT(mmtune_last_error(), StrEq("")) << "each thread has its own"; }).join();
  EXPECT_EQ(mmtune_gemm(nullptr, &call, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("library: null pointer"));
  EXPECT_EQ(mmtune_gemm(library_, nullptr, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_EQ(mmtune_open(nullptr, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_EQ(mmtune_prepare(library_, nullptr, 1, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), StrEq("calls: null pointer"));
  call = MMTUNE_CALL_INIT;
  call.transpose_a = 9;
  EXPECT_EQ(mmtune_gemm(library_, &call, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("transpose_a = 9"));
  call = MMTUNE_CALL_INIT;
  call.m = call.n = call.k = 4;
  call.a = call.b = call.c = &call;
  EXPECT_EQ(mmtune_gemm(library_, &call, nullptr), MMTUNE_NOTHING_TO_RUN) << "nothing is stored for fp32";
  EXPECT_THAT(mmtune_last_error(), HasSubstr("prepare()"));

  mmtune_options options = MMTUNE_OPTIONS_INIT;
  options.device = 5;
  mmtune_library* none = library_;
  EXPECT_EQ(mmtune_open(&options, &none), MMTUNE_DEVICE_ERROR);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApi, StructsOfOtherVersionsAreToldApart) {
  mmtune_call call = MMTUNE_CALL_INIT;
  call.struct_size = 8;
  EXPECT_EQ(mmtune_gemm(library_, &call, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("struct_size = 8"));
  call.struct_size = sizeof(call) + 8;
  EXPECT_EQ(mmtune_gemm(library_, &call, nullptr), MMTUNE_USAGE_ERROR);
  EXPECT_THAT(mmtune_last_error(), HasSubstr("newer"));

  call = MMTUNE_CALL_INIT;
  call.precision = MMTUNE_FP64;
  mmtune_answer answer = MMTUNE_ANSWER_INIT;
  answer.struct_size = offsetof(mmtune_answer, cublas_ratio);
  answer.cublas_ratio = 7;
  EXPECT_EQ(mmtune_explain(library_, &call, &answer), MMTUNE_OK) << mmtune_last_error();
  EXPECT_EQ(answer.struct_size, offsetof(mmtune_answer, cublas_ratio));
  EXPECT_EQ(answer.cublas_ratio, 7) << "an older program has no such member";
}

TEST_F(CApi, SaysItsVersionAndStatuses) {
  EXPECT_THAT(mmtune_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(mmtune_status_text(MMTUNE_DEVICE_LOST), StrEq("device lost"));
  EXPECT_THAT(mmtune_status_text(99), StrEq("unknown status"));
}

}  // namespace
}  // namespace mmtune
