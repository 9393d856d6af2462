// What kernels on the host call: the entry points of the simulated machine (tests/shim/machine.h), which the test
// program exports.
#pragma once

namespace mmtune::shim {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// The calls of the thread that runs.
const Index3& thread_index();
const Index3& block_index();
const Index3& grid_size();
unsigned char* dynamic_shared();

/// Meets all threads of the block, at the same line of the source.
void sync_threads(int line);

/// Meets all lanes of the warp.
void sync_warp(int line);

/// Meets `threads` threads of the block at one of its 16 barriers; an arrival does not wait.
void meet(int barrier, int threads);
void arrive(int barrier, int threads);

/// Meets all lanes of the warp and copies `bytes` bytes, at most 8, of lane `lane ^ lane_mask`.
void exchange(const void* value, void* result, int bytes, int lane_mask, int line);

/// Meets all lanes of the warp and copies `bytes` bytes, at most 32, of each lane one after the other to `all`.
void gather(const void* value, void* all, int bytes);

/// An address in dynamic shared memory as 32 bits, and what the functions of copy.cuh, tma.cuh and pipeline.cuh do with
/// it.
unsigned shared_address(const void* pointer);
void* own_shared(unsigned address, int bytes);
void copy_async(unsigned target, const void* source, int bytes, bool valid);
void copy_unit_async(unsigned target, const void* source, int skipped, int bytes);
void commit_copies();
void wait_copies(int pending);
void barrier_init(unsigned barrier, int count);
void barrier_init_fence();
void barrier_expect(unsigned barrier, int bytes);
void barrier_wait(unsigned barrier, unsigned parity);
void barrier_arrive(unsigned barrier);
void barrier_arrive_remote(unsigned remote);
void copy_box(unsigned target, const void* map, unsigned barrier, const int* begin, int rank);
void copy_box_to(unsigned short blocks, unsigned target, const void* map, unsigned barrier, const int* begin, int rank);
/// Asks L2 for a box, which the block must copy as well.
void prefetch_box(const void* map, const int* begin, int rank);
void store_box(const void* map, unsigned source, const int* begin, int rank);
void commit_stores();
void wait_stores_read(int pending);
void fence_for_accelerator();
int cluster_rank();
void cluster_arrive();
void cluster_wait();
unsigned remote_address(unsigned own, int rank);
void load_remote(void* target, unsigned remote, int bytes);
void store_remote(unsigned remote, unsigned remote_barrier, const unsigned* words);

/// One instruction of a warpgroup: adds the product of 64 rows of A and `columns` columns of B to its sums, or sets
/// them.
struct Multiplication {
  unsigned long long a;  ///< descriptors (tile_descriptor.cuh)
  unsigned long long b;
  int columns;
  int element_bytes;  ///< the size of an element of A and B; an instruction has 32 bytes of them along k
  bool a_along_k;     ///< false: along m
  bool b_along_k;     ///< false: along n
  bool a_in_registers;
  bool adds;
  bool in_integers;                                 ///< unsigned ones, else floats
  void (*value)(const void* element, void* value);  ///< what tensor cores read of an element
  bool operator==(const Multiplication&) const = default;
};

/// What the functions of wgmma.cuh do: `sums` are this thread's, and `a` its elements of A, if they are in registers.
void multiply_tiles(const Multiplication& multiplication, void* sums, const unsigned* a);
void fence_registers();
void commit_multiplications();
void wait_multiplications(int pending);
void give_registers_back(int registers);
void take_registers(int registers);

/// Called after a flag in global memory was raised: other blocks go first.
void raise_flag();
void await_flag(const unsigned* flag);

/// Waits until the step before has finished, if the plan lets this one overlap it.
void wait_for_previous();

/// The machine starts a step as early as it can anyway. But a plan's first one must have waited: those that follow read
/// operands at once.
void launch_dependents();

/// Ends the process with a report, as the sanitizers do.
[[noreturn]] void complain(const char* what);

}  // namespace mmtune::shim
