// Reads the arrays of other packages.
#include "dlpack.h"

/// How arrays of a type are read.
typedef enum Way { kExchange, kVersioned, kUnversioned, kInterface, kDescribed, kNone } Way;

typedef struct Reader {
  PyObject* type;
  Way way;
  const DlExchange* exchange;  ///< null: the type has none
  bool may_be_negated;         ///< whether the type has PyTorch's is_neg()
  PyObject* streams;           ///< the function that tells a device's current stream, or None; null: not looked for yet
} Reader;

enum { kMostReaders = 16 };
static Reader readers[kMostReaders];  // the readers of the types seen first, and of the last one
static int reader_count = 0;

/// The tuple's numbers, which are `count` where that is not negative; returns how many, or -1.
static int read_tuple(PyObject* tuple, const char* name, int count, int64_t* values) {
  const Py_ssize_t size = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
  if (size < 0 || size > kMostExtents || (count >= 0 && size != count)) {
    PyErr_Format(PyExc_TypeError, "%s: %R: no tuple with a number for each extent", name, tuple);
    return -1;
  }
  for (Py_ssize_t i = 0; i < size; ++i) {
    values[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (values[i] != -1 || !PyErr_Occurred()) continue;
    PyErr_Format(PyExc_TypeError, "%s: %R: must be whole numbers of 64 bits", name, tuple);
    return -1;
  }
  return (int)size;
}

static bool read_address(PyObject* number, Operand* operand) {
  if (number == Py_None) return true;
  operand->address = (uintptr_t)PyLong_AsUnsignedLongLong(number);
  if (!PyErr_Occurred()) return true;
  PyErr_Format(PyExc_TypeError, "%s: address %R: must be a whole number of 64 bits, or None", operand->name, number);
  return false;
}

/// A borrowed item of a dictionary; null where it is missing or None.
static PyObject* item(PyObject* dictionary, const char* key) {
  PyObject* value = PyDict_GetItemString(dictionary, key);
  return value == Py_None ? NULL : value;
}

static bool find_format(PyObject* name, bool by_typestr, Operand* operand) {
  for (int format = 0; format < kFormatCount; ++format) {
    const char* known = by_typestr ? kFormats[format].typestr : kFormats[format].name;
    if (known != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, known) == 0) {
      operand->format = (Format)format;
      return true;
    }
  }
  PyErr_Format(PyExc_TypeError, "%s: elements of type %S: no matrix product of these exists", operand->name, name);
  return false;
}

static bool read_byte_strides(PyObject* strides, Operand* operand) {
  const int bytes = kFormats[operand->format].bytes;
  if (read_tuple(strides, operand->name, operand->rank, operand->strides) < 0) return false;
  for (int i = 0; i < operand->rank; ++i) {
    if (operand->strides[i] % bytes != 0) {
      PyErr_Format(PyExc_ValueError, "%s: strides %R in bytes: no multiples of the %d bytes of an element",
                   operand->name, strides, bytes);
      return false;
    }
  }
  for (int i = 0; i < operand->rank; ++i) operand->strides[i] /= bytes;
  return true;
}

// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
static bool read_interface(PyObject* interface, Operand* operand) {
  PyObject* data = PyDict_Check(interface) ? item(interface, "data") : NULL;
  PyObject* shape = data == NULL ? NULL : item(interface, "shape");
  PyObject* typestr = data == NULL ? NULL : item(interface, "typestr");
  if (shape == NULL || typestr == NULL || !PyTuple_Check(data) || PyTuple_Size(data) != 2) {
    PyErr_Format(PyExc_TypeError, "%s: __cuda_array_interface__ without data, shape or typestr", operand->name);
    return false;
  }
  if (item(interface, "mask") != NULL) {
    PyErr_Format(PyExc_TypeError, "%s: a masked array: pass one without a mask", operand->name);
    return false;
  }
  const int rank = read_tuple(shape, operand->name, -1, operand->shape);
  if (rank < 0 || !set_rank(operand, rank) || !find_format(typestr, true, operand)) return false;
  if (!read_address(PyTuple_GetItem(data, 0), operand)) return false;
  if (!read_flag(PyTuple_GetItem(data, 1), &operand->read_only)) return false;
  PyObject* stream = item(interface, "stream");
  void* address = NULL;
  if (stream != NULL && !read_stream(stream, &address)) return false;
  operand->stream = (uintptr_t)address;
  PyObject* strides = item(interface, "strides");
  if (strides == NULL) {
    set_packed(operand);
  } else if (!read_byte_strides(strides, operand)) {
    return false;
  }
  return check_shape(operand);
}

static bool read_described(PyObject* matrix, Operand* operand) {
  PyObject* address = PyObject_GetAttrString(matrix, "address");
  PyObject* dtype = PyObject_GetAttrString(matrix, "dtype");
  PyObject* shape = PyObject_GetAttrString(matrix, "shape");
  PyObject* strides = PyObject_GetAttrString(matrix, "strides");
  PyObject* read_only = PyObject_GetAttrString(matrix, "read_only");
  bool read = false;
  if (address != NULL && dtype != NULL && shape != NULL && strides != NULL && read_only != NULL) {
    operand->rank = read_tuple(shape, operand->name, -1, operand->shape);
    read = operand->rank >= 0 && read_tuple(strides, operand->name, operand->rank, operand->strides) >= 0 &&
           find_format(dtype, false, operand) && read_address(address, operand) && check_shape(operand) &&
           read_flag(read_only, &operand->read_only);
  }
  Py_XDECREF(address);
  Py_XDECREF(dtype);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  Py_XDECREF(read_only);
  return read;
}

static bool has_attribute(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttrString(object, name);
  PyErr_Clear();
  Py_XDECREF(value);
  return value != NULL;
}

static Reader reader_for(PyObject* array) {
  Reader reader = {(PyObject*)Py_TYPE(array), kNone, NULL, false, NULL};
  reader.may_be_negated = has_attribute(reader.type, "is_neg");
  PyObject* capsule = PyObject_GetAttrString(reader.type, "__dlpack_c_exchange_api__");
  if (capsule != NULL) reader.exchange = exchange_of(capsule);
  PyErr_Clear();
  Py_XDECREF(capsule);
  if (reader.exchange != NULL && reader.exchange->view != NULL) {
    reader.way = kExchange;
  } else if (has_attribute(reader.type, "_is_mmtune_matrix")) {
    reader.way = kDescribed;
  } else if (has_attribute(array, "__dlpack__")) {
    reader.way = kVersioned;
  } else if (has_attribute(array, "__cuda_array_interface__")) {
    reader.way = kInterface;
  }
  return reader;
}

static Reader* find_reader(PyObject* array) {
  PyObject* type = (PyObject*)Py_TYPE(array);
  for (int i = 0; i < reader_count; ++i) {
    if (readers[i].type == type) return &readers[i];
  }
  static Reader unread;
  const Reader reader = reader_for(array);
  if (reader.way == kNone) {
    unread = reader;
    return &unread;
  }
  Reader* place = &readers[reader_count < kMostReaders ? reader_count++ : kMostReaders - 1];
  PyObject *replaced = place->type, *streams = place->streams;
  *place = reader;
  Py_INCREF(type);
  Py_XDECREF(replaced);
  Py_XDECREF(streams);
  return place;
}

static bool read_by_interface(PyObject* array, Operand* operand) {
  PyObject* interface = PyObject_GetAttrString(array, "__cuda_array_interface__");
  const bool read = interface != NULL && read_interface(interface, operand);
  Py_XDECREF(interface);
  return read;
}

static bool read_by_dlpack(PyObject* array, Way way, bool writes, Operand* operand) {
  PyObject* capsule = dlpack_capsule(array, way == kVersioned);
  if (capsule == NULL && way == kVersioned && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = dlpack_capsule(array, false);
    way = kUnversioned;
    if (capsule != NULL) find_reader(array)->way = way;
  }
  if (capsule == NULL) return false;
  const bool read = read_capsule(capsule, operand);
  Py_DECREF(capsule);
  if (read && writes && way == kUnversioned) {
    Operand other = {.name = operand->name};
    if (read_by_interface(array, &other)) operand->read_only = other.read_only;
    PyErr_Clear();
  }
  return read;
}

bool read_operand(PyObject* array, const char* name, bool writes, Operand* operand) {
  operand->name = name;
  operand->address = 0;
  operand->device = kUnknownDevice;
  operand->read_only = false;
  operand->stream = 0;
  const Reader reader = *find_reader(array);
  switch (reader.way) {
    case kExchange: {
      DlTensor tensor;
      return reader.exchange->view(array, &tensor) == 0 && read_tensor(&tensor, operand);
    }
    case kVersioned:
    case kUnversioned:
      return read_by_dlpack(array, reader.way, writes, operand);
    case kInterface:
      return read_by_interface(array, operand);
    case kDescribed:
      return read_described(array, operand);
    case kNone:
      break;
  }
  PyErr_Format(PyExc_TypeError, "%s: %R: offers neither DLPack nor __cuda_array_interface__", name,
               (PyObject*)Py_TYPE(array));
  return false;
}

bool read_stored(PyObject* array, const char* name, bool writes, Operand* operand) {
  if (find_reader(array)->may_be_negated) {
    PyObject* answer = PyObject_CallMethod(array, "is_neg", NULL);
    bool negated = false;
    const bool answered = answer != NULL && read_flag(answer, &negated);
    Py_XDECREF(answer);
    if (negated) PyErr_Format(PyExc_TypeError, "%s: a view that PyTorch negates; pass resolve_neg()", name);
    if (!answered || negated) return false;
  }
  return read_operand(array, name, writes, operand);
}

/// The function of the package of a type that tells a device's current stream, or None: a new reference.
static PyObject* find_streams(PyObject* type) {
  PyObject* arrays = PyImport_ImportModule("mmtune.arrays");
  PyObject* streams = arrays == NULL ? NULL : PyObject_CallMethod(arrays, "current_streams", "O", type);
  Py_XDECREF(arrays);
  return streams;
}

bool find_current_stream(PyObject* array, const Operand* operand, bool* known, void** stream) {
  *known = true;
  *stream = (void*)operand->stream;
  if (operand->stream != 0) return true;
  Reader* reader = find_reader(array);
  if (reader->exchange != NULL && reader->exchange->current_stream != NULL) {
    return reader->exchange->current_stream(kDlCuda, operand->device, stream) == 0;
  }
  if (reader->streams == NULL) {
    PyObject* streams = find_streams(reader->type);
    if (streams == NULL) return false;
    reader = find_reader(array);  // To import lets other threads in, which may have taken its place.
    Py_XDECREF(reader->streams);
    reader->streams = streams;
  }
  *known = reader->streams != Py_None;
  if (!*known) return true;
  PyObject* current = PyObject_CallFunction(reader->streams, "i", (int)operand->device);
  const bool read = current != NULL && read_stream(current, stream);
  Py_XDECREF(current);
  return read;
}
