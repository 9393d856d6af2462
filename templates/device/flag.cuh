// What one block tells the others of its grid through global memory.
#pragma once

#include "mmtune/numeric.cuh"

// Tells every block that what this thread, and those it has met at a barrier, wrote before can be read.
// PTX ISA: st.release, and "Causality order" for the barrier.
__device__ __forceinline__ void raise_flag(u32* flag) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
}

// Waits for a raised flag. PTX ISA: ld.acquire.
__device__ __forceinline__ void await_flag(const u32* flag) {
  u32 raised;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  } while (raised == 0);
}
