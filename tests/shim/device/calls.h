// What kernels on the host call: the entry points of the simulated machine (tests/shim/machine.h), which the test
// program exports.
#pragma once

namespace mmtune::shim {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// Of the thread that runs.
const Index3& thread_index();
const Index3& block_index();
unsigned char* dynamic_shared();

/// Meets all threads of the block, at the same line of the source.
void sync_threads(int line);

/// Meets all lanes of the warp and copies `bytes` bytes, at most 8, of lane `lane ^ lane_mask`.
void exchange(const void* value, void* result, int bytes, int lane_mask, int line);

/// Meets all lanes of the warp and copies `bytes` bytes, at most 32, of each lane one after the other to `all`.
void gather(const void* value, void* all, int bytes);

/// An address in dynamic shared memory as 32 bits, and what the functions of copy.cuh and tma.cuh do with it.
unsigned shared_address(const void* pointer);
void copy_async(unsigned target, const void* source, int bytes, bool valid);
void commit_copies();
void wait_copies(int pending);
void barrier_init(unsigned barrier, int count);
void barrier_init_fence();
void barrier_expect(unsigned barrier, int bytes);
void barrier_wait(unsigned barrier, unsigned parity);
void copy_box(unsigned target, const void* map, unsigned barrier, const int* begin, int rank);
int cluster_rank();
void cluster_arrive();
void cluster_wait();
unsigned remote_address(unsigned own, int rank);
void load_remote(void* target, unsigned remote, int bytes);

/// After a flag in global memory was raised: other blocks go first.
void raise_flag();
void await_flag(const unsigned* flag);

/// Until the step before has finished, if the plan lets this one overlap it.
void wait_for_previous();

/// The machine starts a step as early as it can anyway. But a plan's first one must have waited: those that follow read
/// operands at once.
void launch_dependents();

/// Ends the process with a report, as the sanitizers do.
[[noreturn]] void complain(const char* what);

}  // namespace mmtune::shim
