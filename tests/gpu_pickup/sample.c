/* A C program that calls cuBLAS as any does, and says what its calls cost the host: a line of what, the microseconds of
   cuBLAS's own functions, and of those that the program got by their names, which may be another library's.
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
typedef int Sgemm(void* handle, int transa, int transb, int m, int n, int k, const float* alpha, const float* A,
                  int lda, const float* B, int ldb, const float* beta, float* C, int ldc);
typedef int GemmEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha, const void* A,
                   int Atype, int lda, const void* B, int Btype, int ldb, const void* beta, void* C, int Ctype, int ldc,
                   int compute, int algorithm);
typedef int SetStream(void* handle, void* stream);
typedef int SetWorkspace(void* handle, void* workspace, size_t bytes);
typedef int LtMatmul(void* handle, void* desc, const void* alpha, const void* A, void* Adesc, const void* B,
                     void* Bdesc, const void* beta, const void* C, void* Cdesc, void* D, void* Ddesc, const void* algo,
                     void* workspace, size_t bytes, void* stream);
Sgemm cublasSgemm_v2;
GemmEx cublasGemmEx;
LtMatmul cublasLtMatmul;
SetStream cublasSetStream_v2;
SetWorkspace cublasSetWorkspace_v2;

enum { SIZE = 64, CALLS = 50, GROUPS = 200, WORKSPACE = 32 << 20 };
enum { PEDANTIC = 2, R_32F = 0, R_16BF = 14, COMPUTE_32F = 68, ANY_ALGORITHM = -1 };
enum { EPILOGUE = 7, BIAS = 4, GELU = 32, BIAS_POINTER = 8 };

/* As cublasLtMatmulAlgoGetHeuristic fills it. */
typedef struct {
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} Heuristic;

/* What cublasLtMatmul is called with, prepared once as PyTorch keeps it. */
typedef struct {
  void* product;
  Heuristic heuristic;
} LtProduct;

typedef struct {
  Sgemm* sgemm;
  GemmEx* gemm_ex;
  LtMatmul* lt_matmul;
  SetStream* set_stream;
  SetWorkspace* set_workspace;
} Functions;

static const Functions by_name = {cublasSgemm_v2, cublasGemmEx, cublasLtMatmul, cublasSetStream_v2,
                                  cublasSetWorkspace_v2};
static Functions own;
static const Functions* functions = &by_name;
static void (*pause_stand_in)(int); /* null where there is none; cuBLAS calls itself by its public names, too */

static void* handle;
static void* layout;
static LtProduct with_bias, with_gelu;
static float *a, *b, *c;
static void* workspace;
static int rows = SIZE;

static int sgemm(void) {
  const float alpha = 1, beta = 0;
  return functions->sgemm(handle, 0, 0, rows, SIZE, SIZE, &alpha, a, rows, b, SIZE, &beta, c, rows);
}

static int gemm_ex(void) {
  const float alpha = 1, beta = 0;
  return functions->gemm_ex(handle, 0, 0, SIZE, SIZE, SIZE, &alpha, a, R_16BF, SIZE, b, R_16BF, SIZE, &beta, c, R_16BF,
                            SIZE, COMPUTE_32F, ANY_ALGORITHM);
}

static int lt_matmul(const LtProduct* lt) {
  const float alpha = 1, beta = 0;
  return functions->lt_matmul(handle, lt->product, &alpha, a, layout, b, layout, &beta, c, layout, c, layout,
                              lt->heuristic.algorithm, NULL, 0, NULL);
}

/* As PyTorch does before each product. */
static int sgemm_as_pytorch(void) {
  functions->set_stream(handle, NULL);
  functions->set_workspace(handle, workspace, WORKSPACE);
  return sgemm();
}

static int lt_with_bias(void) { return lt_matmul(&with_bias); }
static int lt_with_gelu(void) { return lt_matmul(&with_gelu); }

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int ascending(const void* x, const void* y) {
  const double difference = *(const double*)x - *(const double*)y;
  return difference < 0 ? -1 : difference > 0;
}

static void group(int (*call)(void), double* us) {
  const double start = now_us();
  for (int i = 0; i < CALLS; ++i) {
    if (call() != 0) exit(3);
  }
  *us = (now_us() - start) / CALLS;
  cuCtxSynchronize();
}

/* Medians of groups that take turns, between which the GPU is waited for. */
static void say(const char* what, int (*call)(void)) {
  static double us[2][GROUPS];
  for (int i = -1; i < GROUPS; ++i) {
    for (int j = 0; j < 2; ++j) {
      functions = j == 0 ? &own : &by_name;
      if (pause_stand_in != NULL) pause_stand_in(j == 0);
      group(call, &us[j][i < 0 ? 0 : i]); /* the first loads what is needed, and does not count */
    }
  }
  for (int j = 0; j < 2; ++j) qsort(us[j], GROUPS, sizeof us[j][0], ascending);
  printf("%s,%.3f,%.3f\n", what, us[0][GROUPS / 2], us[1][GROUPS / 2]);
}

static void* function(const char* name) { return dlsym(RTLD_DEFAULT, name); }

/* Leaves no product where cuBLASLt has no function of that name, or no algorithm. */
static void make_lt(LtProduct* lt, uint32_t epilogue) {
  int (*create)(void**, int, int), (*set)(void*, int, const void*, size_t), (*create_preference)(void**);
  int (*find)(void*, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*);
  *(void**)&create = function("cublasLtMatmulDescCreate");
  *(void**)&set = function("cublasLtMatmulDescSetAttribute");
  *(void**)&create_preference = function("cublasLtMatmulPreferenceCreate");
  *(void**)&find = function("cublasLtMatmulAlgoGetHeuristic");
  if (create == NULL || set == NULL || create_preference == NULL || find == NULL) return;
  void *product, *preference;
  const void* bias = a;
  create(&product, COMPUTE_32F, R_32F);
  set(product, EPILOGUE, &epilogue, sizeof epilogue);
  if (epilogue == BIAS) set(product, BIAS_POINTER, &bias, sizeof bias);
  create_preference(&preference); /* no workspace */
  int found = 0;
  if (find(handle, product, layout, layout, layout, layout, preference, 1, &lt->heuristic, &found) == 0 && found == 1) {
    lt->product = product;
  }
}

static void make_descriptors(void) {
  int (*create_layout)(void**, int, uint64_t, uint64_t, int64_t);
  *(void**)&create_layout = function("cublasLtMatrixLayoutCreate");
  if (create_layout == NULL) return;
  create_layout(&layout, R_32F, SIZE, SIZE, SIZE);
  make_lt(&with_bias, BIAS);
  make_lt(&with_gelu, GELU);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr memory[4];
  if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0) return 2;
  cuCtxSetCurrent(context);
  for (int i = 0; i < 3; ++i) {
    cuMemAlloc(&memory[i], 4 * (SIZE + 1) * SIZE);
    cuMemsetD8(memory[i], 0, 4 * (SIZE + 1) * SIZE);
  }
  cuMemAlloc(&memory[3], WORKSPACE);
  workspace = (void*)memory[3];
  a = (float*)memory[0], b = (float*)memory[1], c = (float*)memory[2];
  void* library = dlopen("libcublas.so.13", RTLD_NOLOAD | RTLD_LAZY);
  if (library == NULL || cublasCreate_v2(&handle) != 0) return 2;
  *(void**)&pause_stand_in = function("mmtune_cublas_pause");
  *(void**)&own.sgemm = dlsym(library, "cublasSgemm_v2");
  *(void**)&own.gemm_ex = dlsym(library, "cublasGemmEx");
  *(void**)&own.lt_matmul = dlsym(library, "cublasLtMatmul");
  *(void**)&own.set_stream = dlsym(library, "cublasSetStream_v2");
  *(void**)&own.set_workspace = dlsym(library, "cublasSetWorkspace_v2");
  make_descriptors();
  say("sgemm: host time fp32 64x64x64", sgemm);
  say("GemmEx: host time bf16 64x64x64", gemm_ex);
  if (with_bias.product != NULL) say("cublasLtMatmul with bias: host time fp32 64x64x64", lt_with_bias);
  if (getenv("MMTUNE_RECORD") == NULL) {
    rows = SIZE + 1;
    say("sgemm not tuned: host time fp32 65x64x64", sgemm);
    say("cublasSetStream and SetWorkspace and sgemm not tuned: host time fp32 65x64x64", sgemm_as_pytorch);
    rows = SIZE;
  }
  if (with_gelu.product != NULL) say("cublasLtMatmul with GELU (passed on): host time fp32 64x64x64", lt_with_gelu);
  cublasSetMathMode(handle, PEDANTIC);
  say("sgemm pedantic (passed on): host time fp32 64x64x64", sgemm);
  return 0;
}
