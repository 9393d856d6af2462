// A library that pretends to be cuBLAS and cuBLASLt: it keeps what handles and descriptors are told, and counts
// products instead of computing them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// How often the function of this name was called, by programs or by cuBLAS itself; 0 for a name that it has not.
int fake_cublas_calls(const char* name);
void fake_cublas_forget_calls();

int cublasCreate_v2(void** handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasSetWorkspace_v2(void* handle, void* workspace, std::size_t bytes);
int cublasSetPointerMode_v2(void* handle, int mode);
int cublasSetMathMode(void* handle, int mode);
int cublasDestroy_v2(void* handle);

/// Descriptors with these values of attributes, whatever they are of; freed with the last of their kind.
void* fake_cublas_descriptor();
void fake_cublas_set(void* descriptor, int attribute, std::int64_t value);
void fake_cublas_free(void* descriptor);
}
