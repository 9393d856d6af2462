// The tensor memory accelerator and the barriers it completes on (sm_90 and later), and thread block clusters.
// Shared memory addresses are the 32-bit values of shared_address().
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/numeric.cuh"

// An opaque CUtensorMap, to be passed as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// PTX ISA: mbarrier.init. `count` arrivals complete a phase.
__device__ __forceinline__ void barrier_init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Makes initialised barriers visible to the accelerator. PTX ISA: fence.mbarrier_init, fence.proxy.async.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives and announces bytes that asynchronous copies will bring. PTX ISA: mbarrier.arrive.expect_tx.
__device__ __forceinline__ void barrier_expect(unsigned barrier, int bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

// Waits until the phase of this parity is complete. PTX ISA: mbarrier.try_wait.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "waiting:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@!complete bra waiting;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Copies the box of the map that begins at these coordinates, the contiguous dimension's first, to shared memory, and
// tells the barrier; what lies outside of the tensor arrives as the map says. PTX ISA: cp.async.bulk.tensor.
template <class... Coordinates>
__device__ __forceinline__ void copy_box(unsigned target, const TensorMap* map, unsigned barrier,
                                         Coordinates... begin) {
  constexpr int RANK = sizeof...(Coordinates);
  static_assert(RANK == 2 || RANK == 3, "boxes of matrices, whole, cut into columns or of a batch");
  const int at[] = {begin...};
  if constexpr (RANK == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            target),
        "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
            "r"(target),
        "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  }
}

// This block's number within its cluster. PTX ISA: %cluster_ctarank.
__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of the cluster meet; what they wrote before is visible after. In between they may do what concerns no
// other thread. PTX ISA: barrier.cluster.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
// The same where others need no more of this thread than barriers, which barrier_init_fence() has made visible: a
// release waits until all of the GPU would see what was written.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Where this block finds what block `rank` of the cluster has at the address that is `own` here. PTX ISA: mapa.
__device__ __forceinline__ unsigned remote_address(unsigned own, int rank) {
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own), "r"(rank));
  return remote;
}

// Reads a value of 4 or 8 bytes at a remote address. PTX ISA: ld.
template <class T>
__device__ __forceinline__ T load_remote(unsigned remote) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  T value;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(reinterpret_cast<u32&>(value)) : "r"(remote) : "memory");
  } else {
    asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(reinterpret_cast<u64&>(value)) : "r"(remote) : "memory");
  }
  return value;
}
