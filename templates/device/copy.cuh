// Vector loads and asynchronous copies from global to shared memory.
#pragma once

// N consecutive elements moved by one instruction; N * sizeof(T) is a power of two up to 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

// A shared memory address as the 32-bit value that PTX expects.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies BYTES (4, 8 or 16) from global to shared memory without passing through registers; writes zeros if `valid`
// is false (the source is then not read). AHEAD: what lies beside it, within 256 bytes, is fetched to L2. PTX ISA:
// cp.async. Needs sm_80.
template <int BYTES, bool AHEAD = false>
__device__ __forceinline__ void copy_async(unsigned target, const void* source, bool valid) {
  const int bytes = valid ? BYTES : 0;
  if constexpr (BYTES == 16 && AHEAD) {
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes)
                 : "memory");
  } else if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source), "n"(BYTES), "r"(bytes)
                 : "memory");
  }
}

// Copies a unit of 16 bytes likewise: the first `bytes` of it, behind which are zeros. The first `skipped` bytes may
// belong to others, who may write to them: nothing may be concluded from them.
__device__ __forceinline__ void copy_unit_async(unsigned target, const void* source, [[maybe_unused]] int skipped,
                                                int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
}

// Closes a group of asynchronous copies. PTX ISA: cp.async.commit_group.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's latest groups are unfinished. PTX ISA: cp.async.wait_group.
template <int PENDING>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
