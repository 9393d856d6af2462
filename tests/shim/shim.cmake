# test_shim: kernels compiled for the host at test time, by this compiler and with sanitizers. They find the simulated
# machine among the symbols that the program exports, and the sanitizers that it is linked with.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=address,undefined)
check_cxx_source_compiles("#include <sanitizer/asan_interface.h>
int main() { return 0; }" MMTUNE_HAS_SANITIZERS)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT MMTUNE_HAS_SANITIZERS)
  add_test(NAME shim COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: the compiler has no address sanitizer")
  set_tests_properties(shim PROPERTIES LABELS host SKIP_REGULAR_EXPRESSION "SKIPPED")
  return()
endif()

mmtune_tests(shim OPTIMISED -O2 mmtune_runtime)
target_link_options(test_shim PRIVATE -fsanitize=address,undefined)
set_target_properties(test_shim PROPERTIES ENABLE_EXPORTS ON)

# Kernels include the headers of templates/device by this name; a copy for each program would take a tenth of the time.
set(shim_headers ${CMAKE_CURRENT_BINARY_DIR}/shim_headers)
file(MAKE_DIRECTORY ${shim_headers})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/templates/device ${shim_headers}/mmtune SYMBOLIC)
