// What a program in C does with the library.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// C = A B of these numbers in fp64, row-major and packed, with the library's current device. Returns 0, or says on
/// stderr what failed.
int multiply_in_c(size_t m, size_t n, size_t k, const double* a, const double* b, double* c);

#ifdef __cplusplus
}
#endif
