# The steps of the test; any that fails ends it. BUILD is this project's build directory, WORK a scratch one.
file(REMOVE_RECURSE ${WORK})
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --component development
                        --prefix ${WORK}/installed
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${CONFIG}
                        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_CXX_FLAGS=${flags}
                        -DCMAKE_PREFIX_PATH=${WORK}/installed -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${WORK}/bin
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIG} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/bin/consumer WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
