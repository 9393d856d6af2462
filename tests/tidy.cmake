# Holds what an application links, and what of the tuner decides who wins, to the checks of clang-tidy that find mistakes
# and cost little: half a minute of one core, where all checks of .clang-tidy for all sources (preset tidy) take an hour
# or two. The sources of each are one translation unit, so that headers are read once; without kernel families, which
# need not know each other's names.
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
if(NOT CLANG_TIDY)
  message("SKIPPED: clang-tidy 14 is not installed")
  return()
endif()
execute_process(COMMAND ${CLANG_TIDY} --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "version [0-9.]+" version "${version}")
if(NOT version MATCHES "version 14\\.")
  message("SKIPPED: ${CLANG_TIDY} is ${version}, not 14")
  return()
endif()

set(checks
    bugprone-argument-comment bugprone-branch-clone bugprone-copy-constructor-init bugprone-dangling-handle
    bugprone-inaccurate-erase bugprone-incorrect-roundings bugprone-infinite-loop bugprone-integer-division
    bugprone-redundant-branch-condition bugprone-sizeof-expression bugprone-string-constructor bugprone-suspicious-semicolon
    bugprone-swapped-arguments bugprone-undelegated-constructor bugprone-unused-raii bugprone-unused-return-value
    bugprone-use-after-move misc-redundant-expression misc-unused-parameters performance-for-range-copy
    performance-no-automatic-move performance-unnecessary-copy-initialization)
list(JOIN checks "," checks)
file(MAKE_DIRECTORY ${OUTPUT})
set(library templates db runtime preload)
set(decisions tuner/search tuner/race tuner/measure tuner/tune)
foreach(unit library decisions)
  set(text "")
  foreach(folder ${${unit}})
    file(GLOB_RECURSE sources ${SOURCE}/${folder}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/(families/|fmt_inside\\.cpp)")
    list(TRANSFORM sources REPLACE ".+" "#include \"\\0\"\n")
    string(APPEND text ${sources})
  endforeach()
  file(WRITE ${OUTPUT}/${unit}.cpp "${text}")
  execute_process(
    COMMAND ${CLANG_TIDY} --quiet --config-file=${SOURCE}/.clang-tidy --checks=-*,${checks} ${OUTPUT}/${unit}.cpp -- -std=c++20 -DMMTUNE_VERSION=""
            -I${SOURCE} -I${SOURCE}/templates/include -I${SOURCE}/runtime/include -isystem ${CUDA_HEADERS}
    RESULT_VARIABLE failure ERROR_VARIABLE said)
  if(failure)
    list(JOIN ${unit} ", " folders)
    message(FATAL_ERROR "${said}clang-tidy does not like what is in ${folders}; see the lines above.")
  endif()
endforeach()
