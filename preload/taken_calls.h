// Calls of cuBLAS that a loaded library makes, without LD_PRELOAD: the loader has put the addresses of the functions
// that a library calls into tables of its own (ELF, Procedure Linkage Table), and these can be written.
#pragma once

#include <span>
#include <string_view>

namespace mmtune {

/// A function that stands in for the one of that name.
struct OwnFunction {
  const char* name;
  void* address;
};

/// Leads calls of these functions, made by the loaded libraries whose files' names begin with `prefix`, to these
/// addresses, as long as the process lives. Returns how many entries of tables lead there now: none where such a
/// library has its cuBLAS inside it. Calls may be under way meanwhile. From then on find_real() looks first where these
/// libraries do.
int take_calls(std::string_view prefix, std::span<const OwnFunction> functions);

}  // namespace mmtune
