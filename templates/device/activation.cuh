// Functions of a result in the accumulator's type, by the numbers of mmtune::Activation
// (templates/include/mmtune/epilogue.h), which says what they are.
#pragma once

#include "mmtune/numeric.cuh"

template <int NUMBER>
struct Activation;

template <>
struct Activation<0> {  // none
  template <class Accumulator>
  static __device__ __forceinline__ Accumulator of(Accumulator x) {
    return x;
  }
};

template <>
struct Activation<1> {  // relu
  static __device__ __forceinline__ float of(float x) { return x < 0 ? 0 : x; }
  static __device__ __forceinline__ double of(double x) { return x < 0 ? 0 : x; }
  static __device__ __forceinline__ u32 of(u32 x) { return static_cast<int>(x) < 0 ? 0 : x; }
};

// The complementary error function, so that nothing cancels out below zero.
template <>
struct Activation<2> {  // gelu
  static __device__ __forceinline__ float of(float x) { return 0.5f * x * erfcf(-0.707106781f * x); }
  static __device__ __forceinline__ double of(double x) { return 0.5 * x * erfc(-0.70710678118654752 * x); }
};
