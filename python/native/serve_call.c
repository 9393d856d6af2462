#include "serve_call.h"

/// Makes two extents of several: all but the last become the rows. Only views of one distance between rows.
static bool flatten(Operand* operand) {
  const int last = operand->rank - 1;
  if (last < 0) return false;
  int64_t rows = 1, stride = 0;
  for (int i = last - 1; i >= 0; --i) {
    if (operand->shape[i] == 1) continue;
    if (rows == 1) {
      stride = operand->strides[i];
    } else if (operand->strides[i] != rows * stride) {
      return false;
    }
    rows *= operand->shape[i];
  }
  operand->shape[1] = operand->shape[last], operand->strides[1] = operand->strides[last];
  operand->shape[0] = rows, operand->strides[0] = stride;
  operand->rank = 2;
  return true;
}

static void swap(int64_t* a, int64_t* b) {
  const int64_t kept = *a;
  *a = *b, *b = kept;
}

/// Exchanges the last two extents.
static void transpose(Operand* operand) {
  const int last = operand->rank - 1;
  swap(&operand->shape[last - 1], &operand->shape[last]);
  swap(&operand->strides[last - 1], &operand->strides[last]);
}

/// Formats whose products frameworks have, too.
static bool is_common(Format format) { return format == kF32 || format == kF64 || format == kF16 || format == kBf16; }

/// Packed results that are not allocated yet: their extents are those of `a`, but for the last one.
static void describe_results(const Operand* a, int64_t columns, Operand* out) {
  *out = *a;
  out->name = "out";
  out->address = 0;
  out->read_only = false;
  out->shape[out->rank - 1] = columns;
  set_packed(out);
}

bool read_call(PyObject* const* arguments, long flags, mmtune_call* call, Operand* results) {
  Product product;
  if (!read_operand(arguments[kA], "a", false, &product.a) || !read_operand(arguments[kB], "b", false, &product.b) ||
      !is_common(product.a.format) || product.a.format != product.b.format || product.a.rank == 0 ||
      product.b.rank < 2) {
    return false;
  }
  product.bias.rank = 0;
  if (arguments[kBias] != Py_None &&
      (!read_operand(arguments[kBias], "bias", false, &product.bias) || product.bias.rank == 0)) {
    return false;
  }
  if ((flags & kLinear) != 0) transpose(&product.b);
  if (arguments[kOut] == Py_None) {
    describe_results(&product.a, product.b.shape[product.b.rank - 1], &product.c);
    *results = product.c;
  } else if (!read_operand(arguments[kOut], "out", true, &product.c) || product.c.format != product.a.format) {
    return false;
  }
  product.alpha = PyFloat_AsDouble(arguments[kAlpha]);
  product.beta = PyFloat_AsDouble(arguments[kBeta]);
  product.precision = (flags & kTf32) != 0 && product.a.format == kF32 ? "tf32" : NULL;
  product.activation = (mmtune_activation)((flags >> kActivationShift) & kActivationMask);
  product.device_alpha = product.device_beta = NULL;
  product.invariant = (flags & kInvariant) != 0;
  if (PyErr_Occurred()) return false;
  if ((flags & kLinear) != 0 && (product.b.rank != 2 || !flatten(&product.a) || !flatten(&product.c))) return false;
  if (!call_of(&product, call)) return false;
  return call->m > 0 && call->n > 0 && call->k > 0 && call->batch > 0;
}

PyObject* allocate_results(PyObject* a, const Operand* results, mmtune_call* call) {
  PyObject* shape = tuple_of(results->shape, results->rank);
  PyObject* out = shape == NULL ? NULL : PyObject_CallMethod(a, "new_empty", "(O)", shape);
  Py_XDECREF(shape);
  Operand allocated;
  if (out != NULL && read_operand(out, "out", true, &allocated)) {
    call->c = (void*)allocated.address;
    return out;
  }
  Py_XDECREF(out);
  return NULL;
}

bool begin_results(PyObject* out, PyObject* added) {
  if (added == Py_None || added == out) return true;
  PyObject* copied = PyObject_CallMethod(out, "copy_", "(O)", added);
  Py_XDECREF(copied);
  return copied != NULL;
}

bool allocate_workspace(const Library* self, PyObject* allocate, mmtune_call* call, PyObject** kept) {
  *kept = NULL;
  if (allocate == Py_None || self->api.workspace_bytes(self->handle, call, &call->workspace_bytes) != MMTUNE_OK ||
      call->workspace_bytes == 0) {
    call->workspace_bytes = 0;
    return true;
  }
  PyObject* bytes = PyLong_FromSize_t(call->workspace_bytes);
  *kept = bytes == NULL ? NULL : PyObject_CallFunctionObjArgs(allocate, bytes, NULL);
  Py_XDECREF(bytes);
  Operand memory;
  if (*kept == NULL || !read_operand(*kept, "workspace", true, &memory)) return false;
  call->workspace = (void*)memory.address;
  return true;
}
