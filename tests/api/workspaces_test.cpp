// Who gets which workspace, on a pretended GPU.
#include "runtime/gpu/workspaces.h"

#include <gtest/gtest.h>

#include "tests/fake_cuda/fake_cuda.h"

namespace mmtune {
namespace {

constexpr std::size_t kBytes = std::size_t{40} << 20;  // two that are retired are enough to be freed

class WorkspacesOfStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    test::fake_cuda().is_capturing = false;
    test::fake_cuda().captured_stream = nullptr;
    test::fake_cuda().reused_handles = 0;
  }
  void TearDown() override {
    EXPECT_EQ(test::fake_cuda().broken_captures.exchange(0), 0);
    SetUp();
  }

  CUdeviceptr lease() {
    return workspaces_.lease(gpu_.context(), reinterpret_cast<CUstream>(&handle_), kBytes).address();
  }
  static void give_handle_to_another() { ++test::fake_cuda().reused_handles; }
  int freed() const { return test::fake_cuda().frees - before_; }

  const Gpu gpu_{0};
  int handle_ = 0;
  const int before_ = test::fake_cuda().frees;
  Workspaces workspaces_;
};

TEST_F(WorkspacesOfStreams, AStreamKeepsItsOwn) { EXPECT_EQ(lease(), lease()); }

TEST_F(WorkspacesOfStreams, ThoseOfDestroyedStreamsAreFreedInTime) {
  const CUdeviceptr first = lease();
  give_handle_to_another();
  EXPECT_NE(lease(), first) << "work of the first may still run";
  EXPECT_EQ(freed(), 0);
  give_handle_to_another();
  lease();
  EXPECT_EQ(freed(), 2);
}

TEST_F(WorkspacesOfStreams, AreAllocatedAndFreedBesideACaptureOfAnotherThread) {
  int other = 0;
  test::fake_cuda().captured_stream = &other;
  test::fake_cuda().is_capturing = true;
  for (int i = 0; i < 3; ++i) {
    lease();
    give_handle_to_another();
  }
  EXPECT_EQ(freed(), 2);
}

TEST_F(WorkspacesOfStreams, WhatIsCapturedHasItsOwn) {
  const CUdeviceptr eager = lease();
  test::fake_cuda().is_capturing = true;
  const CUdeviceptr captured = lease();
  EXPECT_NE(captured, eager) << "the graph may run in another stream at the same time";
  EXPECT_EQ(lease(), captured);
  test::fake_cuda().is_capturing = false;
  EXPECT_EQ(lease(), eager);
}

TEST_F(WorkspacesOfStreams, ArePreparedForCapturesOfStreamsThatCanBeCaptured) {
  const auto prepared = [&](CUstream stream) {
    const int allocations = test::fake_cuda().allocations;
    workspaces_.prepare(gpu_.context(), stream, kBytes);
    return test::fake_cuda().allocations - allocations;
  };
  EXPECT_EQ(prepared(CU_STREAM_PER_THREAD), 2);
  EXPECT_EQ(prepared(nullptr), 1);
}

TEST_F(WorkspacesOfStreams, ThoseOfGraphsAreKept) {
  test::fake_cuda().is_capturing = true;
  const CUdeviceptr captured = lease();
  for (int i = 0; i < 4; ++i) {
    test::fake_cuda().is_capturing = false;
    EXPECT_NE(lease(), captured) << "the graph may run at any time";
    give_handle_to_another();
  }
  test::fake_cuda().is_capturing = true;
  EXPECT_EQ(lease(), captured) << "graphs of one handle share theirs";
  EXPECT_EQ(freed(), 2) << "the other streams'";
}

}  // namespace
}  // namespace mmtune
