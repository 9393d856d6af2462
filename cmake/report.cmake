# mmtune_report_page(TARGET): compiles the page of `mmtune report` into the target, as the function
# mmtune::embedded::report_page(), made of tuner/report/page and the libraries that its package-lock.json pins.
#
# Configuring installs these libraries with npm, the only step that needs a network. Where npm is missing or fails the
# table is empty: the program says then how to get the page, and everything else is built as ever.
function(mmtune_report_page target)
  set(page ${PROJECT_SOURCE_DIR}/tuner/report/page)
  set(work ${PROJECT_BINARY_DIR}/report)
  set(bundle ${work}/report.html)
  set(output ${PROJECT_BINARY_DIR}/generated/${target}_report_page.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page}/package.json ${page}/package-lock.json)
  mmtune_install_page_libraries(${page} ${work})

  set(entries)
  set(sources)
  if(MMTUNE_REPORT_PAGE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${page}/*.js ${page}/*.css ${page}/*.html)
    add_custom_command(
      OUTPUT ${bundle}
      COMMAND ${MMTUNE_NODE} ${page}/bundle.js ${work}/node_modules ${bundle}
      DEPENDS ${sources} ${page}/package-lock.json
      COMMENT "Bundling the page of a report"
      VERBATIM)
    set(entries report.html=${bundle})
    set(sources ${bundle})
  endif()
  mmtune_embed_table(${target} report_page ${output} "${entries}" "${sources}")
  # One literal of half a megabyte, which both compilers can.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

# Sets MMTUNE_REPORT_PAGE in the cache: whether everything that the page is made of is there. The script configures
# again where it is not.
function(mmtune_install_page_libraries page work)
  find_program(MMTUNE_NODE node)
  find_program(MMTUNE_NPM npm)
  set(found no)
  if(MMTUNE_NODE AND MMTUNE_NPM)
    set(found yes)
    file(MAKE_DIRECTORY ${work})
    file(SHA256 ${page}/package-lock.json wanted)
    set(stamp ${work}/installed.txt)
    set(installed)
    if(EXISTS ${stamp})
      file(READ ${stamp} installed)
    endif()
    if(NOT installed STREQUAL wanted)
      message(STATUS "Installing the libraries of the report's page with npm")
      file(COPY ${page}/package.json ${page}/package-lock.json DESTINATION ${work})
      execute_process(COMMAND ${MMTUNE_NPM} ci --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY ${work}
                      RESULT_VARIABLE failure OUTPUT_VARIABLE said ERROR_VARIABLE said)
      if(failure)
        set(found no)
        message(WARNING "npm ci failed in ${work}, so mmtune is built without the page of a report:\n${said}")
      else()
        file(WRITE ${stamp} ${wanted})
      endif()
    endif()
  else()
    message(STATUS "No npm: mmtune is built without the page of a report")
  endif()
  set(MMTUNE_REPORT_PAGE ${found} CACHE BOOL "Whether the page of a report can be made; found out" FORCE)
endfunction()
