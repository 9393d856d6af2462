# Writes OUTPUT, a C++ file with the table mmtune::embedded::TABLE of FILES: NAME=PATH, separated by commas.
#
# Each file becomes one raw string literal: bytes beyond ASCII, quotes and backslashes stay as they are, and the
# generated file reads like the original.
string(REPLACE "," ";" FILES "${FILES}")
set(entries "")
foreach(file IN LISTS FILES)
  string(REGEX REPLACE "=.*" "" name "${file}")
  string(REGEX REPLACE "^[^=]*=" "" path "${file}")
  file(READ "${path}" content)
  string(FIND "${content}" ")mmtune\"" end_mark)
  if(NOT end_mark EQUAL -1)
    message(FATAL_ERROR "${name}: contains )mmtune\", which ends the literal it is embedded in; write it differently.")
  endif()
  string(APPEND entries "      {\"${name}\", R\"mmtune(${content})mmtune\"},\n")
endforeach()
file(WRITE "${OUTPUT}"
"// Generated; the originals are named in the table.
#include <string_view>
#include <utility>
#include <vector>

namespace mmtune::embedded {

using Table = std::vector<std::pair<std::string_view, std::string_view>>;

const Table& ${TABLE}();

const Table& ${TABLE}() {
  static const Table table = {
${entries}  };
  return table;
}

}  // namespace mmtune::embedded
")
