#include "tests/api/c_program.h"

#include <mmtune/blas.h>
#include <mmtune/mmtune_c.h>
#include <stdio.h>

static int report(mmtune_status status) {
  fprintf(stderr, "%s: %s\n", mmtune_status_text(status), mmtune_last_error());
  return 1;
}

int multiply_in_c(size_t m, size_t n, size_t k, const double* a, const double* b, double* c) {
  mmtune_library* library = NULL;
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  mmtune_call call = MMTUNE_CALL_INIT;
  mmtune_status status = mmtune_open(&options, &library);
  if (status != MMTUNE_OK) return report(status);

  call.precision = MMTUNE_FP64;
  call.m = (int64_t)m;
  call.n = (int64_t)n;
  call.k = (int64_t)k;
  call.a = a;
  call.b = b;
  call.c = c;
  status = mmtune_gemm(library, &call, NULL);
  if (status != MMTUNE_OK) report(status);
  mmtune_close(library);
  return status;
}
