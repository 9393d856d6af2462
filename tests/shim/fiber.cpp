#include "tests/shim/fiber.h"

#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace mmtune::shim {

namespace {

constexpr std::size_t kStackBytes = 256 << 10;  // address space; memory is taken as it is touched

Fiber* running = nullptr;

// Whose stack the address sanitizer takes the present one for: null, the host's. To tell it takes longer than to change
// stacks, and what the machine does between two turns is not instrumented, so it hears of the host's at the end only.
Fiber* told = nullptr;
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;
void* host_fake = nullptr;  // the sanitizer's stack of variables that may be used after return

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Between fibers the compiler's setjmp and longjmp change stacks: they make no system call, as swapcontext does, and
// the address sanitizer does not take them for the end of all functions on the stack that is left.
#define MMTUNE_CHANGES_STACK __attribute__((noinline, no_sanitize("address", "undefined")))

MMTUNE_CHANGES_STACK void go(void** to) { __builtin_longjmp(to, 1); }

/// Goes on where `to` was left, and returns when another fiber goes on with `from`.
MMTUNE_CHANGES_STACK void change(void** from, void** to) {
  if (__builtin_setjmp(from) == 0) go(to);
}

/// The same for a stack that nothing has run on.
MMTUNE_CHANGES_STACK void change(void** from, const ucontext_t& to) {
  if (__builtin_setjmp(from) == 0) setcontext(&to);
}

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, page_bytes() + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, page_bytes(), PROT_NONE);
}

Fiber::~Fiber() { munmap(stack_, page_bytes() + kStackBytes); }

void Fiber::start(const std::function<void()>& body) {
  body_ = &body;
  ended_ = false;
}

bool Fiber::resume() {
  running = this;
  tell(this);
  if (std::exchange(entered_, true)) {
    change(outside_, inside_);
  } else {
    ucontext_t entry;
    getcontext(&entry);
    entry.uc_stack.ss_sp = static_cast<char*>(stack_) + page_bytes();
    entry.uc_stack.ss_size = kStackBytes;
    makecontext(&entry, &Fiber::enter, 0);
    change(outside_, entry);
  }
  running = nullptr;
  return ended_;
}

void Fiber::suspend() { change(running->inside_, running->outside_); }

void Fiber::tell(Fiber* next) {
  if (next == told) return;
  const void* const stack = next != nullptr ? static_cast<char*>(next->stack_) + page_bytes() : host_stack;
  void** const left_fake = told != nullptr ? &told->fake_ : &host_fake;
  __sanitizer_start_switch_fiber(left_fake, stack, next != nullptr ? kStackBytes : host_stack_bytes);
  const void* left = nullptr;
  std::size_t left_bytes = 0;
  __sanitizer_finish_switch_fiber(next != nullptr ? next->fake_ : host_fake, &left, &left_bytes);
  if (told == nullptr) {
    host_stack = left;
    host_stack_bytes = left_bytes;
  }
  told = next;
}

void Fiber::enter() { running->loop(); }

void Fiber::loop() {
  for (;;) {
    (*body_)();
    ended_ = true;
    suspend();
  }
}

}  // namespace mmtune::shim
