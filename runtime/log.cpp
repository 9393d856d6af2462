#include "runtime/log.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <string>

#include "runtime/env.h"

namespace mmtune::log {

namespace {

constexpr std::array<std::string_view, 5> kNames = {"silent", "error", "warning", "info", "debug"};

void print(std::string_view line) {
  std::string text = fmt::format("mmtune: {}\n", line);
  for (char& c : text) {
    // Names and notes may come from a foreign file, which must not steer a terminal. A compiler's log has lines.
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = ' ';
  }
  std::fwrite(text.data(), 1, text.size(), stderr);  // one call, so that lines of several threads do not mix
}

Level initial_level() {
  const auto text = env::get("MMTUNE_LOG");
  if (!text) return Level::warning;
  if (const auto parsed = parse_level(*text)) return *parsed;
  print(fmt::format("MMTUNE_LOG={}: no such level; use silent, error, warning, info or debug", *text));
  return Level::warning;
}

std::atomic<Level>& current() {
  static std::atomic<Level> level{initial_level()};
  return level;
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

void set_level(Level level) { current() = level; }

Level level() { return current(); }

void write(Level line_level, std::string_view line) {
  if (line_level != Level::silent && line_level <= level()) print(line);
}

}  // namespace mmtune::log
