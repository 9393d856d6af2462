# Compiles every source of the product by itself, unoptimised: scripts/test compiles folders as one translation unit
# each, where a file that does not include what it uses goes unnoticed.
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${OUTPUT} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Debug -DMMTUNE_UNITY=OFF
          -DMMTUNE_BUILD_TESTS=OFF
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${OUTPUT} --parallel RESULT_VARIABLE failure OUTPUT_VARIABLE said)
if(failure)
  message(FATAL_ERROR "${said}A source does not compile by itself; see the lines above.")
endif()
