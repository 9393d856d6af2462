// What preload/program.c loads: products of m x 4 x 3 by cuBLAS, in the context of the first GPU.
#include <cuda.h>

#include <vector>

#include "preload/cublas_abi.h"
#include "tests/fake_cublas/fake_cublas.h"

extern "C" mmtune::cublas::Plain<int> cublasSgemm_v2;

/// Returns how often cuBLAS itself multiplied.
extern "C" int multiply(int times, int m) {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  void* handle = nullptr;
  cublasCreate_v2(&handle);
  const std::vector<float> a(static_cast<std::size_t>(m) * 3, 1), b(12, 1);
  std::vector<float> c(static_cast<std::size_t>(m) * 4, 0);
  const float alpha = 1, beta = 0;
  for (int i = 0; i < times; ++i) {
    cublasSgemm_v2(handle, 0, 0, m, 4, 3, &alpha, a.data(), m, b.data(), 3, &beta, c.data(), m);
  }
  cublasDestroy_v2(handle);
  return fake_cublas_calls("cublasSgemm_v2");
}
