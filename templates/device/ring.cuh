// A ring of stages in shared memory, between warps that fill it and warps that use it.
#pragma once

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
