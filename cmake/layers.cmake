# One file is no header, whatever g++ thinks of an unnamed namespace in a file that is included. And g++ looks for
# memory that it needs no more from 1 GiB on, not from 128 MiB on: an eighth less time for so large units.
set(together_options $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                     "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")

# With MMTUNE_UNITY the sources of a program of tests are a few translation units.
function(mmtune_compile_tests_together target)
  if(MMTUNE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 64)
    target_compile_options(${target} PRIVATE ${together_options})
  endif()
endfunction()

# With MMTUNE_UNITY the sources are few translation units, except those of kernel families, which need not know each
# other's names, of the verb `worker`, in whose place a test program has another, and those that are generated.
function(mmtune_compile_together target sources)
  if(NOT MMTUNE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE ${together_options})
  list(FILTER sources EXCLUDE REGEX "/(families/|verbs/worker\\.cpp)")
  set(sources_of_unit 48)
  set(number 0)
  foreach(source IN LISTS sources)
    math(EXPR unit "${number} / ${sources_of_unit}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
    math(EXPR number "${number} + 1")
  endforeach()
endfunction()

# mmtune_layer(NAME SEES LAYER…): the static library mmtune_NAME from the sources of folder NAME.
#
# Its include path holds one link per folder it may see, so that an include against the direction of the layers does
# not compile.
function(mmtune_layer name)
  cmake_parse_arguments(LAYER "" "" "SEES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(main|fmt_inside)\\.cpp$")
  set(target mmtune_${name})
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:mmtune_options>)
  mmtune_compile_together(${target} "${sources}")
  mmtune_precompile(${target} mmtune_templates ${MMTUNE_COMMON_HEADERS})

  set(view ${PROJECT_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${view}/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${view}>)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${name}/include)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${name}/include>)
  endif()
  foreach(seen IN LISTS LAYER_SEES)
    target_link_libraries(${target} PUBLIC mmtune_${seen})
  endforeach()
endfunction()
