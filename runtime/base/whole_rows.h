// Files of rows that several processes append to: whole rows or none, whatever becomes of the disk or of a process.
#pragma once

#include <string>
#include <string_view>

namespace mmtune {

/// Adds `rows`, each with its line break, behind those of others, and `heading` in front if the file is empty: all of
/// them or, where there is no room, none. A row at the end that was cut short is marked as such. Waits at most 50 ms
/// for others that append. Throws Error, which begins with `what`, "MMTUNE_RECORD", if the file cannot be written,
/// stays locked, or is another one: one that does not begin with the heading is left as it is.
void append_whole_rows(std::string_view what, const std::string& path, std::string_view heading, std::string_view rows);

}  // namespace mmtune
