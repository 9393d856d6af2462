// The terminal that a stream may be.
#pragma once

#include <cstddef>

namespace mmtune {

/// How many columns it has: what the variable COLUMNS says, else what the terminal says; 0 for what is no terminal, or
/// does not say.
std::size_t terminal_columns(int stream);

}  // namespace mmtune
