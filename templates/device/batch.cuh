// The parameters of kernels that are addresses. In a program for a batch, each layer of a grid's blocks, blockIdx.z,
// has a product of its own. Needs the rendered constant BATCHED: whether the program is for a batch.
#pragma once

#include "mmtune/numeric.cuh"

// Where a matrix, or a slice of the workspace, of every product is, as KernelAddress of runtime/arguments.h has it. It
// converts to the address of the block's own product.
template <class T>
struct BatchAddress {
  T* first;
  i64 step;  // bytes from one product's to the next one's; 0: they share it

  __device__ __forceinline__ operator T*() const {
    // Stays arithmetic of pointers, so that the compiler sees that they point to global memory.
    const char* const own = reinterpret_cast<const char*>(first) + static_cast<i64>(blockIdx.z) * step;
    return reinterpret_cast<T*>(const_cast<char*>(own));
  }
};

template <class Pointer, bool IN_BATCH>
struct ParameterOf {
  using type = Pointer;
};
template <class T>
struct ParameterOf<T*, true> {
  using type = BatchAddress<T>;
};
template <class T>
struct ParameterOf<T* __restrict__, true> {
  using type = BatchAddress<T>;
};

// What stands for a pointer among a kernel's parameters: in a plain program it is that pointer, in one for a batch what
// converts to the pointer of the block's product.
template <class Pointer>
using PerProduct = typename ParameterOf<Pointer, BATCHED>::type;
