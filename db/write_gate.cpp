#include "db/write_gate.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace mmtune {
namespace {

enum class Stop { none, wanted, under_way, wanted_again };

// Lock-free, so that the handler may use them.
std::atomic<int> writers = 0;
std::atomic<Stop> stop = Stop::none;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Stop>::is_always_lock_free);

/// Returns once the process goes on. One thread alone sends the signal: that of a second one could come after the
/// process went on, within a write. So where the process is to stop again before that thread has run, it sends it
/// again.
void stop_if_wanted() {
  Stop expected = Stop::wanted;
  if (!stop.compare_exchange_strong(expected, Stop::under_way)) return;
  while (true) {
    raise(SIGSTOP);  // This stops the thread: it has taken effect when it returns.
    expected = Stop::under_way;
    if (stop.compare_exchange_strong(expected, Stop::none)) return;
    stop = Stop::under_way;
  }
}

void on_stop_signal(int) {
  Stop expected = Stop::none;
  if (!stop.compare_exchange_strong(expected, Stop::wanted)) {
    expected = Stop::under_way;
    stop.compare_exchange_strong(expected, Stop::wanted_again);
  }
  if (writers.load() == 0) stop_if_wanted();
}

}  // namespace

void stop_between_writes() { std::signal(SIGTSTP, on_stop_signal); }

/// A thread that comes after the signal waits for the stop: else the last writer might never be the last.
void WriteGate::enter() {
  while (true) {
    writers.fetch_add(1);
    if (stop.load() == Stop::none) return;
    leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void WriteGate::leave() {
  if (writers.fetch_sub(1) == 1) stop_if_wanted();
}

}  // namespace mmtune
