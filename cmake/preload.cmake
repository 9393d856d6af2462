# libmmtune_cublas.so, which a program gets by LD_PRELOAD: its calls of cuBLAS that mmtune serves faster are served here.
#
# The loader takes it before all libraries of the program. So it shows the functions of cuBLAS alone, and brings no
# library along that the program may have another version of: SQLite, liblzma, fmt and the standard library are inside.
# zlib is not: its interface has not changed for decades.
set(symbols ${PROJECT_SOURCE_DIR}/preload/libmmtune_cublas.map)
add_library(mmtune_cublas SHARED $<TARGET_OBJECTS:mmtune_templates> $<TARGET_OBJECTS:mmtune_db>
                                 $<TARGET_OBJECTS:mmtune_runtime> $<TARGET_OBJECTS:mmtune_preload>
                                 preload/fmt_inside.cpp)
set_target_properties(mmtune_cublas PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${symbols})
set_source_files_properties(preload/fmt_inside.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>) # messages only
target_compile_features(mmtune_cublas PRIVATE cxx_std_20)
find_library(MMTUNE_SQLITE_INSIDE libsqlite3.a)
find_library(MMTUNE_LZMA_INSIDE liblzma.a)
set(inside ${MMTUNE_SQLITE_INSIDE} ${MMTUNE_LZMA_INSIDE} m)
if(NOT MMTUNE_SQLITE_INSIDE OR NOT MMTUNE_LZMA_INSIDE)
  set(inside SQLite::SQLite3 LibLZMA::LibLZMA)
endif()
target_link_options(mmtune_cublas PRIVATE -Wl,--version-script=${symbols} -Wl,-z,nodelete)
if(NOT MMTUNE_SANITIZE)
  target_link_options(mmtune_cublas PRIVATE -Wl,-z,defs -static-libstdc++ -static-libgcc)
endif()
target_link_libraries(mmtune_cublas PRIVATE ${inside} ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS}
                                            $<BUILD_INTERFACE:mmtune_options>)
