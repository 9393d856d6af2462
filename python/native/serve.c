// Products for frameworks that can also do them themselves: each is run, or passed on with a reason. What became of
// each shape is counted.
#include <stdlib.h>
#include <string.h>

#include "serve_call.h"

static const char kViews[] = "views";               // views, formats or shapes
static const char kUntuned[] = "not tuned";         // Only what is expected to be faster may run.
static const char kSlower[] = "cuBLAS is faster";   // `mmtune bench` has found it.
static const char kNotCompared[] = "not compared";  // A product alone says little of a batch.
static const char kRefused[] = "refused";           // The library refuses: its message says why.
static const char kCounted[] = "only counted";      // nothing may run
static const char kTooMany[] = "too many shapes";

/// A kind of call: all that decides which kernel runs.
typedef struct Shape {
  mmtune_call key;  ///< a call with alignments as addresses; struct_size 0: no shape yet
  bool decided;
  const char* why_not;  ///< why it is not expected to be faster; null: it is
  double expected_us;
  double cublas_ratio;  ///< how many times as long cuBLAS took, by `mmtune bench`; 0: not compared
  int64_t served;
  int64_t passed;
  const char* reason;  ///< the reason of the last that was passed on
  PyObject* message;   ///< what the library last said, or null
} Shape;

enum { kPlaces = 4096, kMostShapes = 3072 };

struct Shapes {
  int count;
  Shape places[kPlaces];
};

static uint64_t hash_of(const mmtune_call* key) {
  uint64_t words[sizeof(mmtune_call) / sizeof(uint64_t)], hash = 0;
  memcpy(words, key, sizeof(words));
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

/// What an address is aligned to, as far as kernels ask: 16 bytes.
static const void* alignment_of(const void* address) { return (const void*)((uintptr_t)address & 15u); }

static mmtune_call key_of(const mmtune_call* call) {
  mmtune_call key = *call;
  key.alpha = key.beta = 0;
  key.a = alignment_of(call->a), key.b = alignment_of(call->b);
  key.c = (void*)alignment_of(call->c);
  key.bias_vector = alignment_of(call->bias_vector);
  return key;
}

/// Null, with no exception, where there are too many.
static Shape* find_shape(Library* self, const mmtune_call* call) {
  if (self->shapes == NULL) self->shapes = calloc(1, sizeof(Shapes));
  if (self->shapes == NULL) return NULL;
  const mmtune_call key = key_of(call);
  Shapes* shapes = self->shapes;
  for (uint64_t place = hash_of(&key);; ++place) {
    Shape* shape = &shapes->places[place % kPlaces];
    if (memcmp(&shape->key, &key, sizeof(key)) == 0) return shape;
    if (shape->key.struct_size != 0) continue;
    if (shapes->count == kMostShapes) return NULL;
    ++shapes->count;
    shape->key = key;
    return shape;
  }
}

/// What is compared with cuBLAS: one product, nothing after it.
static mmtune_call plain(const mmtune_call* call) {
  mmtune_call one = *call;
  one.batch = 1;
  one.stride_a = one.stride_b = one.stride_c = 0;
  one.activation = MMTUNE_NO_ACTIVATION;
  one.bias = MMTUNE_NO_BIAS;
  one.bias_vector = NULL;
  return one;
}

/// The largest power of two up to 16, in bytes, that divides the address and so many elements.
static unsigned alignment(mmtune_precision precision, const void* address, int64_t elements) {
  const unsigned bytes = precision == MMTUNE_FP64 ? 8 : precision == MMTUNE_FP16 || precision == MMTUNE_BF16 ? 2 : 4;
  const unsigned all = (unsigned)(uintptr_t)address | (unsigned)elements * bytes | 16u;
  return all & (~all + 1);
}

/// Whether lines of an odd length are padded, which cuBLAS gains by: what was tuned and compared is packed.
static bool is_padded_to_align(const mmtune_call* call) {
  const bool by_rows = call->order == MMTUNE_ROW_MAJOR;
  const int64_t line_a = (call->transpose_a != 0) == by_rows ? call->m : call->k;
  const int64_t line_b = (call->transpose_b != 0) == by_rows ? call->k : call->n;
  const mmtune_precision precision = call->precision;
  return alignment(precision, call->a, call->lda) > alignment(precision, NULL, line_a) ||
         alignment(precision, call->b, call->ldb) > alignment(precision, NULL, line_b) ||
         alignment(precision, call->c, call->ldc) > alignment(precision, NULL, by_rows ? call->n : call->m);
}

/// Whether a call is expected to be faster than cuBLAS, as the stand-in for cuBLAS has it: tuned for just this size,
/// and not measured to be slower. For a batch it must have been compared, and the kernel of one product must run.
static const char* why_not_faster(const Library* self, const mmtune_call* call, Shape* shape) {
  mmtune_answer answer = MMTUNE_ANSWER_INIT;
  const mmtune_call one = plain(call);
  if (self->api.explain(self->handle, &one, &answer) != MMTUNE_OK) return kRefused;
  shape->expected_us = answer.expected_us;
  shape->cublas_ratio = answer.cublas_ratio;
  if (answer.match != MMTUNE_EXACT || is_padded_to_align(call)) return kUntuned;
  if (answer.cublas_ratio == 0 && !answer.measured) return kUntuned;
  if (answer.cublas_ratio > 0 && answer.cublas_ratio <= 1) return kSlower;
  if (call->batch == 1) return NULL;
  if (answer.cublas_ratio == 0) return kNotCompared;
  const mmtune_status status = self->api.explain(self->handle, call, &answer);
  return status == MMTUNE_OK && answer.match == MMTUNE_EXACT ? NULL : kUntuned;
}

static void decide(const Library* self, const mmtune_call* call, Shape* shape) {
  shape->why_not = why_not_faster(self, call, shape);
  shape->decided = true;
}

static PyObject* pass(Shape* shape, const char* reason) {
  if (shape != NULL) {
    ++shape->passed;
    shape->reason = reason;
  }
  return PyUnicode_FromString(reason);
}

/// A library that lost its GPU ends the program's work, and nobody else adds up an invariant product in its order; all
/// else the framework may do better.
static PyObject* refused(const Library* self, const mmtune_call* call, Shape* shape, mmtune_status status) {
  if (status == MMTUNE_DEVICE_LOST || call->invariant != 0) return raise_status(self, status);
  if (shape != NULL) {
    Py_XDECREF(shape->message);
    shape->message = PyUnicode_FromString(self->api.last_error());
  }
  PyErr_Clear();
  return pass(shape, kRefused);
}

/// Why the call may not run, or null. Counts it where it may not.
static const char* why_not(const Library* self, const mmtune_call* call, long flags, Shape* shape) {
  if ((flags & (kOnlyFaster | kOnlyCount)) == 0) return NULL;
  if (shape == NULL) return kTooMany;
  if (!shape->decided) decide(self, call, shape);
  return (flags & kOnlyCount) != 0 ? kCounted : shape->why_not;
}

/// Enqueues the described call; `out` is returned where that works. Only here is `out` written.
static PyObject* run(Library* self, const mmtune_call* described, PyObject* const* arguments, void* stream,
                     PyObject* out, Shape* shape) {
  mmtune_call call = *described;
  if (!begin_results(out, arguments[kAdded])) return NULL;
  PyObject* workspace;
  if (!allocate_workspace(self, arguments[kAllocate], &call, &workspace)) {
    Py_XDECREF(workspace);
    return NULL;
  }
  mmtune_status status = MMTUNE_OK;
  if (call.invariant != 0 && call.bias_vector != NULL && shape != NULL && !shape->decided) {
    status = self->api.prepare(self->handle, &call, 1, stream);  // Rounding before the bias gives other bits.
    shape->decided = status == MMTUNE_OK;
  }
  if (status == MMTUNE_OK) status = enqueue(self, &call, stream);
  Py_XDECREF(workspace);
  if (status != MMTUNE_OK) return refused(self, &call, shape, status);
  if (shape != NULL) ++shape->served;
  Py_INCREF(out);
  return out;
}

PyObject* library_serve(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  Library* self = (Library*)object;
  if (count != kServeArguments) return PyErr_Format(PyExc_TypeError, "_serve: %zd arguments", count);
  const long flags = PyLong_AsLong(arguments[kFlags]);
  void* stream = NULL;
  mmtune_call call;
  Operand results;
  if (PyErr_Occurred() || !is_open(self) || !read_stream(arguments[kStream], &stream)) return NULL;
  if (!read_call(arguments, flags, &call, &results)) {
    PyErr_Clear();
    return pass(NULL, kViews);
  }
  Shape* shape = find_shape(self, &call);
  const char* reason = why_not(self, &call, flags, shape);
  if (reason != NULL) return pass(shape, reason);
  if (arguments[kOut] != Py_None) return run(self, &call, arguments, stream, arguments[kOut], shape);
  PyObject* out = allocate_results(arguments[kA], &results, &call);
  if (out == NULL) return NULL;
  PyObject* result = run(self, &call, arguments, stream, out, shape);
  Py_DECREF(out);
  return result;
}

/// (precision, layout, m, n, k, batch, bias, activation, served, passed, reason, message, expected_us, cublas_ratio),
/// row-major.
static PyObject* row_of(const Shape* shape) {
  static const char* const kLayouts[] = {"nn", "nt", "tn", "tt"};
  static const char* const kActivations[] = {"", "relu", "gelu"};
  const mmtune_call* key = &shape->key;
  const bool by_rows = key->order == MMTUNE_ROW_MAJOR;
  const int left = by_rows ? key->transpose_a : key->transpose_b, right = by_rows ? key->transpose_b : key->transpose_a;
  return Py_BuildValue("ssLLLLOsLLsOdd", precision_name(key->precision), kLayouts[2 * left + right],
                       (long long)(by_rows ? key->m : key->n), (long long)(by_rows ? key->n : key->m),
                       (long long)key->k, (long long)key->batch, key->bias != MMTUNE_NO_BIAS ? Py_True : Py_False,
                       kActivations[key->activation], (long long)shape->served, (long long)shape->passed,
                       shape->reason == NULL ? "" : shape->reason, shape->message == NULL ? Py_None : shape->message,
                       shape->expected_us, shape->cublas_ratio);
}

PyObject* library_served(PyObject* object, PyObject* none) {
  (void)none;
  const Shapes* shapes = ((Library*)object)->shapes;
  PyObject* list = PyList_New(0);
  for (int i = 0; list != NULL && shapes != NULL && i < kPlaces; ++i) {
    if (shapes->places[i].key.struct_size == 0) continue;
    PyObject* row = row_of(&shapes->places[i]);
    if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}
