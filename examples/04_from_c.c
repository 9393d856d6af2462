// C = A B from C, with 4 x 4 matrices by columns, as Fortran and BLAS have them.
#include <cuda_runtime_api.h>
#include <mmtune/mmtune_c.h>
#include <stdio.h>

enum { kSize = 4, kSkipped = 77 };

static int failed(void) {
  fprintf(stderr, "%s\n", mmtune_last_error());
  return 1;
}

int main(void) {
  double a[kSize * kSize], b[kSize * kSize] = {0}, c[kSize * kSize];
  double *device_a = NULL, *device_b = NULL, *device_c = NULL;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    puts("skipped: no GPU here");
    return kSkipped;
  }
  for (int i = 0; i < kSize * kSize; ++i) a[i] = i;
  for (int i = 0; i < kSize; ++i) b[i * kSize + i] = 2;
  if (cudaMalloc((void**)&device_a, sizeof a) != cudaSuccess ||
      cudaMalloc((void**)&device_b, sizeof b) != cudaSuccess ||
      cudaMalloc((void**)&device_c, sizeof c) != cudaSuccess) {
    return 1;
  }
  cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice);

  mmtune_options options = MMTUNE_OPTIONS_INIT;
  options.compile_missing = 1;
  mmtune_library* library = NULL;
  if (mmtune_open(&options, &library) != MMTUNE_OK) return failed();
  mmtune_call call = MMTUNE_CALL_INIT;
  call.precision = MMTUNE_FP64;
  call.order = MMTUNE_COLUMN_MAJOR;
  call.m = call.n = call.k = kSize;
  call.a = device_a;
  call.b = device_b;
  call.c = device_c;
  if (mmtune_gemm(library, &call, NULL) != MMTUNE_OK) return failed();

  cudaMemcpy(c, device_c, sizeof c, cudaMemcpyDeviceToHost);  // waits for the product
  mmtune_close(library);
  for (int i = 0; i < kSize * kSize; ++i) {
    if (c[i] != 2 * a[i]) return 1;
  }
  printf("mmtune %s: c[5] = %g\n", mmtune_version(), c[5]);
  return 0;
}
