# mmtune_report_page(TARGET): compiles the page of `mmtune report` into the target, as the function
# mmtune::embedded::report_page(), made of tuner/report/page and the libraries that its package-lock.json pins.
#
# Configuring installs these libraries with npm. Where that is missing or fails the table is empty: the program says then
# how to get the page, and everything else is built as ever. Sets MMTUNE_REPORT_PAGE in the cache: whether everything that
# the page is made of is there. The script configures again where it is not.
function(mmtune_report_page target)
  set(page ${PROJECT_SOURCE_DIR}/tuner/report/page)
  set(work ${PROJECT_BINARY_DIR}/report)
  set(bundle ${work}/report.html)
  set(output ${PROJECT_BINARY_DIR}/generated/${target}_report_page.cpp)
  mmtune_npm_install(${page} ${work} found)
  set(MMTUNE_REPORT_PAGE ${found} CACHE BOOL "Whether the page of a report can be made; found out" FORCE)

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
