/* A C program that calls cuBLAS as any does, and says what its calls cost the host: what,microseconds a line.
   Where MMTUNE_RECORD is set, the size that is never tuned is left out. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of the headers of cuBLAS, which need not be installed here. */
int cublasCreate_v2(void** handle);
int cublasSetMathMode(void* handle, int mode);
int cublasSgemm_v2(void* handle, int transa, int transb, int m, int n, int k, const float* alpha, const float* A,
                   int lda, const float* B, int ldb, const float* beta, float* C, int ldc);
int cublasLtMatmul(void* handle, void* desc, const void* alpha, const void* A, void* Adesc, const void* B, void* Bdesc,
                   const void* beta, const void* C, void* Cdesc, void* D, void* Ddesc, const void* algo,
                   void* workspace, size_t bytes, void* stream);

enum { SIZE = 64, CALLS = 50, GROUPS = 200, PEDANTIC = 2, EPILOGUE = 7, GELU = 32, COMPUTE_32F = 68, R_32F = 0 };

static void* handle;
static void* product;
static void* layout;
static float *a, *b, *c;
static int rows = SIZE;

static int sgemm(void) {
  const float alpha = 1, beta = 0;
  return cublasSgemm_v2(handle, 0, 0, rows, SIZE, SIZE, &alpha, a, rows, b, SIZE, &beta, c, rows);
}

static int with_gelu(void) {
  const float alpha = 1, beta = 0;
  return cublasLtMatmul(handle, product, &alpha, a, layout, b, layout, &beta, c, layout, c, layout, NULL, NULL, 0,
                        NULL);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int ascending(const void* x, const void* y) {
  const double difference = *(const double*)x - *(const double*)y;
  return difference < 0 ? -1 : difference > 0;
}

/* The median of groups, between which the GPU is waited for. */
static void say(const char* what, int (*call)(void)) {
  static double us[GROUPS];
  for (int i = 0; i < GROUPS; ++i) {
    const double start = now_us();
    for (int j = 0; j < CALLS; ++j) {
      if (call() != 0) exit(3);
    }
    us[i] = (now_us() - start) / CALLS;
    cuCtxSynchronize();
  }
  qsort(us, GROUPS, sizeof us[0], ascending);
  printf("%s,%.3f\n", what, us[GROUPS / 2]);
}

static void make_descriptors(void) {
  int (*create_product)(void**, int, int), (*set)(void*, int, const void*, size_t);
  int (*create_layout)(void**, int, uint64_t, uint64_t, int64_t);
  *(void**)&create_product = dlsym(RTLD_DEFAULT, "cublasLtMatmulDescCreate");
  *(void**)&set = dlsym(RTLD_DEFAULT, "cublasLtMatmulDescSetAttribute");
  *(void**)&create_layout = dlsym(RTLD_DEFAULT, "cublasLtMatrixLayoutCreate");
  if (create_product == NULL || set == NULL || create_layout == NULL) return;
  const uint32_t gelu = GELU;
  create_product(&product, COMPUTE_32F, R_32F);
  set(product, EPILOGUE, &gelu, sizeof gelu);
  create_layout(&layout, R_32F, SIZE, SIZE, SIZE);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr memory[3];
  if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0) return 2;
  cuCtxSetCurrent(context);
  for (int i = 0; i < 3; ++i) {
    cuMemAlloc(&memory[i], 4 * (SIZE + 1) * SIZE);
    cuMemsetD8(memory[i], 0, 4 * (SIZE + 1) * SIZE);
  }
  a = (float*)memory[0], b = (float*)memory[1], c = (float*)memory[2];
  if (cublasCreate_v2(&handle) != 0) return 2;
  make_descriptors();
  for (int i = 0; i < 3; ++i) sgemm();
  say("sgemm: host time fp32 64x64x64", sgemm);
  if (getenv("MMTUNE_RECORD") == NULL) {
    rows = SIZE + 1;
    for (int i = 0; i < 3; ++i) sgemm();
    say("sgemm not tuned: host time fp32 65x64x64", sgemm);
    rows = SIZE;
  }
  cublasSetMathMode(handle, PEDANTIC);
  say("sgemm pedantic: host time - -", sgemm);
  if (product != NULL) say("cublasLtMatmul with GELU: host time - -", with_gelu);
  return 0;
}
