// The library for C11 and for other languages: what <mmtune/mmtune.h> does, with the same meaning, defaults and limits.
//
//     mmtune_library* library = NULL;
//     mmtune_options options = MMTUNE_OPTIONS_INIT;
//     mmtune_call call = MMTUNE_CALL_INIT;
//     call.m = 1024, call.n = 512, call.k = 256;
//     call.a = a, call.b = b, call.c = c;
//     if (mmtune_open(&options, &library) != MMTUNE_OK || mmtune_gemm(library, &call, stream) != MMTUNE_OK) {
//       fprintf(stderr, "%s\n", mmtune_last_error());
//     }
//
// Structs begin with their size, which the macros MMTUNE_…_INIT fill in with the defaults: a library may be newer than
// the program, whose shorter structs it then completes with defaults. It refuses longer ones, which only a program that
// was built for a newer library has. All functions may be called from any thread; none throws. Texts are UTF-8.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MMTUNE_API __attribute__((visibility("default")))
#else
#define MMTUNE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// What became of a call; mmtune_last_error() says more. Numbers are never changed.
typedef int32_t mmtune_status;
enum {
  MMTUNE_OK = 0,
  MMTUNE_USAGE_ERROR = 1,     ///< an argument makes no sense: the message names it
  MMTUNE_DEVICE_ERROR = 2,    ///< no usable GPU, driver or compiler
  MMTUNE_DEVICE_LOST = 3,     ///< the GPU or its context stopped working: nothing more runs in this process
  MMTUNE_OUT_OF_MEMORY = 4,   ///< The GPU or the host has no memory left.
  MMTUNE_DATABASE_ERROR = 5,  ///< machine code could not be read
  MMTUNE_NOTHING_TO_RUN = 6,  ///< no kernel can run the call yet, or one cannot be made: the message says what to do
};

/// enum class Precision of <mmtune/types.h>.
typedef int32_t mmtune_precision;
enum {
  MMTUNE_FP32 = 0,
  MMTUNE_FP64 = 1,
  MMTUNE_INT32 = 2,
  MMTUNE_FP16 = 3,
  MMTUNE_BF16 = 4,
  MMTUNE_FP16_FP32 = 5,
  MMTUNE_BF16_FP32 = 6,
  MMTUNE_TF32 = 7,
  MMTUNE_INT8 = 8,
  MMTUNE_E4M3_BF16 = 9,
  MMTUNE_E4M3_FP32 = 10,
  MMTUNE_E5M2_BF16 = 11,
  MMTUNE_E5M2_FP32 = 12,
  MMTUNE_FP32_EMULATED = 13,
  MMTUNE_BF16_X_FP32 = 14,
};

/// How the matrices of a call lie in memory.
typedef int32_t mmtune_order;
enum { MMTUNE_ROW_MAJOR = 0, MMTUNE_COLUMN_MAJOR = 1 };

/// Whether a matrix is as stored, or transposed.
typedef int32_t mmtune_transpose;
enum { MMTUNE_NO_TRANSPOSE = 0, MMTUNE_TRANSPOSE = 1 };

/// enum class Activation of <mmtune/epilogue.h>.
typedef int32_t mmtune_activation;
enum { MMTUNE_NO_ACTIVATION = 0, MMTUNE_RELU = 1, MMTUNE_GELU = 2 };

/// enum class Bias of <mmtune/epilogue.h>.
typedef int32_t mmtune_bias;
enum { MMTUNE_NO_BIAS = 0, MMTUNE_BIAS_PER_ROW = 1, MMTUNE_BIAS_PER_COLUMN = 2 };

/// How a kernel was found.
typedef int32_t mmtune_match;
enum { MMTUNE_EXACT = 0, MMTUNE_NEAREST = 1, MMTUNE_PREDICTED = 2, MMTUNE_FALLBACK = 3 };

enum { MMTUNE_CURRENT_DEVICE = -1 };

/// struct LibraryOptions. Null texts are empty ones.
typedef struct mmtune_options {
  size_t struct_size;
  const char* database;
  const char* model;
  int32_t device;
  int32_t compile_missing;  ///< 0 or 1
  int32_t compile_untuned;  ///< 0 or 1
  int32_t learn;            ///< 0 or 1
} mmtune_options;

#define MMTUNE_OPTIONS_INIT \
  { sizeof(mmtune_options), NULL, NULL, MMTUNE_CURRENT_DEVICE, 0, 0, 0 }

/// struct Gemm.
typedef struct mmtune_call {
  size_t struct_size;
  mmtune_precision precision;
  mmtune_order order;
  mmtune_transpose transpose_a;
  mmtune_transpose transpose_b;
  int64_t m, n, k;
  double alpha;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  double beta;
  void* c;
  int64_t ldc;
  void* workspace;
  size_t workspace_bytes;
  int64_t batch;
  int64_t stride_a, stride_b, stride_c;
  mmtune_activation activation;  ///< The rest is struct Epilogue; the first version of the struct has none.
  mmtune_bias bias;
  const void* bias_vector;
  const void* device_alpha;
  const void* device_beta;
  int32_t invariant;  ///< 0 or 1
} mmtune_call;

#define MMTUNE_CALL_INIT                                                                                              \
  {                                                                                                                   \
    sizeof(mmtune_call), MMTUNE_FP32, MMTUNE_ROW_MAJOR, MMTUNE_NO_TRANSPOSE, MMTUNE_NO_TRANSPOSE, 0, 0, 0, 1.0, NULL, \
        0, NULL, 0, 0.0, NULL, 0, NULL, 0, 1, 0, 0, 0, MMTUNE_NO_ACTIVATION, MMTUNE_NO_BIAS, NULL, NULL, NULL, 0      \
  }

/// struct Answer. The texts live until the calling thread's next mmtune_explain().
typedef struct mmtune_answer {
  size_t struct_size;
  mmtune_match match;
  int32_t measured;  ///< 0 or 1
  double expected_us;
  const char* family;
  const char* config;
  const char* why;
  double cublas_ratio;
} mmtune_answer;

#define MMTUNE_ANSWER_INIT \
  { sizeof(mmtune_answer), MMTUNE_FALLBACK, 0, 0.0, NULL, NULL, NULL, 0.0 }

typedef struct mmtune_library mmtune_library;

/// Library::open(). `options` may be null; `*library` is null where it fails.
MMTUNE_API mmtune_status mmtune_open(const mmtune_options* options, mmtune_library** library);

/// Does what Library's destructor does: after the last call has finished on the GPU, before the contexts that it was
/// used in. Null does nothing.
MMTUNE_API void mmtune_close(mmtune_library* library);

/// Library::enqueue(): returns without waiting for the GPU. `stream` is a CUstream or a cudaStream_t.
MMTUNE_API mmtune_status mmtune_gemm(mmtune_library* library, const mmtune_call* call, void* stream);

/// The same for `count` products, whose device addresses are in three arrays of the host.
MMTUNE_API mmtune_status mmtune_gemm_pointers(mmtune_library* library, const mmtune_call* call, const void* const* a,
                                              const void* const* b, void* const* c, size_t count, void* stream);

/// Library::prepare(). All calls have the struct_size of the first.
MMTUNE_API mmtune_status mmtune_prepare(mmtune_library* library, const mmtune_call* calls, size_t count, void* stream);

/// Library::plan(): what would run.
MMTUNE_API mmtune_status mmtune_explain(const mmtune_library* library, const mmtune_call* call, mmtune_answer* answer);

/// Library::workspace_bytes().
MMTUNE_API mmtune_status mmtune_workspace_bytes(const mmtune_library* library, const mmtune_call* call, size_t* bytes);

/// What was wrong with the last call of the calling thread that failed: object, cause and remedy on one printable line
/// of at most 2000 bytes. "" if none has; valid until another fails.
MMTUNE_API const char* mmtune_last_error(void);

/// "usage error"; "unknown status" for any other number.
MMTUNE_API const char* mmtune_status_text(mmtune_status status);

/// The version of the library that runs: "0.1.0".
MMTUNE_API const char* mmtune_version(void);

#ifdef __cplusplus
}
#endif
