// The verb `worker` of a program for tests only: the GPU and the compiler are pretended, with the faults of
// MMTUNE_TEST_FAULTS.
#include <cstdlib>

#include "tests/tuner/faulty_worker.h"
#include "tuner/commands/worker_verb.h"

namespace mmtune {

Verb mmtune_verb_worker() {
  return worker_verb([] {
    const char* faults = std::getenv("MMTUNE_TEST_FAULTS");
    return test::faulty_parts(faults == nullptr ? "" : faults);
  });
}

}  // namespace mmtune
