// Ctrl-C and SIGTERM: the first asks the program to finish the candidate in flight and save, the second ends it.
#pragma once

namespace mmtune {

/// Installs the handlers while it lives and restores the earlier ones. One may live within another.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal came since the outermost of the guards that live was made.
  static bool requested();

 private:
  void (*previous_int_)(int);
  void (*previous_term_)(int);
};

}  // namespace mmtune
