// Every phase of a worker has a deadline, not only that of a candidate: what hangs there ends with a message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "tests/tuner/faults_fixture.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HangingPhases : public FaultsTest {
 protected:
  /// Hours, but for what is tested: no other deadline ends the run.
  SessionOptions patient() const {
    SessionOptions patient = options();
    patient.compile_limit_s = patient.launch_limit_s = 3600;
    patient.load_limit_s = patient.open_limit_s = patient.begin_limit_s = 3600;
    return patient;
  }

  /// Why a run ends; FaultsTest looks whether it leaves a process behind.
  template <class Error>
  std::string fault_of(const SessionOptions& options, const std::string& faults) {
    try {
      run(options, faults);
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "a process that hangs was waited for, or ignored";
    return "";
  }
};

TEST_F(HangingPhases, TheDriverWhileItIsAskedForGpus) {
  const ScopedEnv scope("MMTUNE_TEST_FAULTS", "gpus_hang@*");
  try {
    installed_gpus(std::chrono::milliseconds(100));
    FAIL() << "no deadline";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot be asked for GPUs: no end after 0.1 s"), HasSubstr("doctor")));
  }
}

TEST_F(HangingPhases, NvrtcWhileItIsLoaded) {
  SessionOptions options = patient();
  options.load_limit_s = 0.1;
  EXPECT_THAT(fault_of<DeviceError>(options, "load_hang@*"),
              AllOf(HasSubstr("NVRTC cannot be loaded: no end after 0.1 s"), HasSubstr("doctor")));
  EXPECT_TRUE(trials().empty());
}

TEST_F(HangingPhases, AGpuWhileItIsOpened) {
  SessionOptions options = patient();
  options.open_limit_s = 0.1;
  EXPECT_THAT(fault_of<DeviceLostError>(options, "open_hang@*"),
              AllOf(HasSubstr("GPU 0 cannot be used: no end after 0.1 s"), HasSubstr("doctor")));
  EXPECT_TRUE(trials().empty());
}

TEST_F(HangingPhases, AProblemWhileItIsPreparedIsSkipped) {
  SessionOptions two = patient();
  two.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 96, 64, 64));
  two.launch_limit_s = two.begin_limit_s = 1;
  testing::internal::CaptureStderr();
  const auto summary = run(two, "begin_hang@fp32 nn 96x64x64");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("skipped: its operands cannot be prepared: no end after 2 s"));
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.tuned, 1);
  for (const Trial& trial : trials()) EXPECT_EQ(trial.key.problem.m, 64);
}

TEST_F(HangingPhases, ARaceIsGivenUpAndTheTimesThatThereAreDecide) {
  SessionOptions options = patient();
  options.begin_limit_s = 1;
  testing::internal::CaptureStderr();
  const auto summary = run(options, "race_hang@*");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the race between the fastest stopped: no end after 1 s"));
  EXPECT_EQ(summary.tuned, 1);
  for (const auto& [candidate, outcome] : outcomes()) EXPECT_EQ(outcome, "ok") << candidate;
}

TEST_F(HangingPhases, OneGpuIsOpenedOnceForAllCandidates) {
  SessionOptions two = patient();
  two.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 96, 64, 64));
  const auto summary = run(two, "open_log@" + path("open_log") + ";log@" + path("log"));
  EXPECT_EQ(summary.tuned, 2);
  EXPECT_EQ(lines("log").size(), trials().size());
  EXPECT_EQ(lines("open_log"), std::vector<std::string>{gpu_uuid(0)});
}

}  // namespace
}  // namespace mmtune::test
