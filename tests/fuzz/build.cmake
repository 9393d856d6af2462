# Builds all fuzzers of SOURCE in BUILD.
find_program(CLANG NAMES clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18)
if(NOT CLANG)
  message("SKIPPED: clang++ is not installed")
  return()
endif()
set(probe ${BUILD}/probe.cpp)
file(WRITE ${probe} "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n")
execute_process(COMMAND ${CLANG} -fsanitize=fuzzer,address,undefined ${probe} -o ${BUILD}/probe
                RESULT_VARIABLE failure OUTPUT_QUIET ERROR_QUIET)
if(failure)
  message("SKIPPED: ${CLANG} comes without libFuzzer and the sanitizers")
  return()
endif()

# This does what the preset does, with its own build directory and generator, and in less time to compile: undefined
# behaviour traps without a word of what it was or where, and nothing is optimised, which takes half the time. Of the
# checks only -fsanitize=object-size needs optimised code; the preset has it. It also has those of each pointer that is
# followed, a sixth of the rest: here the address sanitizer reports null pointers, and nothing reports misaligned ones.
set(sanitizers fuzzer-no-link address bool bounds enum integer-divide-by-zero nonnull-attribute pointer-overflow return
               shift signed-integer-overflow unreachable)
list(JOIN sanitizers "," sanitizers)
execute_process(COMMAND ${CMAKE_COMMAND} --preset fuzz -S ${SOURCE} -B ${BUILD} -G ${GENERATOR}
                        -DCMAKE_CXX_COMPILER=${CLANG} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DMMTUNE_UNITY=yes
                        -DCMAKE_CXX_FLAGS=-fsanitize-undefined-trap-on-error -DCMAKE_BUILD_TYPE=Debug
                        -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DMMTUNE_SANITIZE=${sanitizers}
                WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target mmtune_fuzzers COMMAND_ERROR_IS_FATAL ANY)
