// Ctrl-Z waits for the end of a write: a process that is stopped within one would keep the database locked for all
// others until it goes on.
#pragma once

namespace mmtune {

/// Makes SIGTSTP stop this process only while no thread of it is within a WriteGate, from now on. It is for a program's
/// main function; SIGSTOP cannot be put off.
void stop_between_writes();

/// Held while a connection has, or may get, a lock that keeps others from reading.
class WriteGate {
 public:
  WriteGate() { enter(); }
  ~WriteGate() { leave(); }
  WriteGate(const WriteGate&) = delete;
  WriteGate& operator=(const WriteGate&) = delete;

  // A wait within it, for the lock itself, leaves, waits and enters.
  static void enter();
  static void leave();
};

}  // namespace mmtune
