// What the program reads from the user's files, and writes to stdout and to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mmtune {

/// Prints to stdout. Throws Error where that cannot be written. Where stdout is a pipe that nothing reads any more, the
/// program ends as programs do there, by SIGPIPE.
void print_out(std::string_view text);

/// The whole file without its UTF-8 byte-order mark; of a pipe, what comes within 10 s. Throws UsageError for a file
/// that cannot be read, has more than 16 MiB or does not end in time; messages begin with `what`.
std::string read_text_file(const std::string& path, std::string_view what);

/// Throws Error with what errno says.
[[noreturn]] void refuse_writing(const std::string& path);

/// Throws what write_text_file() would throw, as far as that shows before anything is written: an hour may pass between
/// the two.
void check_writable(const std::string& path, bool force);

/// Files that belong together: all get their names when all are whole and on disk, or none does, unless the process is
/// killed while it names them. One that exists is refused unless `force`, a database also then; devices and pipes are
/// written to at once. Throws UsageError, and Error where a file cannot be written.
class NewFiles {
 public:
  explicit NewFiles(bool force) : force_(force) {}
  /// Removes what was not published.
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  void add(const std::string& path, std::string_view text);

  /// The files in the order in which they were added.
  void publish();

 private:
  struct Partial {
    std::string path;  ///< the path, beside the target
    std::string target;
  };
  bool force_;
  std::vector<Partial> partials_;  ///< the files that have no name yet
};

/// The same for one file.
void write_text_file(const std::string& path, std::string_view text, bool force);

}  // namespace mmtune
