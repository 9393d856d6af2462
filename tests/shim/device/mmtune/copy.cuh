// Stands in for templates/device/copy.cuh: the same names and meanings, on the simulated machine.
#pragma once

template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

inline unsigned shared_address(const void* pointer) { return mmtune::shim::shared_address(pointer); }

template <int BYTES, bool AHEAD = false>
inline void copy_async(unsigned target, const void* source, bool valid) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
  mmtune::shim::copy_async(target, source, BYTES, valid);
}

inline void copy_unit_async(unsigned target, const void* source, int skipped, int bytes) {
  mmtune::shim::copy_unit_async(target, source, skipped, bytes);
}

inline void commit_copies() { mmtune::shim::commit_copies(); }

template <int PENDING>
inline void wait_copies() {
  mmtune::shim::wait_copies(PENDING);
}
