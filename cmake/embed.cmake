# mmtune_embed(TARGET FOLDER…): compiles the text of every .cu, .cuh and .sql file below these folders into the target,
# as a table of {path below the source directory, text} that the function mmtune::embedded::<TARGET>() returns.
#
# Done at build time with DEPENDS, so an edited kernel is never missed.
function(mmtune_embed target)
  set(files)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/${folder}/*.cu ${PROJECT_SOURCE_DIR}/${folder}/*.cuh ${PROJECT_SOURCE_DIR}/${folder}/*.sql)
    list(APPEND files ${found})
  endforeach()
  list(SORT files)
  set(output ${PROJECT_BINARY_DIR}/generated/${target}_embedded.cpp)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE inputs)
  string(REPLACE ";" "," names "${files}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DNAMES=${names} -DTABLE=${target} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    COMMENT "Embedding sources into ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
