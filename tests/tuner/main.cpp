// The tests, and the workers that they start: a worker is its parent's program again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/tuner/faulty_worker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "worker") {
    const char* faults = std::getenv("MMTUNE_TEST_FAULTS");
    mmtune::run_worker(std::vector<std::string>(argv + 2, argv + argc),
                       faults == nullptr ? mmtune::real_parts() : mmtune::test::faulty_parts(faults));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
