// Reads the streams of other packages.
#include "native.h"

static bool is_number(PyObject* value) { return PyLong_Check(value) && !PyBool_Check(value); }

/// What __cuda_stream__ gives, (0, address), as a new reference to the address; null where it gives something else.
/// https://nvidia.github.io/cuda-python/cuda-core/latest/interoperability.html#cuda-stream-protocol
static PyObject* stream_by_protocol(PyObject* stream) {
  PyObject* pair = PyObject_CallMethod(stream, "__cuda_stream__", NULL);
  PyObject* address = NULL;
  int version = 0;
  const bool has_address = pair != NULL && PyArg_ParseTuple(pair, "iO!", &version, &PyLong_Type, &address);
  if (!has_address || version != 0) address = NULL;
  Py_XINCREF(address);
  Py_XDECREF(pair);
  PyErr_Clear();
  return address;
}

/// The address that an object with these attributes has, a new reference; null without an exception where it has none.
static PyObject* stream_attribute(PyObject* stream) {
  static const char* const kAttributes[] = {"cuda_stream", "ptr"};  // the attributes of PyTorch and of CuPy
  for (int i = 0; i < 2; ++i) {
    PyObject* value = PyObject_GetAttrString(stream, kAttributes[i]);
    PyErr_Clear();
    if (value != NULL && is_number(value)) return value;
    Py_XDECREF(value);
  }
  return stream_by_protocol(stream);
}

bool read_stream(PyObject* stream, void** address) {
  *address = NULL;
  if (stream == Py_None) return true;
  PyObject* number = is_number(stream) ? stream : stream_attribute(stream);
  if (number == stream) Py_INCREF(number);
  if (number != NULL) {
    *address = (void*)(uintptr_t)PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_TypeError, "stream: %R is none; pass one of PyTorch or CuPy, its address, or None", stream);
  return false;
}
