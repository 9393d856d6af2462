# mmtune_family_registry(TARGET FOLDER): generates the list behind templates/families.h from the folder names.
function(mmtune_family_registry target folder)
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_SOURCE_DIR}/${folder}/*/family.cpp)
  set(declarations)
  set(names)
  list(SORT entries)
  foreach(entry IN LISTS entries)
    get_filename_component(name ${entry} DIRECTORY)
    string(APPEND declarations "const Family& mmtune_family_${name}();\n")
    string(APPEND names "      &mmtune_family_${name}(),\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/families_registry.cpp CONTENT
"// Generated from the folders of ${folder}.
#include \"templates/families.h\"

namespace mmtune {

${declarations}
const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all = {
${names}  };
  return all;
}

}  // namespace mmtune
")
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated/families_registry.cpp)
endfunction()
