// The module mmtune._native.
#include "native.h"

bool bind(const Signature* signature, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords,
          PyObject** values) {
  if (positional > signature->count) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d arguments but %zd were given", signature->function, signature->count,
                 positional);
    return false;
  }
  for (int i = 0; i < signature->count; ++i) values[i] = i < positional ? arguments[i] : NULL;
  const Py_ssize_t named = keywords == NULL ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GetItem(keywords, i);
    int at = 0;
    while (at < signature->count && PyUnicode_CompareWithASCIIString(name, signature->names[at]) != 0) ++at;
    if (at == signature->count || values[at] != NULL) {
      PyErr_Format(PyExc_TypeError, "%s() got %s argument '%U'", signature->function,
                   at == signature->count ? "an unexpected" : "twice the", name);
      return false;
    }
    values[at] = arguments[positional + i];
  }
  for (int i = 0; i < signature->required; ++i) {
    if (values[i] != NULL) continue;
    PyErr_Format(PyExc_TypeError, "%s() misses the argument '%s'", signature->function, signature->names[i]);
    return false;
  }
  return true;
}

static PyObject* describe(PyObject* module, PyObject* array) {
  (void)module;
  Operand operand;
  if (!read_operand(array, "array", true, &operand)) return NULL;
  PyObject* shape = tuple_of(operand.shape, operand.rank);
  PyObject* strides = tuple_of(operand.strides, operand.rank);
  PyObject* result = Py_BuildValue("KsOOO", (unsigned long long)operand.address, kFormats[operand.format].name, shape,
                                   strides, operand.read_only ? Py_True : Py_False);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return result;
}

static PyMethodDef functions[] = {{"describe", describe, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "mmtune._native", NULL, -1, functions, NULL, NULL, NULL, NULL};

static const char kErrorText[] =
    "What the library says was wrong: object, cause and remedy. `status` is a mmtune_status of <mmtune/mmtune_c.h>.";

static bool add(PyObject* module, const char* name, PyObject* value) {
  return value != NULL && PyModule_AddObjectRef(module, name, value) == 0;
}

PyMODINIT_FUNC PyInit__native(void) {
  PyObject* module = PyModule_Create(&definition);
  PyObject* defaults = Py_BuildValue("{s:i}", "status", MMTUNE_USAGE_ERROR);
  mmtune_error = PyErr_NewExceptionWithDoc("mmtune.Error", kErrorText, NULL, defaults);
  PyObject* library = PyType_FromSpec(&library_spec);
  const bool complete = module != NULL && add(module, "Error", mmtune_error) && add(module, "Library", library);
  Py_XDECREF(defaults);
  Py_XDECREF(library);
  if (complete) return module;
  Py_XDECREF(module);
  return NULL;
}
