# The Python package: build/python/mmtune, which works where it is, and its install rules. Its native module uses Python's
# limited interface: one file for all versions from 3.10 on. Where Python's headers are missing there is no package.
#
#     PYTHONPATH=build/python python3
option(MMTUNE_PYTHON_PACKAGE "Build the Python package where Python's headers are" ON)
if(NOT MMTUNE_PYTHON_PACKAGE)
  return()
endif()
set(Python3_FIND_VIRTUALENV STANDARD)
find_package(Python3 3.10 COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND)
  message(STATUS "Python: no headers of 3.10 or later (package python3-dev), so no Python package is built")
  return()
endif()

enable_language(C)
set(MMTUNE_PYTHON_BUILD_DIR ${PROJECT_BINARY_DIR}/python)
set(MMTUNE_PYTHON_INSTALL_DIR lib/python3/dist-packages CACHE STRING
  "Where the Python package is installed, below the prefix; Debian's python3 finds this one below /usr")

# A module that others cannot take for theirs, and that the interpreter resolves.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/native/*.c)
add_library(mmtune_python MODULE ${sources})
set_target_properties(mmtune_python PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so C_STANDARD 11
                      C_VISIBILITY_PRESET hidden UNITY_BUILD OFF
                      LIBRARY_OUTPUT_DIRECTORY ${MMTUNE_PYTHON_BUILD_DIR}/mmtune)
target_include_directories(mmtune_python PRIVATE ${PROJECT_SOURCE_DIR}/runtime/include)
target_include_directories(mmtune_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_compile_options(mmtune_python PRIVATE -Wall -Wextra $<$<BOOL:${MMTUNE_WERROR}>:-Werror>)
target_link_libraries(mmtune_python PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(mmtune_python mmtune_shared) # which it opens

# The build has links to the sources, so that an edit needs no build.
file(GLOB_RECURSE modules RELATIVE ${PROJECT_SOURCE_DIR}/python CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/python/mmtune/*.py)
foreach(module IN LISTS modules)
  get_filename_component(folder ${module} DIRECTORY)
  file(MAKE_DIRECTORY ${MMTUNE_PYTHON_BUILD_DIR}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${module} ${MMTUNE_PYTHON_BUILD_DIR}/${module} SYMBOLIC)
endforeach()

if(MMTUNE_INSTALL)
  install(DIRECTORY python/mmtune DESTINATION ${MMTUNE_PYTHON_INSTALL_DIR} COMPONENT runtime
    FILES_MATCHING PATTERN "*.py")
  install(TARGETS mmtune_python LIBRARY DESTINATION ${MMTUNE_PYTHON_INSTALL_DIR}/mmtune COMPONENT runtime)
endif()
