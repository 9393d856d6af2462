# mmtune_embed(TARGET [TABLE NAME] FOLDER…): compiles the text of every .cu, .cuh and .sql file below these folders into
# the target, as a table of {path below the source directory, text} that the function mmtune::embedded::<NAME>() returns,
# by default <TARGET>(). FOLDER=AS gives the files of a folder the paths that they would have below AS.
#
# Done at build time with DEPENDS, so an edited kernel is never missed.
function(mmtune_embed target)
  cmake_parse_arguments(EMBED "" "TABLE" "" ${ARGN})
  if(NOT EMBED_TABLE)
    set(EMBED_TABLE ${target})
  endif()
  set(files)
  set(entries)
  foreach(argument IN LISTS EMBED_UNPARSED_ARGUMENTS)
    string(REGEX REPLACE "=.*" "" folder ${argument})
    string(REGEX REPLACE ".*=" "" as ${argument})
    set(root ${PROJECT_SOURCE_DIR}/${folder})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*.cu ${root}/*.cuh ${root}/*.sql)
    foreach(file IN LISTS found)
      list(APPEND entries ${as}/${file}=${root}/${file})
      list(APPEND files ${root}/${file})
    endforeach()
  endforeach()
  list(SORT entries)
  mmtune_embed_table(${target} ${EMBED_TABLE} ${PROJECT_BINARY_DIR}/generated/${target}_embedded.cpp "${entries}"
                     "${files}")
endfunction()

# mmtune_embed_table(TARGET TABLE OUTPUT ENTRIES FILES): the same of ENTRIES, NAME=PATH; FILES are their paths.
function(mmtune_embed_table target table output entries files)
  string(REPLACE ";" "," entries "${entries}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFILES=${entries} -DTABLE=${table} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    COMMENT "Embedding ${table} into ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
