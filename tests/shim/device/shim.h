// What a rendered source sees when it is compiled for the host instead of for a GPU: the keywords, built-in
// variables and functions of CUDA C++.
//
// The headers beside this page stand in for those of templates/device with PTX in them; all others are the real ones.
#pragma once

#include "calls.h"

// What is used of <math.h>, which would take a tenth of the time that a kernel takes to compile.
extern "C" {
double erfc(double x);
float erfcf(float x);
double fabs(double x);
float fabsf(float x);
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);
int ilogbf(float x);
float ldexpf(float x, int exponent);
float nearbyintf(float x);
}
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

#define __device__
#define __global__ inline  // so that only what is launched is compiled
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static  // extern declarations are taken out of the text, see tests/shim/program.cpp

#define threadIdx (::mmtune::shim::thread_index())
#define blockIdx (::mmtune::shim::block_index())
#define gridDim (::mmtune::shim::grid_size())
#define __syncwarp() ::mmtune::shim::sync_warp(__LINE__)
#define __syncthreads() ::mmtune::shim::sync_threads(__LINE__)
#define __umul64hi(a, b) (::mmtune::shim::high_half(a, b))
#define __shfl_xor_sync(mask, value, lane_mask) ::mmtune::shim::shuffle_xor(mask, value, lane_mask, __LINE__)

namespace mmtune::shim {

inline unsigned long long high_half(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

template <class T>
T shuffle_xor(unsigned mask, T value, int lane_mask, int line) {
  if (mask != ~0u) complain("a shuffle of less than a whole warp is not simulated");
  T result;
  exchange(&value, &result, sizeof(T), lane_mask, line);
  return result;
}

/// Calls a kernel when it is made.
struct Call {
  template <class... Parameters>
  explicit Call(void (*kernel)(Parameters...), auto&... arguments) {
    kernel(arguments...);
  }
};

template <class T>
T& argument_at(void*** next) {
  return *static_cast<T*>(*(*next)++);
}

/// Calls a kernel with the arguments at these addresses; what a launch does for one thread.
template <class... Parameters>
void call(void (*kernel)(Parameters...), void** arguments, int count) {
  if (count != sizeof...(Parameters)) complain("the plan gives the kernel another number of arguments than it takes");
  Call{kernel, argument_at<Parameters>(&arguments)...};  // braces: one after the other
}

}  // namespace mmtune::shim
