// A GPU on one thread of the host, for tests: runs the threads of a grid as fibers, made to show mistakes.
//
// Threads take turns only where they meet, and in an order that the test chooses: what is read before a missing barrier
// is read too early in at least one order. Memory that was never written holds NaN. Asynchronous copies take as long as
// they may: their targets are NaN from the instruction on until they are waited for.
//
// So do multiplications of a warpgroup, which read shared memory, and copies from shared memory: when their end is
// waited for and no thread of the cluster can do anything else. Until then sums are NaN. The accelerator sees what
// threads wrote to shared memory before they called the fence; where it stores from for the first time in a launch, it
// is enough that any thread has.
//
// A step that overlaps the one before it runs as far as it gets without that: the step before runs when no thread of
// the first blocks can do anything but wait for it.
//
// A grid's blocks run one after the other, but for those of a cluster and resident ones, which run together; in random
// order such a block starts when those before it can do nothing without it. What a kernel may not do ends the process
// with a report, as the address sanitizer does, with the place in the kernel's source.
//
// Not simulated: the order in which other threads see writes between two barriers, races between threads that write
// the same place, and fences but for those of mbarrier.init, of registers before a multiplication and before the
// accelerator stores.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "templates/plan/launch_plan.h"

namespace mmtune::shim {

/// The order in which threads, and the blocks of a grid, take their turns.
enum class Order { forward, backward, random };

std::string_view to_string(Order order);

/// One launch. `thread` is what every thread does; `what` is named in reports.
struct Launch {
  LaunchStep step;
  std::function<void()> thread;
  Order order = Order::forward;
  std::string what;
  std::function<void()> previous = {};  ///< runs the step before, if this one overlaps it and it has not run
  bool is_first = false;  ///< the first step of its plan: the step before is what precedes the call on the stream
};

/// Runs all blocks. Shared memory is checked byte by byte; the addresses of __shared__ arrays of fixed size, and what
/// they held, are the same for all blocks.
void run(const Launch& launch);

/// What a TensorMap of a kernel holds here, instead of the driver's opaque bytes. Dimensions from the contiguous one
/// on.
struct BoxMap {
  static constexpr int kMostDimensions = 5;

  unsigned char* address = nullptr;
  long long strides[kMostDimensions] = {};  ///< bytes from neighbour to neighbour
  long long extents[kMostDimensions] = {};  ///< the extents of the tensor, in elements
  short box[kMostDimensions] = {};          ///< the extents of the box, in elements
  short swizzle_bytes = 0;                  ///< 0, 32, 64 or 128
  unsigned char rank = 0;
  unsigned char element_bytes = 0;
  bool fills_with_nan = false;  ///< what lies outside

  int box_bytes() const;
};

}  // namespace mmtune::shim
