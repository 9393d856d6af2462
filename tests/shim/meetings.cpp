// Where threads meet; see device/calls.h.
#include <fmt/format.h>

#include "tests/shim/machine_state.h"

namespace mmtune::shim {

unsigned Meeting::arrive(const char* what, int line) {
  if (arrived_ > 0 && line != line_) {
    complain(fmt::format("{} at line {}, while other threads are at line {}", what, line, line_).c_str());
  }
  line_ = line;
  const unsigned meeting = count_;
  if (++arrived_ == members_) {
    arrived_ = 0;
    ++count_;
  }
  return meeting;
}

void Meeting::wait(unsigned meeting, const char* what, int line) { wait_for_change(what, line, count_, meeting); }

namespace {

Warp& own_warp() { return self().block->warps[static_cast<std::size_t>(self().number / kWarp)]; }

}  // namespace

// What kernels call.

void sync_threads(int line) { self().block->all.meet("__syncthreads()", line); }

void sync_warp(int line) { own_warp().meeting.meet("__syncwarp()", line); }

namespace {

NamedBarrier& named_barrier(int number) {
  auto& named = self().block->named;
  if (number < 0 || static_cast<std::size_t>(number) >= named.size()) complain("a block has 16 barriers");
  return named[static_cast<std::size_t>(number)];
}

}  // namespace

void arrive(int barrier, int threads) {
  NamedBarrier& at = named_barrier(barrier);
  if (threads % kWarp != 0) complain("whole warps meet at barriers");
  if (at.arrived > 0 && at.members != threads) {
    complain(fmt::format("barrier {}: {} threads are to meet, and {}", barrier, threads, at.members).c_str());
  }
  at.members = threads;
  if (++at.arrived < threads) return;
  at.arrived = 0;
  ++at.count;
}

void meet(int barrier, int threads) {
  const NamedBarrier& at = named_barrier(barrier);
  const unsigned before = at.count;
  arrive(barrier, threads);
  wait_for_change("a barrier of the block", 0, at.count, before);
}

// What the block has not done before it raised the flag comes too late for the others.
void raise_flag() {
  self().block->held = true;
  wait_until("a flag that was raised", 0, [] { return true; });
}

void await_flag(const unsigned* flag) {
  wait_until("a flag in global memory", 0, [flag] { return *flag != 0; });
}

namespace {

/// What all lanes of the warp give, once they have met.
const std::array<Warp::Value, 32>& values_of_warp(const void* value, int bytes, const char* what, int line) {
  const int number = self().number;
  Warp& warp = own_warp();
  auto& values = warp.values[warp.meeting.count() % 2];
  copy_few(&values[static_cast<std::size_t>(number % kWarp)], value, bytes);
  warp.meeting.meet(what, line);
  return values;
}

}  // namespace

void exchange(const void* value, void* result, int bytes, int lane_mask, int line) {
  const auto& values = values_of_warp(value, bytes, "a shuffle", line);
  const auto lane = static_cast<std::size_t>((self().number % kWarp) ^ lane_mask);
  copy_few(result, &values[lane], bytes);
}

void gather(const void* value, void* all, int bytes) {
  const auto& values = values_of_warp(value, bytes, "an instruction of a warp", 0);
  auto* target = static_cast<unsigned char*>(all);
  for (const Warp::Value& each : values) {
    copy_few(target, &each, bytes);
    target += bytes;
  }
}

}  // namespace mmtune::shim
