# mmtune_family_registry(TARGET FOLDER…): generates the list behind templates/families.h from the names of the folders'
# subfolders that hold a family.cpp.
function(mmtune_family_registry target)
  set(names)
  set(declarations)
  set(entries)
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/family.cpp)
    foreach(file IN LISTS found)
      get_filename_component(place ${file} DIRECTORY)
      get_filename_component(name ${place} NAME)
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  foreach(name IN LISTS names)
    string(APPEND declarations "const Family& mmtune_family_${name}();\n")
    string(APPEND entries "      &mmtune_family_${name}(),\n")
  endforeach()
  set(output ${PROJECT_BINARY_DIR}/generated/${target}_registry.cpp)
  file(GENERATE OUTPUT ${output} CONTENT
"// Generated from the folders of ${ARGN}.
#include \"templates/families.h\"

namespace mmtune {

${declarations}
const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all = {
${entries}  };
  return all;
}

}  // namespace mmtune
")
  target_sources(${target} PRIVATE ${output})
endfunction()
