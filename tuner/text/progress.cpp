#include "tuner/text/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/base/log.h"
#include "runtime/base/printable.h"
#include "tuner/text/terminal.h"

namespace mmtune {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

bool is_shown() { return log::level() >= log::Level::warning; }

/// What cannot be written is dropped: a run must not end because it cannot be watched.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string progress_line(const ProgressState& state, double elapsed_s, std::string_view note, int width) {
  constexpr int kBarWidth = 20;
  const double share = std::clamp(state.share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kBarWidth);
  const auto eta = share > 0 && state.is_known ? clock_text(elapsed_s * (1 - share) / share) : "?";
  auto line =
      fmt::format("[{}{}] {:3.0f}%  {}/{}  ETA {}  {}", std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
                  100 * share, state.done, state.total, eta, printable(note));
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(width, 0))));
  return line;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), next_(start_) {}

Progress::~Progress() {
  if (terminal_ && is_shown()) put(std::string(kClearLine));
}

void Progress::update(const ProgressState& state, std::string_view note) {
  constexpr std::size_t kNoWidth = 1000;
  const auto now = Clock::now();
  if (now < next_ || !is_shown()) return;
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  const auto line = progress_line(state, std::chrono::duration<double>(now - start_).count(), note,
                                  static_cast<int>(columns > 1 ? columns - 1 : kNoWidth));
  // On a terminal the cursor goes back, so that whatever is printed next overwrites the bar.
  put(terminal_ ? fmt::format("{}{}\r", kClearLine, line) : line + '\n');
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
}

}  // namespace mmtune
