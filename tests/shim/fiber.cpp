#include "tests/shim/fiber.h"

#include <mmtune/error.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace mmtune::shim {
namespace {

// Address space; memory is taken as it is touched.
constexpr std::size_t kStackBytes = 256 << 10;
constexpr std::size_t kMostFibers = 32 << 10;

Fiber* running = nullptr;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t fiber_bytes() { return page_bytes() + kStackBytes; }

/// The stacks of all fibers, one after the other.
char* stacks() {
  static char* const memory = [] {
    void* const mapped = mmap(nullptr, kMostFibers * fiber_bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(mapped);
  }();
  return memory;
}

// Whether the address sanitizer takes all stacks of fibers together for the present one, or the host's. To tell it of
// every turn would take longer than the change of stacks.
bool is_told = false;
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;

void tell(const void* stack, std::size_t bytes) {
  const void* left = nullptr;
  std::size_t left_bytes = 0;
  void* fake = nullptr;  // the sanitizer's stack of variables that may be used after return, which it has none of
  __sanitizer_start_switch_fiber(&fake, stack, bytes);
  __sanitizer_finish_switch_fiber(fake, &left, &left_bytes);
  if (std::exchange(is_told, !is_told)) return;
  host_stack = left;
  host_stack_bytes = left_bytes;
}

// Between fibers the compiler's setjmp and longjmp change stacks: they make no system call, as swapcontext does, and
// the address sanitizer does not take them for the end of all functions on the stack that is left. gcc must not look
// into these functions, else callers keep values in registers that these leave alone and other fibers use.
#ifdef __clang__
#define MMTUNE_CHANGES_STACK __attribute__((noinline, no_sanitize("address", "undefined")))
#else
#define MMTUNE_CHANGES_STACK __attribute__((noipa, no_sanitize("address", "undefined")))
#endif

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
  static std::size_t count = 0;
  if (count == kMostFibers) throw Error("fibers: there are as many as tests may have; give the case a smaller problem");
  stack_ = stacks() + count++ * fiber_bytes();
  mprotect(stack_, page_bytes(), PROT_NONE);
}

void Fiber::start(const std::function<void()>& body) {
  body_ = &body;
  ended_ = false;
}

bool Fiber::resume() {
  running = this;
  if (!is_told) tell(stacks(), kMostFibers * fiber_bytes());
  if (std::exchange(entered_, true)) {
    change(outside_, inside_);
  } else {
    ucontext_t entry;
    getcontext(&entry);
    entry.uc_stack.ss_sp = stack_ + page_bytes();
    entry.uc_stack.ss_size = kStackBytes;
    makecontext(&entry, &Fiber::enter, 0);
    change(outside_, entry);
  }
  running = nullptr;
  return ended_;
}

void Fiber::suspend() { change(running->inside_, running->outside_); }

void Fiber::leave() {
  if (is_told) tell(host_stack, host_stack_bytes);
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
