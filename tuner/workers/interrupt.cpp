#include "tuner/workers/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace mmtune {

namespace {

volatile std::sig_atomic_t signals_seen = 0;  // A handler can reach nothing else.
void (*previous_int)(int) = SIG_DFL;
void (*previous_term)(int) = SIG_DFL;

void on_signal(int) {
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) _exit(130);
  constexpr char kMessage[] = "\nmmtune: finishing the candidate in flight; once more ends at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals_seen = 0;
  previous_int = std::signal(SIGINT, on_signal);
  previous_term = std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_int);
  std::signal(SIGTERM, previous_term);
}

bool InterruptGuard::requested() { return signals_seen > 0; }

}  // namespace mmtune
