// Stands in for templates/device/pipeline.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include "mmtune/batch_map.cuh"
#include "mmtune/ring.cuh"

inline bool is_elected() { return threadIdx.x % 32 == 0; }

template <int SIZE>
inline int group_of_warp() {
  return threadIdx.x / SIZE;
}

inline void barrier_arrive(unsigned barrier) { mmtune::shim::barrier_arrive(barrier); }
inline void barrier_arrive_remote(unsigned remote) { mmtune::shim::barrier_arrive_remote(remote); }

inline void copy_box_to(unsigned short blocks, unsigned target, const TensorMap* map, unsigned barrier, int column,
                        int row) {
  const int at[] = {column, row};
  mmtune::shim::copy_box_to(blocks, target, map, barrier, at, 2);
}
inline void copy_box_to(unsigned short blocks, unsigned target, const BatchMap* map, unsigned barrier, int column,
                        int row) {
  const int at[] = {column, row, map->layer()};
  mmtune::shim::copy_box_to(blocks, target, &map->map, barrier, at, 3);
}

inline void prefetch_box(const TensorMap* map, int column, int row) {
  const int at[] = {column, row};
  mmtune::shim::prefetch_box(map, at, 2);
}
inline void prefetch_box(const BatchMap* map, int column, int row) {
  const int at[] = {column, row, map->layer()};
  mmtune::shim::prefetch_box(&map->map, at, 3);
}

inline void store_box(const TensorMap* map, unsigned source, int column, int row) {
  const int at[] = {column, row};
  mmtune::shim::store_box(map, source, at, 2);
}
inline void store_box(const BatchMap* map, unsigned source, int column, int row) {
  const int at[] = {column, row, map->layer()};
  mmtune::shim::store_box(&map->map, source, at, 3);
}
inline void commit_stores() { mmtune::shim::commit_stores(); }
template <int PENDING>
inline void wait_stores_read() {
  mmtune::shim::wait_stores_read(PENDING);
}
inline void fence_for_accelerator() { mmtune::shim::fence_for_accelerator(); }

inline void store_remote(unsigned remote, unsigned remote_barrier, const u32 (&words)[4]) {
  mmtune::shim::store_remote(remote, remote_barrier, words);
}

inline void prefetch_map(const TensorMap*) {}
inline void prefetch_map(const BatchMap*) {}

template <int THREADS_>
inline void meet(int barrier) {
  mmtune::shim::meet(barrier, THREADS_);
}
template <int THREADS_>
inline void arrive(int barrier) {
  mmtune::shim::arrive(barrier, THREADS_);
}

inline u32 to_pair(bfloat_t, float first, float second) {
  return to_bfloat(first).bits | static_cast<u32>(to_bfloat(second).bits) << 16;
}
inline u32 to_pair(half_t, float first, float second) {
  return to_half(first).bits | static_cast<u32>(to_half(second).bits) << 16;
}
