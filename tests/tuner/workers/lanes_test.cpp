// Several GPUs, and several runs that want the same one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <set>

#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/faults_fixture.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/installed_gpus.h"
#include "tuner/workers/kept_workers.h"

namespace mmtune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Lanes : public FaultsTest {
 protected:
  DeviceChoice gpu(int number) const {
    DeviceChoice gpu{pretended_gpu(), number};
    gpu.spec.uuid = gpu_uuid(number);
    return gpu;
  }

  SessionOptions on(std::vector<DeviceChoice> devices) const {
    SessionOptions several = options();
    several.devices = std::move(devices);
    several.problems.clear();
    for (const int m : {32, 64, 96, 128}) {
      several.problems.push_back(packed_problem(Precision::fp32, Layout::nn, m, 64, 64));
    }
    return several;
  }

  std::vector<Winner> winners() const { return Store::open(path("test.db"), OpenMode::read_only).winners(); }
};

TEST_F(Lanes, EqualGpusShareTheProblemsAndWorkAtTheSameTime) {
  SessionOptions both = on({gpu(0), gpu(1)});
  both.launch_limit_s = 60;
  const auto summary = run(both, "meet@" + path("meet") + ";log@" + path("log"));
  EXPECT_EQ(summary.tuned, 4);
  EXPECT_EQ(winners().size(), 4U);
  std::map<std::string, std::set<std::string>> problems;  // the problems of each GPU
  for (const Trial& trial : trials()) {
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
    problems[trial.environment.device_uuid].insert(to_string(trial.key.problem));
  }
  ASSERT_EQ(problems.size(), 2U) << "a GPU had nothing to do";
  EXPECT_EQ(problems[gpu_uuid(0)].size() + problems[gpu_uuid(1)].size(), 4U) << "a problem ran on both";
  EXPECT_EQ(lines("log").size(), trials().size()) << "a candidate ran twice";
  EXPECT_EQ(run(on({gpu(0), gpu(1)}), "").known, 4);
}

TEST_F(Lanes, AllInstalledGpusAreFoundAndUsed) {
  const std::string two = fmt::format("uuid@{};uuid@{}", gpu_uuid(0), gpu_uuid(1));
  SessionOptions all = options();
  {
    const ScopedEnv scope("MMTUNE_TEST_FAULTS", two.c_str());
    all = on(choose_devices("all"));
    ASSERT_EQ(choose_devices("0,1").size(), 2U);
  }
  ASSERT_EQ(all.devices.size(), 2U);
  all.launch_limit_s = 60;
  EXPECT_EQ(run(all, two + ";meet@" + path("meet")).tuned, 4);
  std::set<std::string> used;
  for (const Trial& trial : trials()) used.insert(trial.environment.device_uuid);
  EXPECT_EQ(used, (std::set{gpu_uuid(0), gpu_uuid(1)}));
}

TEST_F(Lanes, GpusOfDifferentModelsGetAllProblemsEach) {
  DeviceChoice other{catalog_gpu("a100"), 1};
  other.spec.uuid = gpu_uuid(1);
  const auto summary = run(on({gpu(0), other}), "");
  EXPECT_EQ(summary.tuned, 8);
  std::map<std::string, int> counts;
  for (const Winner& winner : winners()) ++counts[winner.trial.key.device.name];
  EXPECT_EQ(counts.size(), 2U);
  for (const auto& [name, count] : counts) EXPECT_EQ(count, 4) << name;
}

TEST_F(Lanes, AFaultyCandidateOnOneGpuLeavesTheOtherAlone) {
  const std::string aborting = candidate_text("tiled", "TILE=8 UNROLL=1");
  const std::string hanging = candidate_text("tiled", "TILE=8 UNROLL=2");
  const auto summary = run(on({gpu(0), gpu(1)}), "abort@" + aborting + ";hang@" + hanging);
  EXPECT_EQ(summary.tuned, 4);
  for (const Trial& trial : trials()) {
    const bool is_bad = name_of(trial) == aborting || name_of(trial) == hanging;
    EXPECT_EQ(trial.outcome == Outcome::ok, !is_bad) << trial.key.config;
  }
}

TEST_F(Lanes, AFaultyGpuEndsTheRun) {
  SessionOptions both = on({gpu(0), gpu(1)});
  both.jobs = 1;  // others are compiled, and so run, before the bad one
  EXPECT_THROW(run(both, "abort@" + candidate_text("tiled", "TILE=16 UNROLL=4") + ";dead@" + path("dead")),
               DeviceLostError);
  EXPECT_FALSE(trials().empty());
}

TEST_F(Lanes, TwoRunsNeverMeasureOnOneGpuAtTheSameTime) {
  const std::string faults = "alone@" + path("alone");
  const pid_t other = fork();
  SessionOptions mine = on({gpu(0)});
  mine.problems.resize(2);
  if (other == 0) {
    mine.database = path("other.db");
    const auto summary = run(mine, faults);
    for (const Trial& trial : Store::open(mine.database, OpenMode::read_only).trials()) {
      if (trial.outcome != Outcome::ok) _exit(1);
    }
    _exit(summary.tuned == 2 ? 0 : 2);
  }
  EXPECT_EQ(run(mine, faults).tuned, 2);
  for (const Trial& trial : trials()) EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Lanes, ALockIsWaitedForWithAMessage) {
  auto first = GpuLock::wait(gpu(0), 0);
  ASSERT_TRUE(first);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(GpuLock::wait(gpu(0), 0, [] { return true; }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr(fmt::format("process {} (", getpid())), HasSubstr("has the lock of GPU 0")));
  EXPECT_TRUE(GpuLock::wait(gpu(1), 0)) << "another GPU is free";
  first.reset();
  EXPECT_TRUE(GpuLock::wait(gpu(0), 0));
}

TEST_F(Lanes, AWaitForALockIsBounded) {
  const auto first = GpuLock::wait(gpu(0), 0);
  try {
    GpuLock::wait(gpu(0), 0.2);
    ADD_FAILURE() << "no end of the wait";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("GPU 0"), HasSubstr(GpuLock::path(gpu(0))), HasSubstr("--wait")));
  }
}

TEST_F(Lanes, KeptWorkersServeOneSessionAfterTheOther) {
  const std::string opened = "open_log@" + path("opened");
  SessionOptions session = on({gpu(0)});
  session.kept = std::make_shared<KeptWorkers>();
  const std::vector<Problem> problems = session.problems;
  for (std::size_t i = 0; i < 2; ++i) {
    session.problems = {problems[i]};
    EXPECT_EQ(run(session, opened).tuned, 1);
  }
  EXPECT_EQ(lines("opened").size(), 1U);
  EXPECT_FALSE(GpuLock::wait(gpu(0), 0, [] { return true; })) << "another run would measure in between";
  session.kept.reset();
  EXPECT_TRUE(GpuLock::wait(gpu(0), 0, [] { return true; }));
  session.problems = {problems[2]};
  EXPECT_EQ(run(session, opened).tuned, 1);
  EXPECT_EQ(lines("opened").size(), 2U);
}

TEST_F(Lanes, TheNextSessionHasTheWorkerThatReplacedALostOne) {
  const std::string opened = "open_log@" + path("opened");
  SessionOptions session = on({gpu(0)});
  const std::vector<Problem> problems = session.problems;
  session.kept = std::make_shared<KeptWorkers>();
  session.problems = {problems[0]};
  EXPECT_EQ(run(session, opened + ";abort@" + candidate_text("tiled", "TILE=8 UNROLL=1")).tuned, 1);
  EXPECT_EQ(lines("opened").size(), 2U);
  session.problems = {problems[1]};
  session.only = only("TILE=8 UNROLL=2");
  EXPECT_EQ(run(session, opened).tuned, 1);
  EXPECT_EQ(lines("opened").size(), 2U);
}

/// One compiler, which notes what it is asked for, and takes a second, its limit, for TILE=8 UNROLL=1.
struct SlowCompiler {
  explicit SlowCompiler(const std::string& log)
      : faults("MMTUNE_TEST_FAULTS",
               ("compile_hang@" + candidate_text("tiled", "TILE=8 UNROLL=1") + ";compile_log@" + log).c_str()) {}

  ScopedEnv faults;
  CompilePool pool{TemplateFiles::embedded(), {.jobs = 1, .limit = std::chrono::seconds(1)}};
};

TEST_F(Lanes, WhatTwoWaitForIsCompiledOnce) {
  SlowCompiler compiler(path("log"));
  CompileQueue one(compiler.pool);
  CompileQueue two(compiler.pool);
  CompileQueue three(compiler.pool);
  one.submit(1, source("TILE=8 UNROLL=1"), target_);  // nothing else is compiled for a second
  one.submit(2, source("TILE=16 UNROLL=2"), target_);
  two.submit(7, source("TILE=16 UNROLL=2"), target_);
  three.submit(8, source("TILE=16 UNROLL=2"), target_);
  three.submit(9, source("TILE=16 UNROLL=4"), target_);
  three.clear();
  EXPECT_EQ(one.next()->outcome, Outcome::timed_out);
  const auto first = one.next();
  const auto second = two.next();
  three.submit(10, source("TILE=16 UNROLL=2"), target_);  // The others have taken it, and need not have kept it yet.
  const auto third = three.next();
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->ticket, 2U);
  EXPECT_EQ(second->ticket, 7U);
  EXPECT_EQ(third->ticket, 10U);
  const std::string code = "pretended " + source("TILE=16 UNROLL=2").hash;
  EXPECT_EQ(first->compilation.cubin, code);
  EXPECT_EQ(second->compilation.cubin, code);
  EXPECT_EQ(third->compilation.cubin, code);
  EXPECT_FALSE(one.next());
  EXPECT_FALSE(two.next());
  EXPECT_FALSE(three.next());
  EXPECT_EQ(lines("log").size(), 2U);
}

TEST_F(Lanes, WhatHasTimeIsCompiledLastUnlessAnotherQueueWaitsForItToo) {
  SlowCompiler compiler(path("log"));
  CompileQueue last(compiler.pool, Turn::last);
  CompileQueue own(compiler.pool);
  own.submit(0, source("TILE=8 UNROLL=1"), target_);  // nothing else is compiled for a second
  last.submit(1, source("TILE=16 UNROLL=1"), target_);
  last.submit(2, source("TILE=16 UNROLL=2"), target_);
  own.submit(3, source("TILE=16 UNROLL=4"), target_);
  own.submit(4, source("TILE=16 UNROLL=2"), target_);
  own.submit(5, source("TILE=16 UNROLL=8"), target_);
  while (last.next()) {
  }
  std::vector<std::string> order;
  for (const char* config :
       {"TILE=8 UNROLL=1", "TILE=16 UNROLL=2", "TILE=16 UNROLL=4", "TILE=16 UNROLL=8", "TILE=16 UNROLL=1"}) {
    order.push_back(candidate_text("tiled", config));
  }
  EXPECT_EQ(lines("log"), order);
}

TEST_F(Lanes, WhatIsWithdrawnIsNotWaitedForAndWhatHasBegunIs) {
  SlowCompiler compiler(path("log"));
  CompileQueue queue(compiler.pool);
  CompileQueue other(compiler.pool);
  queue.submit(1, source("TILE=8 UNROLL=1"), target_);
  queue.submit(2, source("TILE=16 UNROLL=1"), target_);
  queue.submit(3, source("TILE=16 UNROLL=2"), target_);
  other.submit(4, source("TILE=16 UNROLL=2"), target_);
  while (lines("log").empty()) std::this_thread::yield();
  EXPECT_THAT(queue.withdraw(), ElementsAre(2, 3));
  const auto begun = queue.next();
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->ticket, 1U);
  EXPECT_FALSE(queue.next());
  const auto wanted = other.next();
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->ticket, 4U);
  EXPECT_EQ(lines("log").size(), 2U);
}

TEST_F(Lanes, OneGpuBeginsWithLongCallsUnlessTimeOrTheFirstMatterMost) {
  const auto sizes = [&](const SessionOptions& session) {
    start_from_nothing();
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(session, "").tuned, 4);
    std::istringstream said(testing::internal::GetCapturedStderr());
    std::vector<int> found;
    for (std::string line; std::getline(said, line);) {
      int m = 0;
      if (line.find(", best of") != line.npos && std::sscanf(line.c_str(), "mmtune: fp32 nn %dx", &m) == 1) {
        found.push_back(m);
      }
    }
    return found;
  };
  SessionOptions one = on({gpu(0)});
  one.only = only("TILE=8 UNROLL=1");
  EXPECT_THAT(sizes(one), ElementsAre(128, 96, 64, 32));
  SessionOptions in_order = one;
  in_order.in_order = true;
  EXPECT_THAT(sizes(in_order), ElementsAre(32, 64, 96, 128));
  SessionOptions short_of_time = one;
  short_of_time.budget_s = 60;
  EXPECT_THAT(sizes(short_of_time), ElementsAre(32, 64, 96, 128));
}

TEST_F(Lanes, ProcessesThatCompileLetOthersGoFirst) {
  const int niceness = getpriority(PRIO_PROCESS, 0);
  CompilePool pool(TemplateFiles::embedded(), {.jobs = 1});
  CompileQueue queue(pool);
  queue.submit(1, source("TILE=16 UNROLL=2"), target_);
  ASSERT_TRUE(queue.next());
  const std::vector<ProcessLine> compilers = children_of(getpid());
  ASSERT_EQ(compilers.size(), 1U);
  EXPECT_GE(getpriority(PRIO_PROCESS, static_cast<id_t>(compilers[0].id)), 10);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), niceness);
}

}  // namespace
}  // namespace mmtune::test
