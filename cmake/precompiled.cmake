# Headers of libraries that many files include are parsed once. What a file needs it still includes itself, as builds
# without precompiled headers show: they are left out where a compiler launcher (ccache) keeps what it has compiled, and
# with g++ 13 and later, which refuse them where a file has another -O, as those of tuner/ have.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(refuses_precompiled YES)
endif()
if((CMAKE_CXX_COMPILER_LAUNCHER OR refuses_precompiled) AND NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# g++ does not know any more that precompiled code is a library's: it warns of code that it inlines from there,
# wrongly with g++ 12. A build without precompiled headers still has these warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  target_compile_options(mmtune_options INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                                                  -Wno-stringop-overread)
endif()

set(MMTUNE_COMMON_HEADERS <fmt/format.h> <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <functional> <limits>
    <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <vector>)

# mmtune_precompile(TARGET OWNER HEADER…): TARGET uses the headers that OWNER precompiles, which may be TARGET itself.
# Both must be compiled with the same options.
function(mmtune_precompile target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
