#include "tuner/text/terminal.h"

#include <sys/ioctl.h>

namespace mmtune {

std::size_t terminal_columns(int stream) {
  winsize size{};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace mmtune
