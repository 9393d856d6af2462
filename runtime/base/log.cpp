#include "runtime/base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string>

#include "runtime/base/env.h"
#include "runtime/base/printable.h"

namespace mmtune::log {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"silent", "error", "warning", "info", "debug"};

void print(std::string_view line) {
  // On a terminal the cursor is at the beginning of the line, in which a bar may stand.
  static const std::string_view clear = isatty(STDERR_FILENO) == 1 ? "\033[K" : "";
  // Names and notes may come from a foreign file. A compiler's log has lines.
  const std::string text = fmt::format("{}mmtune: {}\n", clear, printable_lines(line));
  // One call, so that lines of several threads do not mix. Where nothing can be written, nothing is lost but the line.
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Level initial_level() {
  const auto text = env::get("MMTUNE_LOG");
  if (!text) return Level::warning;
  if (const auto parsed = parse_level(*text)) return *parsed;
  print(fmt::format("MMTUNE_LOG={}: no such level; use silent, error, warning, info or debug", *text));
  return Level::warning;
}

/// `given` counts where no level was asked for before. So a worker, which is given its run's, does not warn again of
/// what MMTUNE_LOG says.
std::atomic<Level>& current(std::optional<Level> given = std::nullopt) {
  static std::atomic<Level> level{given ? *given : initial_level()};
  return level;
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

void set_level(Level level) { current(level) = level; }

Level level() { return current(); }

void write(Level line_level, std::string_view line) {
  if (line_level != Level::silent && line_level <= level()) print(line);
}

}  // namespace mmtune::log
