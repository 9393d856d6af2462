// Stands in for templates/device/tma.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/numeric.cuh"

struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

inline void barrier_init(unsigned barrier, int count) { mmtune::shim::barrier_init(barrier, count); }
inline void barrier_init_fence() { mmtune::shim::barrier_init_fence(); }
inline void barrier_expect(unsigned barrier, int bytes) { mmtune::shim::barrier_expect(barrier, bytes); }
inline void barrier_wait(unsigned barrier, unsigned parity) { mmtune::shim::barrier_wait(barrier, parity); }

template <class... Coordinates>
inline void copy_box(unsigned target, const TensorMap* map, unsigned barrier, Coordinates... begin) {
  const int at[] = {begin...};
  mmtune::shim::copy_box(target, map, barrier, at, sizeof...(begin));
}

inline int cluster_rank() { return mmtune::shim::cluster_rank(); }
inline void cluster_arrive() { mmtune::shim::cluster_arrive(); }
inline void cluster_arrive_relaxed() { mmtune::shim::cluster_arrive(); }
inline void cluster_wait() { mmtune::shim::cluster_wait(); }
inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

inline unsigned remote_address(unsigned own, int rank) { return mmtune::shim::remote_address(own, rank); }

template <class T>
inline T load_remote(unsigned remote) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  T value;
  mmtune::shim::load_remote(&value, remote, sizeof(T));
  return value;
}
