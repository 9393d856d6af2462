# Runs FUZZER on up to RUNS inputs that it derives from CORPUS, as many of them as SECONDS allow; what it finds goes to
# WORK. The seed is fixed, so that they are the same inputs every time. Weighing the corpus by entropy would take up to two
# fifths of the time of a database's input.
if(NOT EXISTS ${FUZZER})
  message("SKIPPED: ${FUZZER} was not built; see the test fuzz_build")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${FUZZER} -seed=1 -runs=${RUNS} -max_total_time=${SECONDS} -timeout=20 -print_final_stats=1
                        -entropic=0 -artifact_prefix=${WORK}/ ${WORK} ${CORPUS}
                RESULT_VARIABLE failure ERROR_VARIABLE log)
if(failure)
  message(FATAL_ERROR "${log}\nThe input stands in ${WORK}; run ${FUZZER} on it.")
endif()
