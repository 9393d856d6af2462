// Stands in for templates/device/access.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include "mmtune/copy.cuh"

template <int N, class T>
inline Vector<T, N> load_if(bool valid, const T* source) {
  return valid ? *reinterpret_cast<const Vector<T, N>*>(source) : Vector<T, N>{};
}

template <int N, class T>
inline void store_if(bool valid, T* target, const Vector<T, N>& values) {
  if (valid) *reinterpret_cast<Vector<T, N>*>(target) = values;
}

template <int N, class T>
inline void store_sums_if(bool valid, T* target, const Vector<T, N>& sums) {
  store_if(valid, target, sums);
}
