// What the program reads from the user's files, and writes to stdout and to files.
#pragma once

#include <string>
#include <string_view>

namespace mmtune {

/// Prints to stdout. Throws Error where that cannot be written. Where stdout is a pipe that nothing reads any more, the
/// program ends as programs do there, by SIGPIPE.
void print_out(std::string_view text);

/// The whole file without its UTF-8 byte-order mark; of a pipe, what comes within 10 s. Throws UsageError for a file
/// that cannot be read, has more than 16 MiB or does not end in time; messages begin with `what`.
std::string read_text_file(const std::string& path, std::string_view what);

/// Throws UsageError if write_text_file() would refuse to write there.
void check_writable(const std::string& path, bool force);

/// Writes a file. One that exists is refused unless `force`, a database also then; devices and pipes are written to.
/// Throws UsageError, and Error where it cannot be written.
void write_text_file(const std::string& path, std::string_view text, bool force);

}  // namespace mmtune
