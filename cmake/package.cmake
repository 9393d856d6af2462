# mmtune::mmtune, what an application links: the three layers without the tuner. Installed (component "development") with
# a package config, so that find_package(mmtune) gives the same target.
include(CMakePackageConfigHelpers)

add_library(mmtune INTERFACE)
add_library(mmtune::mmtune ALIAS mmtune)
target_link_libraries(mmtune INTERFACE mmtune_runtime)
target_include_directories(mmtune INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

option(MMTUNE_INSTALL "Add the install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT MMTUNE_INSTALL)
  return()
endif()

foreach(part templates db runtime cuda_headers)
  set_target_properties(mmtune_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
set(MMTUNE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mmtune)
install(TARGETS mmtune mmtune_runtime mmtune_db mmtune_templates mmtune_cuda_headers EXPORT mmtuneTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
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
