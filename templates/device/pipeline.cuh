// What the two ends of a ring of stages in shared memory need, warps that fill it by the tensor memory accelerator and
// warps that use it (sm_90 and later). Needs cluster addresses as tma.cuh has them.
#pragma once

#include "mmtune/batch_map.cuh"
#include "mmtune/ring.cuh"

// Whether this thread is the one of its whole warp that does what one does, always the same. The compiler then knows
// that the accelerator's instructions behind it run once. PTX ISA: elect.sync.
__device__ __forceinline__ bool is_elected() {
  u32 elected;
  asm volatile("{ .reg .pred one; elect.sync _|one, 0xffffffff; selp.u32 %0, 1, 0, one; }" : "=r"(elected)::"memory");
  return elected != 0;
}

// The number of this thread's group of SIZE threads, which the compiler then knows to be the same for a whole warp.
template <int SIZE>
__device__ __forceinline__ int group_of_warp() {
  return __shfl_sync(~0u, threadIdx.x / SIZE, 0);
}

// Arrives at a barrier of any block of the cluster. PTX ISA: mbarrier.arrive.
__device__ __forceinline__ void barrier_arrive_remote(unsigned remote) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// A copy_box() to the same place in every block of the cluster that `blocks` has a bit for; each one's barrier at
// that address counts the bytes. PTX ISA: cp.async.bulk.tensor, .multicast::cluster.
__device__ __forceinline__ void copy_box_to(unsigned short blocks, unsigned target, const TensorMap* map,
                                            unsigned barrier, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(target),
      "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void copy_box_to(unsigned short blocks, unsigned target, const BatchMap* map,
                                            unsigned barrier, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(target),
      "l"(&map->map), "r"(column), "r"(row), "r"(map->layer()), "r"(barrier), "h"(blocks)
      : "memory");
}

// Asks L2 for what lies inside of a box. Nothing is read: what is written to it meanwhile reaches L2 as well, so that it
// may be asked for before the step before has finished. PTX ISA: cp.async.bulk.prefetch.tensor.
__device__ __forceinline__ void prefetch_box(const TensorMap* map, int column, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(column), "r"(row)
               : "memory");
}
__device__ __forceinline__ void prefetch_box(const BatchMap* map, int column, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map->map), "r"(column),
               "r"(row), "r"(map->layer())
               : "memory");
}

// Copies a box from shared memory to the map's matrix, what lies inside of it. PTX ISA: cp.async.bulk.tensor.
__device__ __forceinline__ void store_box(const TensorMap* map, unsigned source, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column),
               "r"(row), "r"(source)
               : "memory");
}
__device__ __forceinline__ void store_box(const BatchMap* map, unsigned source, int column, int row) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map->map),
               "r"(column), "r"(row), "r"(map->layer()), "r"(source)
               : "memory");
}

// Closes a group of stores. PTX ISA: cp.async.bulk.commit_group.
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until shared memory of all but the PENDING latest groups of this thread's stores may be written again.
// PTX ISA: cp.async.bulk.wait_group.
template <int PENDING>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Makes this thread's writes to shared memory visible to the accelerator. PTX ISA: fence.proxy.async.
__device__ __forceinline__ void fence_for_accelerator() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Writes 16 bytes to the shared memory of any block of the cluster, whose barrier counts them. PTX ISA: st.async.
__device__ __forceinline__ void store_remote(unsigned remote, unsigned remote_barrier, const u32 (&words)[4]) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(remote),
      "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(remote_barrier)
      : "memory");
}

// Fetches a map before it is used. PTX ISA: prefetch.tensormap.
__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
__device__ __forceinline__ void prefetch_map(const BatchMap* map) { prefetch_map(&map->map); }

// THREADS_ threads of the block meet at one of its 16 barriers; 0 is that of __syncthreads(). One that only arrives
// does not wait. PTX ISA: barrier.
template <int THREADS_>
__device__ __forceinline__ void meet(int barrier) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "n"(THREADS_) : "memory");
}
template <int THREADS_>
__device__ __forceinline__ void arrive(int barrier) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "n"(THREADS_) : "memory");
}

// Two results, rounded, side by side: the first in the lower half. PTX ISA: cvt, with a packed destination.
__device__ __forceinline__ u32 to_pair(bfloat_t, float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ __forceinline__ u32 to_pair(half_t, float first, float second) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
