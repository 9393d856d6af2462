// The type Library: libmmtune.so, opened by name.
#include <dlfcn.h>
#include <string.h>

#include "native.h"

PyObject* mmtune_error = NULL;

void* raise_status(const Library* self, mmtune_status status) {
  const char* text = self->api.last_error();
  PyObject* message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  PyObject* error = message == NULL ? NULL : PyObject_CallFunctionObjArgs(mmtune_error, message, NULL);
  PyObject* number = error == NULL ? NULL : PyLong_FromLong(status);
  if (number != NULL && PyObject_SetAttrString(error, "status", number) == 0) PyErr_SetObject(mmtune_error, error);
  Py_XDECREF(message);
  Py_XDECREF(error);
  Py_XDECREF(number);
  return NULL;
}

bool is_open(const Library* self) {
  if (self->handle != NULL && !self->closing) return true;
  PyErr_SetString(mmtune_error, "the library is closed; open another one");
  return false;
}

/// Once nothing of the library runs in another thread.
static void close_if_unused(Library* self) {
  if (!self->closing || self->users > 0 || self->handle == NULL) return;
  mmtune_library* handle = self->handle;
  self->handle = NULL;
  Py_BEGIN_ALLOW_THREADS;
  self->api.close(handle);
  Py_END_ALLOW_THREADS;
}

/// A call that ran without Python's global lock is over.
static void end_use(Library* self) {
  --self->users;
  close_if_unused(self);
}

mmtune_status enqueue(Library* self, const mmtune_call* call, void* stream) {
  ++self->users;
  mmtune_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = self->api.gemm(self->handle, call, stream);
  Py_END_ALLOW_THREADS;
  end_use(self);
  return status;
}

// -- opening ----------------------------------------------------------------------------------------------------------

static bool load_function(void* library, const char* path, const char* name, void* function) {
  void* address = dlsym(library, name);
  memcpy(function, &address, sizeof(address));
  if (address == NULL) PyErr_Format(mmtune_error, "%s: has no %s; pass the libmmtune.so of this version", path, name);
  return address != NULL;
}

/// The file stays loaded as long as the process.
static bool load(const char* path, Api* api) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    PyErr_Format(mmtune_error, "%s; set LD_LIBRARY_PATH to the directory of libmmtune.so, or pass path=", dlerror());
    return false;
  }
  return load_function(library, path, "mmtune_open", &api->open) &&
         load_function(library, path, "mmtune_close", &api->close) &&
         load_function(library, path, "mmtune_gemm", &api->gemm) &&
         load_function(library, path, "mmtune_prepare", &api->prepare) &&
         load_function(library, path, "mmtune_explain", &api->explain) &&
         load_function(library, path, "mmtune_workspace_bytes", &api->workspace_bytes) &&
         load_function(library, path, "mmtune_last_error", &api->last_error);
}

/// The bytes of a path or text, a new reference; null without an exception for None. Texts of C end at a NUL.
static bool read_text(PyObject* value, const char* name, PyObject** bytes) {
  *bytes = NULL;
  if (value == NULL || value == Py_None) return true;
  if (PyUnicode_FSConverter(value, bytes)) return true;
  PyObject* kind = PyErr_ExceptionMatches(PyExc_ValueError) ? PyExc_ValueError : PyExc_TypeError;
  if (PyErr_ExceptionMatches(kind)) PyErr_Format(kind, "%s %R: must be a path or text without a NUL", name, value);
  return false;
}

static const char* text_of(PyObject* bytes) { return bytes == NULL ? NULL : PyBytes_AsString(bytes); }

static bool read_device(PyObject* value, int32_t* device) {
  *device = MMTUNE_CURRENT_DEVICE;
  if (value == NULL) return true;
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(value, &overflow);
  if (PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "device %R: must be the number of a CUDA device, or -1", value);
    return false;
  }
  *device = (int32_t)number;
  if (overflow == 0 && number >= MMTUNE_CURRENT_DEVICE && number <= INT32_MAX) return true;
  PyErr_Format(PyExc_ValueError, "device %S: give the number of a CUDA device, or -1 for the current one", value);
  return false;
}

static bool open_library(Library* self, PyObject* const* values) {
  PyObject *path = NULL, *database = NULL, *model = NULL;
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  bool compile_untuned = true, learn = false;
  bool opened = read_device(values[1], &options.device) && read_text(values[0], "path", &path) &&
                read_text(values[2], "database", &database) && read_text(values[3], "model", &model) &&
                (values[4] == NULL || read_flag(values[4], &compile_untuned)) &&
                (values[5] == NULL || read_flag(values[5], &learn)) && load(text_of(path), &self->api);
  if (opened) {
    options.database = text_of(database);
    options.model = text_of(model);
    options.compile_untuned = compile_untuned;
    options.learn = learn;
    mmtune_library* handle = NULL;
    mmtune_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = self->api.open(&options, &handle);
    Py_END_ALLOW_THREADS;
    self->handle = handle;
    opened = status == MMTUNE_OK;
    if (!opened) raise_status(self, status);
  }
  Py_XDECREF(path);
  Py_XDECREF(database);
  Py_XDECREF(model);
  return opened;
}

static int library_init(PyObject* object, PyObject* arguments, PyObject* named) {
  static char* names[] = {"path", "device", "database", "model", "compile_untuned", "learn", NULL};
  PyObject* values[6] = {NULL};
  Library* self = (Library*)object;
  if (self->handle != NULL || self->closing) {
    PyErr_SetString(mmtune_error, "the library was opened already; make another one");
    return -1;
  }
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|OOOOO", names, &values[0], &values[1], &values[2], &values[3],
                                   &values[4], &values[5])) {
    return -1;
  }
  return open_library(self, values) ? 0 : -1;
}

/// Does not close: kernels may still run. That is the caller's, who knows.
static void library_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* library_close(PyObject* object, PyObject* none) {
  (void)none;
  Library* self = (Library*)object;
  self->closing = true;
  close_if_unused(self);
  Py_RETURN_NONE;
}

// -- products ---------------------------------------------------------------------------------------------------------

enum {
  kA,
  kB,
  kOut,
  kAlpha,
  kBeta,
  kStream,
  kPrecision,
  kBias,
  kActivation,
  kDeviceAlpha,
  kDeviceBeta,
  kInvariant,
  kCallArguments
};
static const char* const kNames[kCallArguments] = {"a",           "b",         "out",  "alpha",      "beta",
                                                   "stream",      "precision", "bias", "activation", "device_alpha",
                                                   "device_beta", "invariant"};
static const Signature kGemm = {"gemm", kCallArguments, kOut, kNames};
static const Signature kPrepare = {"prepare", kCallArguments, kOut + 1, kNames};
static const Signature kExplain = {"explain", kCallArguments, kOut + 1, kNames};

static bool given(PyObject* value) { return value != NULL && value != Py_None; }

static bool read_activation(PyObject* value, mmtune_activation* activation) {
  static const char* const kActivations[] = {"", "relu", "gelu"};
  *activation = MMTUNE_NO_ACTIVATION;
  if (!given(value)) return true;
  for (int i = MMTUNE_RELU; i <= MMTUNE_GELU; ++i) {
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, kActivations[i]) == 0) {
      *activation = i;
      return true;
    }
  }
  PyErr_Format(PyExc_ValueError, "activation %R: must be one of [None, 'relu', 'gelu']", value);
  return false;
}

/// A number, or `number` as it is where none is given.
static bool read_number(PyObject* value, const char* name, double* number) {
  if (value == NULL) return true;
  *number = PyFloat_AsDouble(value);
  if (!PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Format(PyExc_TypeError, "%s %R: must be a number", name, value);
  return false;
}

/// Null where none is given.
static bool read_precision(PyObject* value, const char** name) {
  *name = NULL;
  if (!given(value)) return true;
  if (PyUnicode_Check(value)) return (*name = PyUnicode_AsUTF8AndSize(value, NULL)) != NULL;
  PyErr_Format(PyExc_TypeError, "precision %R: must be a name, as 'tf32', or None", value);
  return false;
}

static bool read_product(PyObject* const* values, Product* product) {
  if (!read_stored(values[kA], "a", false, &product->a) || !read_stored(values[kB], "b", false, &product->b) ||
      !read_stored(values[kOut], "out", true, &product->c)) {
    return false;
  }
  product->bias.rank = 0;
  product->alpha = 1, product->beta = 0;
  if (!read_number(values[kAlpha], "alpha", &product->alpha) || !read_number(values[kBeta], "beta", &product->beta) ||
      !read_precision(values[kPrecision], &product->precision)) {
    return false;
  }
  product->device_alpha = product->device_beta = NULL;
  product->invariant = false;
  if ((values[kInvariant] != NULL && !read_flag(values[kInvariant], &product->invariant)) ||
      !read_activation(values[kActivation], &product->activation)) {
    return false;
  }
  if (given(values[kBias]) && !read_stored(values[kBias], "bias", false, &product->bias)) return false;
  if (given(values[kBias]) && product->bias.rank == 0) {
    refuse_view(&product->bias, "a bias is a vector");
    return false;
  }
  if (given(values[kDeviceAlpha]) &&
      !read_scalar(values[kDeviceAlpha], "device_alpha", product, &product->device_alpha)) {
    return false;
  }
  return !given(values[kDeviceBeta]) || read_scalar(values[kDeviceBeta], "device_beta", product, &product->device_beta);
}

/// The given stream, else that of the first of out, a and b whose package has one, else the default stream.
static bool choose_stream(PyObject* const* values, const Product* product, void** stream) {
  if (given(values[kStream])) return read_stream(values[kStream], stream);
  bool known = false;
  return find_current_stream(values[kOut], &product->c, &known, stream) &&
         (known || find_current_stream(values[kA], &product->a, &known, stream)) &&
         (known || find_current_stream(values[kB], &product->b, &known, stream));
}

static bool read_call(PyObject* const* values, mmtune_call* call, void** stream) {
  Product product;
  return read_product(values, &product) && call_of(&product, call) && choose_stream(values, &product, stream);
}

/// Results as the package of `b` allocates them, a new reference.
static PyObject* new_results(PyObject* a, PyObject* b) {
  PyObject* arrays = PyImport_ImportModule("mmtune.arrays");
  PyObject* results = arrays == NULL ? NULL : PyObject_CallMethod(arrays, "new_results", "OO", a, b);
  Py_XDECREF(arrays);
  return results;
}

static PyObject* library_gemm(PyObject* object, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  PyObject* values[kCallArguments];
  Library* self = (Library*)object;
  if (!is_open(self) || !bind(&kGemm, arguments, count, keywords, values)) return NULL;
  if (given(values[kOut])) {
    Py_INCREF(values[kOut]);
  } else {
    values[kOut] = new_results(values[kA], values[kB]);
  }
  mmtune_call call;
  void* stream = NULL;
  if (values[kOut] == NULL || !read_call(values, &call, &stream)) {
    Py_XDECREF(values[kOut]);
    return NULL;
  }
  const mmtune_status status = enqueue(self, &call, stream);
  if (status == MMTUNE_OK) return values[kOut];
  Py_DECREF(values[kOut]);
  return raise_status(self, status);
}

static PyObject* library_prepare(PyObject* object, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  PyObject* values[kCallArguments];
  mmtune_call call;
  void* stream;
  Library* self = (Library*)object;
  if (!is_open(self) || !bind(&kPrepare, arguments, count, keywords, values) || !read_call(values, &call, &stream)) {
    return NULL;
  }
  ++self->users;
  mmtune_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = self->api.prepare(self->handle, &call, 1, stream);
  Py_END_ALLOW_THREADS;
  end_use(self);
  if (status != MMTUNE_OK) return raise_status(self, status);
  Py_RETURN_NONE;
}

static PyObject* library_explain(PyObject* object, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  PyObject* values[kCallArguments];
  mmtune_call call;
  mmtune_answer answer = MMTUNE_ANSWER_INIT;
  void* stream;
  const Library* self = (Library*)object;
  if (!is_open(self) || !bind(&kExplain, arguments, count, keywords, values) || !read_call(values, &call, &stream)) {
    return NULL;
  }
  const mmtune_status status = self->api.explain(self->handle, &call, &answer);
  if (status != MMTUNE_OK) return raise_status(self, status);
  return Py_BuildValue("issdOsd", (int)answer.match, answer.family, answer.config, answer.expected_us,
                       answer.measured ? Py_True : Py_False, answer.why, answer.cublas_ratio);
}

static const char kGemmText[] =
    "gemm(a, b, out=None, alpha=1.0, beta=0.0, stream=None, precision=None, bias=None, activation=None,\n"
    "     device_alpha=None, device_beta=None, invariant=False)\n\n"
    "out = activation(alpha * a @ b + beta * out + bias), enqueued on the stream, and returned. Without `stream` it "
    "is\n"
    "the current one of the package of `out`, else of `a`, else of `b`: PyTorch, CuPy, or who tells it by DLPack's C\n"
    "exchange or __cuda_array_interface__; else the default stream. Every view is multiplied\n"
    "as it is, transposed ones too, or refused with a ValueError that says its strides; three extents are a batch.\n"
    "Without `out`, PyTorch or CuPy allocate the results, of the type of `b`. fp32 matrices may be multiplied with\n"
    "precision=\"tf32\" or \"fp32_emulated\". `bias` has the shape (m, 1), (1, n) or (n,) and the type of `out`;\n"
    "`activation` is \"relu\" or\n"
    "\"gelu\", that of the error function. `device_alpha` and `device_beta`, both or none, are arrays of one element "
    "that\n"
    "the kernel loads when it runs: of fp32, for fp64 matrices of fp64, for integers of int32. They must outlive "
    "that,\n"
    "and `alpha` and `beta` then do not count. With `invariant` an element of `out` has the same bits for every number "
    "of\n"
    "rows and columns, or mmtune.Error says what to tune. Gradients are not known here: that is mmtune.torch.";

static const char kPrepareText[] =
    "prepare(a, b, out, ...)\n\nLoads or compiles what gemm() needs, so that it may be captured into a graph.";

static PyMethodDef library_methods[] = {
    {"gemm", (PyCFunction)(void (*)(void))library_gemm, METH_FASTCALL | METH_KEYWORDS, kGemmText},
    {"prepare", (PyCFunction)(void (*)(void))library_prepare, METH_FASTCALL | METH_KEYWORDS, kPrepareText},
    {"_explain", (PyCFunction)(void (*)(void))library_explain, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_serve", (PyCFunction)(void (*)(void))library_serve, METH_FASTCALL, NULL},
    {"_served", library_served, METH_NOARGS, NULL},
    {"close", library_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot library_slots[] = {
    {Py_tp_init, library_init}, {Py_tp_dealloc, library_dealloc}, {Py_tp_methods, library_methods}, {0, NULL}};

PyType_Spec library_spec = {"mmtune._native.Library", sizeof(Library), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                            library_slots};
