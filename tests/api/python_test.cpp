// The Python package, in a process of its own.
#include <sys/wait.h>

#include <cstdlib>

#include "test_paths.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

/// Runs a file of this folder, with the package and the driver that pretends.
class Python : public test::ApiTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "Python cannot load what was built with sanitizers";
#endif
#if !defined(MMTUNE_PYTHON_FOLDER)
    GTEST_SKIP() << "mmtune was built without its Python package";
#endif
    offer(Precision::fp32);
    offer(Precision::bf16_x_fp32);
  }

  static void run(const std::string& file) {
#if defined(MMTUNE_PYTHON_FOLDER)
    const std::string command = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" MMTUNE_PYTHON_FOLDER
                                "' LD_LIBRARY_PATH='" MMTUNE_FAKE_CUDA_FOLDER "' python3 '" MMTUNE_SOURCE_DIR
                                "/tests/api/" +
                                file + "' '" MMTUNE_SHARED_LIBRARY "'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
#endif
  }
};

TEST_F(Python, ThePackageMultipliesWhatOthersAllocated) {
  // Another kernel for sizes that were not tuned.
  offer(database(), {packed_problem(Precision::fp32, Layout::nn, 2, 2, 2), "naive", "UNROLL=8", 0.5}, 100);
  run("python_test.py");
}

TEST_F(Python, ACallRunsOnTheCurrentStreamOfThePackageThatHasTheResults) { run("python_test_streams.py"); }

TEST_F(Python, EveryViewIsMultipliedAsItIsOrRefused) { run("python_test_views.py"); }

TEST_F(Python, WhatIsDoneAroundProductsNeedsNoFramework) { run("python_test_pretended.py"); }

}  // namespace
}  // namespace mmtune
