# Writes OUTPUT, a C++ file with the table mmtune::embedded::TABLE of the files NAMES (comma separated, below ROOT).
# Raw strings are cut below the compilers' limits; adjacent literals are one literal.
string(REPLACE "," ";" NAMES "${NAMES}")
set(text "// Generated; the originals are named in the table.\n#include <string_view>\n#include <utility>\n#include <vector>\n\n")
string(APPEND text "namespace mmtune::embedded {\n\n")
string(APPEND text "const std::vector<std::pair<std::string_view, std::string_view>>& ${TABLE}() {\n")
string(APPEND text "  static const std::vector<std::pair<std::string_view, std::string_view>> table = {\n")
foreach(name IN LISTS NAMES)
  file(READ ${ROOT}/${name} hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR bytes "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${hex}")
  # One literal per 512 bytes keeps lines and literals short.
  string(REGEX REPLACE "((\\\\x[0-9a-f][0-9a-f])(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?(\\\\x[0-9a-f][0-9a-f])?)"
         "\"\\1\"\n      " lines "${escaped}")
  string(APPEND text "      {\"${name}\", {${lines}\"\", ${bytes}}},\n")
endforeach()
string(APPEND text "  };\n  return table;\n}\n\n}  // namespace mmtune::embedded\n")
file(WRITE ${OUTPUT} "${text}")
