#include "tests/shim/fiber.h"

#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace mmtune::shim {

namespace {

constexpr std::size_t kStackBytes = 256 << 10;  // address space; memory is taken as it is touched

Fiber* running = nullptr;
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Goes on where `to` was left, and returns when `from` is gone on with. Not swapcontext: the address sanitizer has a
/// version of its own that forgets what is poisoned on the stack it goes to.
void change(ucontext_t& from, const ucontext_t& to) {
  volatile bool left = false;
  getcontext(&from);
  if (left) return;
  left = true;
  setcontext(&to);
}

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, page_bytes() + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, page_bytes(), PROT_NONE);
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = static_cast<char*>(stack_) + page_bytes();
  inside_.uc_stack.ss_size = kStackBytes;
  makecontext(&inside_, &Fiber::enter, 0);
}

Fiber::~Fiber() { munmap(stack_, page_bytes() + kStackBytes); }

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  ended_ = false;
}

bool Fiber::resume() {
  running = this;
  __sanitizer_start_switch_fiber(&outside_fake_, static_cast<char*>(stack_) + page_bytes(), kStackBytes);
  change(outside_, inside_);
  __sanitizer_finish_switch_fiber(outside_fake_, nullptr, nullptr);
  running = nullptr;
  return ended_;
}

void Fiber::suspend() {
  Fiber& self = *running;
  __sanitizer_start_switch_fiber(&self.inside_fake_, host_stack, host_stack_bytes);
  change(self.inside_, self.outside_);
  __sanitizer_finish_switch_fiber(self.inside_fake_, &host_stack, &host_stack_bytes);
}

void Fiber::enter() { running->loop(); }

void Fiber::loop() {
  __sanitizer_finish_switch_fiber(nullptr, &host_stack, &host_stack_bytes);
  for (;;) {
    body_();
    ended_ = true;
    suspend();
  }
}

}  // namespace mmtune::shim
