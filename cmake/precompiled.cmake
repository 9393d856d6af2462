# Headers of libraries that many files include are parsed once. What a file needs it still includes itself, as builds
# without precompiled headers show: they are left out where a compiler launcher (ccache) keeps what it has compiled.
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
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
