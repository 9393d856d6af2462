#include "db/write_gate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace mmtune {

namespace {

// Lock-free, so that the handler may use them.
std::atomic<int> writers = 0;
std::atomic<bool> stop_wanted = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Returns once the process goes on.
void stop_if_wanted() {
  if (stop_wanted.load()) {
    kill(getpid(), SIGSTOP);
    stop_wanted = false;
  }
}

void on_stop_signal(int) {
  stop_wanted = true;
  if (writers.load() == 0) stop_if_wanted();
}

}  // namespace

void stop_between_writes() { std::signal(SIGTSTP, on_stop_signal); }

/// A thread that comes after the signal waits for the stop: else the last writer might never be the last.
void WriteGate::enter() {
  while (true) {
    writers.fetch_add(1);
    if (!stop_wanted.load()) return;
    leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void WriteGate::leave() {
  if (writers.fetch_sub(1) == 1) stop_if_wanted();
}

}  // namespace mmtune
