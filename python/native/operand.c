// The format, rank, shape and strides that every operand has, however it was read.
#include "native.h"

const FormatTraits kFormats[kFormatCount] = {
    {"f32", 4, 2, "<f4"}, {"f64", 8, 2, "<f8"}, {"f16", 2, 2, "<f2"},  {"bf16", 2, 4, NULL},
    {"i32", 4, 0, "<i4"}, {"i8", 1, 0, "|i1"},  {"e4m3", 1, 10, NULL}, {"e5m2", 1, 12, NULL},
};

PyObject* tuple_of(const int64_t* values, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != NULL && i < count; ++i) PyTuple_SetItem(tuple, i, PyLong_FromLongLong(values[i]));
  return tuple;
}

bool read_flag(PyObject* value, bool* flag) {
  const int truth = PyObject_IsTrue(value);
  *flag = truth == 1;
  return truth >= 0;
}

void refuse_view(const Operand* operand, const char* why) {
  PyObject* shape = tuple_of(operand->shape, operand->rank);
  PyObject* strides = tuple_of(operand->strides, operand->rank);
  PyErr_Format(PyExc_ValueError, "%s: shape %R, strides %R in elements: %s", operand->name, shape, strides, why);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
}

bool set_rank(Operand* operand, int64_t rank) {
  if (rank >= 0 && rank <= kMostExtents) {
    operand->rank = (int)rank;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "%s: %lld extents: a matrix has two, a batch of them three", operand->name,
               (long long)rank);
  return false;
}

bool check_shape(const Operand* operand) {
  for (int i = 0; i < operand->rank; ++i) {
    if (operand->shape[i] < 0) {
      refuse_view(operand, "an extent cannot be negative");
      return false;
    }
  }
  return true;
}

void set_packed(Operand* operand) {
  int64_t product = 1;
  for (int i = operand->rank - 1; i >= 0; --i) {
    operand->strides[i] = product;
    if (__builtin_mul_overflow(product, operand->shape[i], &product)) product = 0;
  }
}
