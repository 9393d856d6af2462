# Tests: the fuzzers are built with clang in a build directory of their own, then each makes a short run with a fixed
# seed, starting from its corpus. Skipped where there is no clang with libFuzzer.
set(MMTUNE_FUZZ_RUNS 1000 CACHE STRING "Inputs that each fuzzer tries in the tests")
set(MMTUNE_FUZZ_SECONDS 20 CACHE STRING "But no longer than this for each")
set(fuzz_build ${PROJECT_BINARY_DIR}/fuzz)

add_test(NAME fuzz_build
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${fuzz_build} -DGENERATOR=${CMAKE_GENERATOR}
          -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -P ${CMAKE_CURRENT_LIST_DIR}/build.cmake)
set_tests_properties(fuzz_build PROPERTIES LABELS host TIMEOUT 900 FIXTURES_SETUP fuzzers
                     SKIP_REGULAR_EXPRESSION "SKIPPED")

file(GLOB corpora RELATIVE ${CMAKE_CURRENT_LIST_DIR}/corpus ${CMAKE_CURRENT_LIST_DIR}/corpus/*)
foreach(name IN LISTS corpora)
  add_test(NAME fuzz_${name}
    COMMAND ${CMAKE_COMMAND} -DFUZZER=${fuzz_build}/fuzz_${name} -DCORPUS=${CMAKE_CURRENT_LIST_DIR}/corpus/${name}
            -DRUNS=${MMTUNE_FUZZ_RUNS} -DSECONDS=${MMTUNE_FUZZ_SECONDS}
            -DWORK=${fuzz_build}/found/${name} -P ${CMAKE_CURRENT_LIST_DIR}/run.cmake)
  set_tests_properties(fuzz_${name} PROPERTIES LABELS host COST ${MMTUNE_LONG_TEST} TIMEOUT 300 FIXTURES_REQUIRED fuzzers
                       SKIP_REGULAR_EXPRESSION "SKIPPED")
endforeach()
