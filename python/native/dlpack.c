#include "dlpack.h"

#include <string.h>

typedef struct DlVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DlVersioned*);
  uint64_t flags;
  DlTensor tensor;
} DlVersioned;

enum { kDlReadOnly = 1, kDlCopied = 2 };

const DlExchange* exchange_of(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dlpack_exchange_api")) return NULL;
  const DlExchange* table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  while (table != NULL && table->major != 1) table = table->previous;
  return table;
}

bool read_tensor(const DlTensor* tensor, Operand* operand) {
  if (tensor->device_type != kDlCuda && tensor->device_type != kDlCudaManaged) {
    PyErr_Format(PyExc_TypeError, "%s: memory of DLPack device type %d: pass device memory of a CUDA GPU",
                 operand->name, (int)tensor->device_type);
    return false;
  }
  int format = 0;
  while (format < kFormatCount &&
         (kFormats[format].code != tensor->code || 8 * kFormats[format].bytes != tensor->bits)) {
    ++format;
  }
  if (format == kFormatCount || tensor->lanes != 1) {
    PyErr_Format(PyExc_TypeError, "%s: elements of DLPack type %d with %d bits: no matrix product of these exists",
                 operand->name, (int)tensor->code, (int)tensor->bits);
    return false;
  }
  if (!set_rank(operand, tensor->rank)) return false;
  operand->format = (Format)format;
  operand->address = (uintptr_t)tensor->data + tensor->byte_offset;
  operand->device = tensor->device_type == kDlCuda ? tensor->device : kUnknownDevice;
  const size_t bytes = (size_t)operand->rank * sizeof(int64_t);
  if (bytes > 0) memcpy(operand->shape, tensor->shape, bytes);
  if (tensor->strides == NULL) {
    set_packed(operand);
  } else if (bytes > 0) {
    memcpy(operand->strides, tensor->strides, bytes);
  }
  return check_shape(operand);
}

PyObject* dlpack_capsule(PyObject* array, bool versioned) {
  PyObject* method = PyObject_GetAttrString(array, "__dlpack__");
  PyObject* none = PyTuple_New(0);
  PyObject* named = versioned ? Py_BuildValue("{s:i,s:(ii)}", "stream", -1, "max_version", 1, 1)
                              : Py_BuildValue("{s:i}", "stream", -1);
  PyObject* capsule = method == NULL || none == NULL || named == NULL ? NULL : PyObject_Call(method, none, named);
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(named);
  return capsule;
}

bool read_capsule(PyObject* capsule, Operand* operand) {
  if (PyCapsule_IsValid(capsule, "dltensor")) return read_tensor(PyCapsule_GetPointer(capsule, "dltensor"), operand);
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    PyErr_Format(PyExc_TypeError, "%s: __dlpack__ gave %R, which is no capsule of DLPack", operand->name, capsule);
    return false;
  }
  const DlVersioned* versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (versioned->major != 1 || (versioned->flags & kDlCopied) != 0) {
    PyErr_Format(PyExc_TypeError, "%s: DLPack version %d, or a copy: pass an array whose memory others may use",
                 operand->name, (int)versioned->major);
    return false;
  }
  operand->read_only = (versioned->flags & kDlReadOnly) != 0;
  return read_tensor(&versioned->tensor, operand);
}
