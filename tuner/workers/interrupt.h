// Ctrl-C and SIGTERM: the first asks the program to finish the candidate in flight and save, the second ends it.
#pragma once

namespace mmtune {

/// Installs the handlers while it lives and restores the earlier ones.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal came since the guard was made.
  static bool requested();
};

}  // namespace mmtune
