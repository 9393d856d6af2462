// A function on a stack of its own that can be left and entered again: how one processor runs many threads of a GPU.
#pragma once

#include <functional>

namespace mmtune::shim {

/// May be given one body after the other. Fibers do not nest; all belong to one thread of the host.
class Fiber {
 public:
  /// Throws Error where there are more fibers than a test may have. Their stacks stay until the end of the process.
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The body that the next resume() enters, which must live until it ends, and must not throw. Any earlier one must
  /// have ended.
  void start(const std::function<void()>& body);

  /// Runs the body until it suspends or ends. Returns whether it has ended.
  bool resume();

  /// Returns from the resume() of the fiber that runs.
  static void suspend();

  /// To be called once fibers have run: the address sanitizer knows again that its stack is the host's.
  static void leave();

 private:
  static void enter();
  void loop();

  char* stack_;             ///< a page that faults on overflow, then the stack
  using Place = void* [5];  ///< what the compiler's setjmp takes
  Place outside_{};
  Place inside_{};
  bool entered_ = false;
  const std::function<void()>* body_ = nullptr;
  bool ended_ = true;
};

}  // namespace mmtune::shim
