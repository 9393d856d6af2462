// A driver that pretends to be libcuda with one H200 or several, whose memory is that of the host and whose kernels are
// a plain loop: programs that link it find it instead of a real one. Enough for the library; all else is "not
// supported".
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <string_view>

#include "templates/problem/dtype.h"

namespace mmtune::test {

/// What tests see and set.
struct FakeCuda {
  std::atomic<int> devices = 1;  ///< at most 8
  std::atomic<int> launches = 0;
  std::atomic<unsigned> last_layers = 0;   ///< blocks along z of the last launch
  std::atomic<int> allocations = 0;        ///< the allocations of device memory
  std::atomic<int> frees = 0;              ///< how many of all allocations were freed
  std::atomic<int> graph_allocations = 0;  ///< the allocations by cuMemAllocAsync so far
  std::atomic<int> graph_memories = 0;     ///< the allocations that are not freed
  std::atomic<int> loaded_programs = 0;    ///< the programs that were loaded so far
  std::atomic<bool> is_capturing = false;
  std::atomic<void*> captured_stream = nullptr;  ///< the only stream that is captured, where not null
  std::atomic<int> broken_captures = 0;          ///< the calls that ended a capture
  std::atomic<int> events = 0;                   ///< the events that exist
  std::atomic<int> recorded_events = 0;          ///< the events that were recorded so far
  std::atomic<bool> is_behind = false;           ///< the GPU: what is asked of an event has not happened yet
  std::atomic<double> busy_us = 0;               ///< the time that kernels took so far, one after the other
  std::atomic<double> noise = 0;            ///< the largest part by which a kernel takes longer; drawn for each launch
  std::atomic<double> launch_fails_us = 0;  ///< programs that take so long cannot be launched, if over 0
  std::atomic<bool> is_of_parent = false;   ///< the driver was used before this process was forked
  std::atomic<void*> last_stream = nullptr;
  std::atomic<unsigned long long> reused_handles = 0;  ///< how often each stream's handle was given to a new stream
  std::atomic<int> last_device = -1;                   ///< the last device that something was launched on
};

FakeCuda& fake_cuda();

/// What begins a program that the fake runs like the family naive.
inline constexpr std::string_view kFakeProgram = "a plain loop: ";

/// A program that pretends, and that pretends to take this long; images of others load and compute nothing.
inline std::string fake_program(Precision precision, Layout layout, double us = 1) {
  const PrecisionTraits& types = traits(precision);
  return fmt::format("{}{} {} {} {} {} {} {} {} {} {} {}", kFakeProgram, static_cast<int>(types.a.format),
                     static_cast<int>(types.b.format), static_cast<int>(types.c.format),
                     static_cast<int>(types.scalar.format), types.a.bytes, types.b.bytes, types.c.bytes,
                     types.scalar.bytes, static_cast<int>(transposes_a(layout)), static_cast<int>(transposes_b(layout)),
                     us);
}

/// What begins a program that only takes time, which follows.
inline constexpr std::string_view kIdleProgram = "nothing but time: ";

}  // namespace mmtune::test
