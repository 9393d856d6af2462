# Lists that follow from the names of files, so that a family is its folder and a verb its file, and nothing elsewhere.

# mmtune_generate_list(TARGET HEADER FUNCTION TYPE DECLARATION ENTRY NAME…): adds the definition of FUNCTION, which
# HEADER declares as returning a constant vector of TYPE, to the target. In DECLARATION and ENTRY @ is each of the names.
function(mmtune_generate_list target header function type declaration entry)
  set(declarations)
  set(entries)
  foreach(name IN LISTS ARGN)
    string(REPLACE "@" ${name} line ${declaration})
    string(APPEND declarations "${line};\n")
    string(REPLACE "@" ${name} line ${entry})
    string(APPEND entries "      ${line},\n")
  endforeach()
  set(output ${PROJECT_BINARY_DIR}/generated/${target}_${function}.cpp)
  file(GENERATE OUTPUT ${output} CONTENT
"// Generated from the names of files.
#include \"${header}\"

namespace mmtune {

${declarations}
const std::vector<${type}>& ${function}() {
  static const std::vector<${type}> all = {
${entries}  };
  return all;
}

}  // namespace mmtune
")
  target_sources(${target} PRIVATE ${output})
endfunction()

# mmtune_family_registry(TARGET FOLDER…): the list behind templates/family/families.h, of the folders' subfolders that hold a
# family.cpp.
function(mmtune_family_registry target)
  set(names)
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/family.cpp)
    foreach(file IN LISTS found)
      get_filename_component(place ${file} DIRECTORY)
      get_filename_component(name ${place} NAME)
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  mmtune_generate_list(${target} templates/family/families.h families "const Family*" "const Family& mmtune_family_@()"
                       "&mmtune_family_@()" ${names})
endfunction()

# mmtune_verb_registry(TARGET FOLDER): the list behind tuner/commands/verb.h, of the folder's files.
function(mmtune_verb_registry target folder)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(TRANSFORM files REPLACE "\\.cpp$" "")
  list(SORT files)
  mmtune_generate_list(${target} tuner/commands/verb.h verb_makers VerbMaker "Verb mmtune_verb_@()" mmtune_verb_@
                       ${files})
endfunction()
