# The warnings every target is held to.
add_library(mmtune_options INTERFACE)
target_compile_features(mmtune_options INTERFACE cxx_std_20)
target_compile_options(mmtune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${MMTUNE_WERROR}>:-Werror>)
if(MMTUNE_SANITIZE)
  # What GCC says of values that may be uninitialized may be false with sanitizers, as its manual says.
  target_compile_options(mmtune_options INTERFACE -fsanitize=${MMTUNE_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all
                                                  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(mmtune_options INTERFACE -fsanitize=${MMTUNE_SANITIZE})
endif()
