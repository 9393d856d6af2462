// Sizes, layouts and precisions that were never tuned.
#include "runtime/choose/untuned.h"

#include <gmock/gmock.h>

#include <array>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "runtime/base/log.h"
#include "runtime/choose/kernel_model.h"
#include "runtime/choose/nearest.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

TEST(Untuned, EveryPrecisionGetsMoreThanThePlainKernel) {
  const DeviceSpec device = catalog_gpu("h200");
  for (const Precision precision : kAllPrecisions) {
    const Problem problem = packed_problem(precision, Layout::tn, 4096, 4096, 4096);
    const auto choice = untuned_choice(problem, device);
    ASSERT_TRUE(choice) << to_string(problem);
    EXPECT_NE(choice->family->name(), "naive") << to_string(problem);
    EXPECT_TRUE(choice->binary_hash.empty());
    EXPECT_TRUE(satisfies(problem.align, choice->plan.needs));
  }
}

TEST(Untuned, OddLeadingDimensionsAreNoReasonForThePlainKernel) {
  const DeviceSpec device = catalog_gpu("h200");
  Problem problem = packed_problem(Precision::bf16, Layout::nn, 4096, 4096, 4096);
  problem.align = {2, 2, 2};
  const auto choice = untuned_choice(problem, device);
  ASSERT_TRUE(choice);
  EXPECT_NE(choice->family->name(), "naive");
  EXPECT_TRUE(satisfies(problem.align, choice->plan.needs));
}

TEST(Untuned, WhatIsProvenGoesBeforeTheModel) {
  const auto choice =
      untuned_choice(packed_problem(Precision::fp32, Layout::nn, 4096, 4096, 4096), catalog_gpu("h200"));
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->why, HasSubstr("proven elsewhere"));
  EXPECT_EQ(choice->match, Match::predicted);
  EXPECT_GT(choice->expected_us, 0);
}

TEST(Untuned, PrecisionsInWhichKernelsTakeTheSameTimeShareWhatIsProven) {
  const DeviceSpec device = catalog_gpu("h100");
  for (const auto& [m, n, k] : {std::array{64, 37888, 3584}, {512, 51200, 5120}, {1280, 5120, 16384}}) {
    const auto bf16 = untuned_choice(packed_problem(Precision::bf16, Layout::nt, m, n, k), device);
    const auto fp16 = untuned_choice(packed_problem(Precision::fp16, Layout::nt, m, n, k), device);
    ASSERT_TRUE(bf16 && fp16);
    EXPECT_THAT(fp16->why, HasSubstr("proven elsewhere")) << m;
    EXPECT_EQ(fp16->config, bf16->config) << m;
  }
}

TEST(Untuned, OfWhatIsProvenNearByTheModelChooses) {
  const DeviceSpec device = catalog_gpu("h100");
  const Family& family = family_named("wgmma");
  int others = 0;  // the number of sizes at which another than what is proven for the nearest problem is taken
  for (const auto& [m, n, k] :
       {std::array{16, 37888, 3584}, {48, 5120, 6400}, {24, 12800, 5120}, {40, 6144, 4096}, {56, 9216, 2048}}) {
    const Problem problem = packed_problem(Precision::bf16, Layout::nt, m, n, k);
    const auto choice = untuned_choice(problem, device);
    ASSERT_TRUE(choice);
    if (choice->why.find("proven elsewhere") == std::string::npos) continue;
    Problem where = problem;
    double least = std::numeric_limits<double>::infinity();
    std::set<std::string> nearest;  // their configurations
    for (const Proven& each : family.proven()) {
      std::tie(where.m, where.n, where.k) = std::tie(each.m, each.n, each.k);
      if (each.precision != problem.precision || distance(problem, where) > least) continue;
      Config config = family.with_defaults(Config::parse(each.config), problem);
      if (!family.legal_plan(problem, config, device)) continue;
      config = KernelModel(family, config, problem, device, 0).fitted(family, config, problem, device);
      if (distance(problem, where) < least) nearest.clear();
      least = distance(problem, where);
      nearest.insert(config.text());
      EXPECT_LE(choice->expected_us, predict(problem, *family.legal_plan(problem, config, device), device, 0).time_us);
    }
    others += nearest.count(choice->config.text()) == 0 ? 1 : 0;
  }
  EXPECT_GT(others, 0) << "or the nearest is always taken";
}

TEST(Untuned, WhatIsProvenHasTheSplitThatSuitsTheSize) {
  const DeviceSpec device = catalog_gpu("h200");
  int split = 0;
  for (const auto& [m, n, k] : {std::array{160, 140, 3000}, {500, 450, 600}, {600, 250, 5000}, {3000, 160, 5000}}) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
    const auto choice = untuned_choice(problem, device);
    ASSERT_TRUE(choice) << to_string(problem);
    const KernelModel model(*choice->family, choice->config, problem, device, 0);
    if (choice->why.find("proven elsewhere") == std::string::npos || !model.splits_at_launch()) continue;
    EXPECT_EQ(choice->config, model.fitted(*choice->family, choice->config, problem, device)) << to_string(problem);
    ++split;
  }
  EXPECT_GT(split, 0) << "or nothing was asked";
}

class Prepare : public test::ApiTestWith<test::NvrtcTest> {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    offer(Precision::fp32, Layout::nn);
    offer(Precision::fp32, Layout::tn);
  }
};

TEST_F(Prepare, CompilesThePickWhereNothingIsTuned) {
  Library library = Library::open();
  const Gemm call{.layout = Layout::nt, .m = 512, .n = 512, .k = 512};
  EXPECT_EQ(library.plan(call).match, Match::fallback);
  library.prepare(std::array{call});
  const Answer answer = library.plan(call);
  EXPECT_EQ(answer.match, Match::predicted);
  EXPECT_NE(answer.family, "naive");
  EXPECT_THAT(answer.why, HasSubstr("nothing is tuned for fp32 nt"));
  std::vector<float> memory(100);
  const Gemm other{
      .layout = Layout::nt, .m = 9, .n = 9, .k = 9, .a = memory.data(), .b = memory.data(), .c = memory.data()};
  EXPECT_EQ(library.gemm(other, nullptr).match, Match::fallback) << "compiled once for all other sizes";
}

TEST_F(Prepare, AnInvariantProductRunsInItsOrderOrNotAtAll) {
  Library library = Library::open();
  std::vector<float> memory(64 * 64);
  Gemm call{.precision = Precision::bf16, .layout = Layout::nt, .m = 64, .n = 64, .k = 64};
  call.a = call.b = call.c = memory.data();
  call.invariant = true;
  const auto refused = [&]() -> std::string {
    try {
      library.enqueue(call, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused(), HasSubstr("mmtune cover --invariant"));
  library.prepare({&call, 1});
  EXPECT_EQ(refused(), "");
  EXPECT_EQ(library.plan(call).match, Match::predicted);
  // The plain kernel of fp32 adds one product after the other, as every kernel without parts does.
  call.precision = Precision::fp32;
  call.layout = Layout::nn;
  EXPECT_EQ(refused(), "");
  EXPECT_EQ(library.plan(call).match, Match::fallback);
}

TEST_F(Prepare, ACallCompilesOnceForSizesOfAKindIfAllowed) {
  Library library = Library::open({.compile_untuned = true});
  std::vector<float> memory(300 * 300);
  const auto run = [&](std::int64_t size) {
    return library.gemm({.layout = Layout::nt,
                         .m = size,
                         .n = size,
                         .k = size,
                         .a = memory.data(),
                         .b = memory.data(),
                         .c = memory.data()},
                        nullptr);
  };
  const int loaded = test::fake_cuda().loaded_programs;
  const Answer first = run(256), second = run(300);
  EXPECT_NE(first.family, "naive");
  EXPECT_EQ(second.config, first.config);
  EXPECT_THAT(second.why, HasSubstr("another one"));
  EXPECT_EQ(test::fake_cuda().loaded_programs, loaded + 1);
}

TEST_F(Prepare, AFallbackSaysSoOnce) {
  const test::ScopedEnv loud("MMTUNE_LOG", "warning");
  log::set_level(log::Level::warning);
  std::vector<double> memory(4096);
  testing::internal::CaptureStderr();
  {
    Library library = Library::open({.compile_missing = true});
    for (const int size : {3, 4, 5}) {
      library.enqueue({.precision = Precision::fp64,
                       .m = size,
                       .n = size,
                       .k = size,
                       .a = memory.data(),
                       .b = memory.data(),
                       .c = memory.data()},
                      nullptr);
    }
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("prepare()"));
  EXPECT_THAT(said, HasSubstr("--sizes 3x3x3 --precision fp64 --layout nn --db " + database()));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  log::set_level(log::Level::silent);
}

}  // namespace
}  // namespace mmtune
