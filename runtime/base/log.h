// Progress and warnings on stderr; data never goes through here. Thread safe.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace mmtune::log {

enum class Level { silent = 0, error = 1, warning = 2, info = 3, debug = 4 };

/// The only global state of the project. Default: MMTUNE_LOG, else warning.
void set_level(Level level);
Level level();

/// "silent", "error", "warning", "info" or "debug"; nothing for any other text.
std::optional<Level> parse_level(std::string_view text);

/// Writes one line with the prefix "mmtune: " to stderr if `line_level` is enabled.
void write(Level line_level, std::string_view line);

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::debug) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mmtune::log
