# The target `wheel`: build/wheel/mmtune-….whl for pip, from the objects of this build. SQLite and liblzma are linked in,
# since others of the same name may be in the process first, of another version. {fmt}, which Debian has as a shared
# library only, comes along: its name says its interface.
if(NOT TARGET mmtune_python OR NOT TARGET mmtune_cli OR MMTUNE_SANITIZE)
  return()
endif()
if(NOT MMTUNE_SQLITE_INSIDE OR NOT MMTUNE_LZMA_INSIDE)
  message(STATUS "Wheel: no libsqlite3.a or no liblzma.a, so there is no target wheel")
  return()
endif()

set(tree ${PROJECT_BINARY_DIR}/wheel/tree/mmtune)
set(linked ${MMTUNE_SQLITE_INSIDE} ${MMTUNE_LZMA_INSIDE} $<TARGET_FILE:fmt::fmt> ZLIB::ZLIB Threads::Threads
           ${CMAKE_DL_LIBS} m)

add_library(mmtune_wheel_library SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:mmtune_templates> $<TARGET_OBJECTS:mmtune_db>
                                                         $<TARGET_OBJECTS:mmtune_runtime>)
set_target_properties(mmtune_wheel_library PROPERTIES OUTPUT_NAME mmtune SOVERSION ${MMTUNE_SOVERSION} LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${tree}/lib BUILD_RPATH "$ORIGIN" LINK_DEPENDS ${symbols})
target_link_options(mmtune_wheel_library PRIVATE -s -Wl,--version-script=${symbols} -Wl,--as-needed)
target_link_libraries(mmtune_wheel_library PRIVATE ${linked})

add_executable(mmtune_wheel_program EXCLUDE_FROM_ALL $<TARGET_OBJECTS:mmtune_main>)
set_target_properties(mmtune_wheel_program PROPERTIES OUTPUT_NAME mmtune RUNTIME_OUTPUT_DIRECTORY ${tree}/bin
                      BUILD_RPATH "$ORIGIN/../lib")
target_link_options(mmtune_wheel_program PRIVATE -s -Wl,--as-needed)
target_link_libraries(mmtune_wheel_program PRIVATE $<TARGET_FILE:mmtune_tuner> $<TARGET_FILE:mmtune_runtime>
                                                   $<TARGET_FILE:mmtune_db> $<TARGET_FILE:mmtune_templates> ${linked})
add_dependencies(mmtune_wheel_program mmtune_tuner)

add_custom_target(wheel VERBATIM
  COMMAND ${CMAKE_STRIP} -o ${tree}/lib/libmmtune_cublas.so $<TARGET_FILE:mmtune_cublas>
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/make_wheel.py --tree ${PROJECT_BINARY_DIR}/wheel/tree
          --modules ${PROJECT_SOURCE_DIR}/python/mmtune --native $<TARGET_FILE:mmtune_python>
          --shared $<TARGET_FILE:fmt::fmt> --license ${PROJECT_SOURCE_DIR}/LICENSE --version ${PROJECT_VERSION}
          --output ${PROJECT_BINARY_DIR}/wheel)
add_dependencies(wheel mmtune_wheel_library mmtune_wheel_program mmtune_python mmtune_cublas)
