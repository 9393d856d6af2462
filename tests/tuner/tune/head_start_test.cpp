#include "tuner/tune/head_start.h"

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"
#include "tests/tuner/faults_fixture.h"
#include "tests/tuner/tuning_parts.h"

namespace mmtune {
namespace {

class HeadStartTest : public test::NvrtcTest {};

TEST_F(HeadStartTest, WhatIsCompiledIsHandedOverOnceAndTheRestForgotten) {
  const DeviceSpec& device = catalog_gpu("h200");
  const Preparation preparation(TemplateFiles::embedded(), device, compile_target(device, nvrtc_->supported()),
                                Evidence::measured, nvrtc_->version());
  const auto program = [&](Layout layout) {
    const Problem problem = packed_problem(Precision::fp32, layout, 64, 64, 64);
    const Family& family = family_named("naive");
    return preparation.program(problem, {&family, family.default_config(problem)});
  };
  CompilePool pool(TemplateFiles::embedded(), {.jobs = 1});
  const TemporaryDirectory directory;
  Store store = Store::open(directory.file("test.db"), OpenMode::read_write);
  LostCompiles lost(store, preparation, std::chrono::seconds(60));
  CodeMemory code(preparation);
  HeadStart head_start(pool, code, lost, preparation);
  const auto compiled = [&] { return pool.times().sources; };

  const Program first = program(Layout::nn);
  head_start.order({first});
  while (compiled() == 0) std::this_thread::yield();
  head_start.hand_over();
  const auto binary = code.find(first.key.source_hash);
  ASSERT_TRUE(binary);
  EXPECT_FALSE(binary->cubin.empty());

  const Program second = program(Layout::tt);
  head_start.order({first, second});  // The first is known.
  while (compiled() == 1) std::this_thread::yield();
  head_start.hand_over();
  EXPECT_TRUE(code.find(second.key.source_hash));
  EXPECT_EQ(compiled(), 2);

  const Program third = program(Layout::nt);
  const Program fourth = program(Layout::tn);
  head_start.order({third});
  head_start.order_more({fourth});
  while (compiled() < 4) std::this_thread::yield();
  head_start.order({});  // What is finished is kept.
  EXPECT_TRUE(code.find(third.key.source_hash));
  EXPECT_TRUE(code.find(fourth.key.source_hash));
}

class HeadStartWithFaults : public test::FaultsTest {};

TEST_F(HeadStartWithFaults, WhatACompilerHasBegunStaysOrderedAndTheRestIsWithdrawn) {
  const Preparation preparation(TemplateFiles::embedded(), test::pretended_gpu(), target_, Evidence::measured, "13.0");
  const auto program = [&](const char* config) {
    const Family& family = family_named("tiled");
    return preparation.program(options().problems.front(), {&family, test::completed("tiled", config)});
  };
  const std::string hangs = test::candidate_text("tiled", "TILE=8 UNROLL=1");
  const std::string faults = "compile_hang@" + hangs + ";compile_log@" + path("log");
  const test::ScopedEnv scope("MMTUNE_TEST_FAULTS", faults.c_str());
  CompilePool pool(TemplateFiles::embedded(), {.jobs = 1, .limit = std::chrono::seconds(1)});
  Store store = Store::open(path("test.db"), OpenMode::read_write);
  LostCompiles lost(store, preparation, std::chrono::seconds(1));
  CodeMemory code(preparation);
  HeadStart head_start(pool, code, lost, preparation);

  const Program begun = program("TILE=8 UNROLL=1");
  const Program later = program("TILE=16 UNROLL=4");
  head_start.order({begun, program("TILE=16 UNROLL=1"), program("TILE=16 UNROLL=2")});
  while (lines("log").empty()) std::this_thread::yield();  // nothing else is compiled for a second
  head_start.order({later});
  while (pool.times().sources < 2) std::this_thread::yield();
  head_start.hand_over();
  EXPECT_TRUE(lost.given_up(begun.key.source_hash));
  EXPECT_TRUE(code.find(later.key.source_hash));
  EXPECT_EQ(lines("log"), (std::vector{hangs, test::candidate_text("tiled", "TILE=16 UNROLL=4")}));
}

TEST_F(HeadStartWithFaults, ABudgetLetsCompilersMakeAFewProgramsOfManyProblems) {
  SessionOptions session = options();
  session.budget_s = 60;
  session.problems.push_back(packed_problem(Precision::fp32, Layout::tn, 64, 64, 64));
  const test::ScopedEnv scope("MMTUNE_TEST_FAULTS", "");
  test::TuningParts parts(session, target_, {.at_once = 3});
  HeadStart head_start(parts.pool, parts.code, parts.lost, parts.preparation);
  order_ahead(parts.setup, head_start, session.problems, {}).join();
  while (parts.pool.times().sources < 6) std::this_thread::yield();
  head_start.hand_over();
  for (const Problem& problem : session.problems) {
    EXPECT_EQ(parts.code.candidates(problem).size(), 3U) << to_string(problem);
  }
}

TEST_F(HeadStartWithFaults, WhatIsListedForManyProblemsIsCompiledOnceAndTakesFewSamples) {
  SessionOptions session = options();
  session.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 128, 64, 64));
  const auto list = [](std::vector<const char*> configs) {
    std::vector<Candidate> candidates;
    for (const char* config : configs) candidates.push_back({&family_named("tiled"), test::completed("tiled", config)});
    return candidates;
  };
  session.mode = SessionMode::measure([&](const Problem& problem) {
    return problem.m == 128 ? list({"TILE=16 UNROLL=1", "TILE=8 UNROLL=1"}) : list({"TILE=16 UNROLL=1"});
  });
  const std::string logs = "compile_log@" + path("compiled") + ";samples_log@" + path("samples");
  run(session, logs);
  EXPECT_EQ(lines("compiled").size(), 3U) << "two programs, and the fallback";
  EXPECT_EQ(trials().size(), 3U);
  EXPECT_EQ(lines("samples"), std::vector<std::string>(2, std::to_string(kListedSamples)));
  session.mode = SessionMode::tune();
  run(session, logs);
  EXPECT_EQ(lines("samples").back(), std::to_string(kScreenSamples)) << "a race follows";
}

}  // namespace
}  // namespace mmtune
