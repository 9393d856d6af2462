# What an application links, the three layers without the tuner, in two forms:
#
#     mmtune::mmtune   static: an archive a layer
#     mmtune::shared   libmmtune.so with all of them, which shows the public functions alone
#
# Installed with a package config, so that find_package(mmtune) gives the same targets, and with mmtune.pc and
# mmtune-static.pc.
include(CMakePackageConfigHelpers)

add_library(mmtune INTERFACE)
add_library(mmtune::mmtune ALIAS mmtune)
target_link_libraries(mmtune INTERFACE mmtune_runtime)
target_include_directories(mmtune INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# Until 1.0 a minor version may change interfaces.
set(MMTUNE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(symbols ${PROJECT_BINARY_DIR}/generated/libmmtune.map)
configure_file(${PROJECT_SOURCE_DIR}/cmake/libmmtune.map ${symbols} @ONLY)
add_library(mmtune_shared SHARED $<TARGET_OBJECTS:mmtune_templates> $<TARGET_OBJECTS:mmtune_db>
                                 $<TARGET_OBJECTS:mmtune_runtime>)
add_library(mmtune::shared ALIAS mmtune_shared)
set_target_properties(mmtune_shared PROPERTIES OUTPUT_NAME mmtune VERSION ${PROJECT_VERSION}
                      SOVERSION ${MMTUNE_SOVERSION} LINKER_LANGUAGE CXX LINK_DEPENDS ${symbols} EXPORT_NAME shared)
target_compile_features(mmtune_shared INTERFACE cxx_std_20)
target_link_options(mmtune_shared PRIVATE -Wl,--version-script=${symbols})
target_link_libraries(mmtune_shared PRIVATE fmt::fmt SQLite::SQLite3 LibLZMA::LibLZMA ZLIB::ZLIB Threads::Threads
                                            ${CMAKE_DL_LIBS} $<BUILD_INTERFACE:mmtune_options>)
target_include_directories(mmtune_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/templates/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

option(MMTUNE_INSTALL "Add the install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT MMTUNE_INSTALL)
  return()
endif()

foreach(part templates db runtime cuda_headers)
  set_target_properties(mmtune_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
set(MMTUNE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mmtune)
install(TARGETS mmtune mmtune_shared mmtune_runtime mmtune_db mmtune_templates mmtune_cuda_headers EXPORT mmtuneTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS mmtune_cublas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY templates/include/mmtune runtime/include/mmtune
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT mmtuneTargets NAMESPACE mmtune:: DESTINATION ${MMTUNE_PACKAGE_DIR} COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mmtuneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/generated/mmtuneConfig.cmake INSTALL_DESTINATION ${MMTUNE_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/mmtuneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/mmtuneConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/mmtuneConfigVersion.cmake
  DESTINATION ${MMTUNE_PACKAGE_DIR} COMPONENT development)

# mmtune_pkg_config(NAME KIND REQUIRES LIBS)
function(mmtune_pkg_config name)
  set(MMTUNE_PC_KIND ${ARGV1})
  set(MMTUNE_PC_REQUIRES ${ARGV2})
  set(MMTUNE_PC_LIBS ${ARGV3})
  set(directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH MMTUNE_FROM_PC /${directory} /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/mmtune.pc.in ${PROJECT_BINARY_DIR}/generated/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/generated/${name}.pc DESTINATION ${directory} COMPONENT development)
endfunction()
mmtune_pkg_config(mmtune shared "" "-lmmtune")
mmtune_pkg_config(mmtune-static static "Requires: fmt sqlite3 liblzma zlib"
                  "-lmmtune_runtime -lmmtune_db -lmmtune_templates -lstdc++ -lm -ldl -pthread") # gcc links it, too

include(debian)
