#include "tuner/workers/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace mmtune {
namespace {

std::atomic<int> signals_seen = 0;  // Every thread asks for it; lock-free, so that the handler may count.
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int) {
  if (signals_seen.fetch_add(1) > 0) _exit(130);
  const int errno_before = errno;
  constexpr char kMessage[] = "\nmmtune: finishing the candidate in flight; once more ends at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  errno = errno_before;
}

}  // namespace

InterruptGuard::InterruptGuard()
    : previous_int_(std::signal(SIGINT, on_signal)), previous_term_(std::signal(SIGTERM, on_signal)) {}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_int_);
  std::signal(SIGTERM, previous_term_);
  if (previous_int_ != on_signal) signals_seen = 0;
}

bool InterruptGuard::requested() { return signals_seen > 0; }

}  // namespace mmtune
