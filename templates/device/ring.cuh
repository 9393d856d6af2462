// A ring of stages in shared memory, between warps that fill it and warps that use it.
#pragma once

#include "mmtune/tma.cuh"

// A place in a ring of STAGES stages, each of which is used again and again; parity tells rounds apart.
template <int STAGES_>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == STAGES_) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void advance(int steps) {
    const int at = stage + steps;
    parity ^= at / STAGES_ & 1;
    stage = at % STAGES_;
  }
};

// Waits until all that use them are done with all stages of a ring, of which that of `ring` was filled first.
template <int STAGES_>
__device__ __forceinline__ void await_empty(Ring<STAGES_>& ring, const u64 (&empty)[STAGES_]) {
#pragma unroll 1
  for (int stage = 0; stage < STAGES_; ++stage) {
    barrier_wait(shared_address(&empty[ring.stage]), ring.parity ^ 1);
    ring.advance();
  }
}
