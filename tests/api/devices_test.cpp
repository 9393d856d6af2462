// Several devices in a process, and processes that fork.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "runtime/base/log.h"
#include "runtime/gpu/driver.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

class Devices : public test::ApiTest {
 protected:
  void SetUp() override {
    test::fake_cuda().devices = 2;
    offer(Precision::fp32, Layout::nn);
  }
  void TearDown() override {
    make_current(nullptr);
    test::fake_cuda().devices = 1;
  }

  static void make_current(CUcontext context) { MMTUNE_CUDA(cuCtxSetCurrent(context)); }

  static CUcontext context_of(CUdevice device) {
    CUcontext context = nullptr;
    MMTUNE_CUDA(cuDevicePrimaryCtxRetain(&context, device));
    return context;
  }

  /// Whether the library computes a product; where is in last_device.
  static bool computes(Library& library) {
    const auto a = test::numbers<float>(6, 1), b = test::numbers<float>(12, 2);
    std::vector<float> c(8, 1);
    const Gemm call{.m = 2, .n = 4, .k = 3, .a = a.data(), .lda = 3, .b = b.data(), .ldb = 4, .c = c.data(), .ldc = 4};
    const auto wanted = test::expected<float>(call, c);
    library.gemm(call, nullptr);
    return c == wanted;
  }
};

TEST_F(Devices, EachHasALibraryOfItsOwn) {
  Library first = Library::open({.device = 0});
  Library second = Library::open({.device = 1});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(computes(second));
    EXPECT_EQ(test::fake_cuda().last_device, 1);
    EXPECT_TRUE(computes(first));
    EXPECT_EQ(test::fake_cuda().last_device, 0);
  }
}

TEST_F(Devices, ThatOfTheCurrentContextIsMeantWhereNoneIsNamed) {
  make_current(context_of(1));
  Library library = Library::open();
  EXPECT_TRUE(computes(library));
  EXPECT_EQ(test::fake_cuda().last_device, 1);
}

TEST_F(Devices, ACallInTheContextOfAnotherIsRefused) {
  Library second = Library::open({.device = 1});
  make_current(context_of(0));
  const int launches = test::fake_cuda().launches;
  try {
    computes(second);
    FAIL() << "its kernels are on another device";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("belongs to device 0"), HasSubstr("device 1")));
  }
  EXPECT_EQ(test::fake_cuda().launches, launches);
}

TEST_F(Devices, ThatOfTheCurrentContextIsNoMatterToALibraryThatIsClosed) {
  const test::ScopedEnv loud("MMTUNE_LOG", "warning");
  log::set_level(log::Level::warning);
  auto library = std::make_unique<Library>(Library::open({.device = 1}));
  make_current(context_of(1));
  EXPECT_TRUE(computes(*library));
  for (const CUcontext other : {context_of(0), CUcontext{}}) {
    make_current(other);
    testing::internal::CaptureStderr();
    library.reset();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    CUcontext current = nullptr;
    MMTUNE_CUDA(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, other);
    library = std::make_unique<Library>(Library::open({.device = 1}));
    make_current(context_of(1));
    EXPECT_TRUE(computes(*library));
  }
  log::set_level(log::Level::silent);
}

TEST_F(Devices, OneThatIsNotThereIsNamed) {
  try {
    Library library = Library::open({.device = 2});
    FAIL() << "there are two";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2"));
  }
}

// Nothing is opened, and no thread begins, before a library is.
TEST_F(Devices, AChildThatWasForkedBeforeTheFirstUseMultipliesAsItsParentDoes) {
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    try {
      Library library = Library::open({.device = 0});
      _exit(computes(library) ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  Library library = Library::open({.device = 0});
  EXPECT_TRUE(computes(library));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Devices, AChildThatWasForkedLaterIsToldSoAndEndsInSilence) {
  const test::ScopedEnv loud("MMTUNE_LOG", "warning");
  log::set_level(log::Level::warning);
  auto library = std::make_unique<Library>(Library::open({.device = 0}));
  EXPECT_TRUE(computes(*library));
  test::fake_cuda().is_of_parent = true;
  try {
    computes(*library);
    FAIL() << "CUDA does not work there";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a child of fork() cannot use the GPU that its parent used"));
  }
  testing::internal::CaptureStderr();
  library.reset();  // This is what exit() does to one that is a global variable.
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  test::fake_cuda().is_of_parent = false;
  log::set_level(log::Level::silent);
}

}  // namespace
}  // namespace mmtune
