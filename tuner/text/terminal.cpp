#include "tuner/text/terminal.h"

#include <sys/ioctl.h>

#include "runtime/base/env.h"
#include "templates/base/parsed_number.h"

namespace mmtune {

std::size_t terminal_columns(int stream) {
  constexpr std::size_t kMost = 10'000;  // More is no width of anything.
  const auto columns = parsed_number<std::uint64_t>(env::get("COLUMNS").value_or(""));
  if (columns && *columns > 0 && *columns <= kMost) return *columns;
  winsize size{};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace mmtune
