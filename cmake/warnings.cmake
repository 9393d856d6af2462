# The warnings every target is held to.
add_library(mmtune_options INTERFACE)
target_compile_features(mmtune_options INTERFACE cxx_std_20)
target_compile_options(mmtune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${MMTUNE_WERROR}>:-Werror>)
set(sanitizer_flag) # what programs that load what was built need, too
if(MMTUNE_SANITIZE)
  set(sanitizer_flag -fsanitize=${MMTUNE_SANITIZE})
  # What GCC says of values that may be uninitialized may be false with sanitizers, as its manual says.
  target_compile_options(mmtune_options INTERFACE ${sanitizer_flag} -fno-omit-frame-pointer -fno-sanitize-recover=all
                                                  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(mmtune_options INTERFACE ${sanitizer_flag})
endif()
