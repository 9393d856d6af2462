// The native part of the Python package: what its files share. Everything runs with Python's global lock held, except
// the library's own functions.
#pragma once

#define Py_LIMITED_API 0x030A0000  // from Python 3.10 on: METH_FASTCALL
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mmtune/mmtune_c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kMostExtents = 8, kUnknownDevice = -1 };

/// Formats of elements: indices of kFormats.
typedef enum Format { kF32, kF64, kF16, kBf16, kI32, kI8, kE4m3, kE5m2, kFormatCount } Format;

typedef struct FormatTraits {
  const char* name;     ///< "f32"
  int bytes;            ///< the bytes of an element
  int code;             ///< DLDataTypeCode of DLPack
  const char* typestr;  ///< the name in __cuda_array_interface__; null: it has none
} FormatTraits;

extern const FormatTraits kFormats[kFormatCount];

/// An array of a caller: where its elements are. It owns nothing.
typedef struct Operand {
  const char* name;  ///< what messages call it
  uintptr_t address;
  Format format;
  int rank;
  int64_t shape[kMostExtents];
  int64_t strides[kMostExtents];  ///< the distances in elements, of any sign
  int32_t device;                 ///< CUDA ordinal, or kUnknownDevice
  uintptr_t stream;               ///< the stream that __cuda_array_interface__ names; 0: none
  bool read_only;                 ///< known only where it was asked for
} Operand;

/// Reads an array by the C exchange of DLPack, by __dlpack__, by __cuda_array_interface__, or a mmtune.Matrix. `writes`
/// asks whether it may be written. All functions that return bool return false with a Python exception set.
bool read_operand(PyObject* array, const char* name, bool writes, Operand* operand);

/// Reads an operand as read_operand() does, but refuses views that PyTorch negates when it reads them: the numbers in
/// memory are others. Below its dispatcher there are none.
bool read_stored(PyObject* array, const char* name, bool writes, Operand* operand);

/// The stream that an array's package would enqueue work on now: that of its __cuda_array_interface__, else the current
/// one of the operand's device. `known` is false where the package has none or is not known.
bool find_current_stream(PyObject* array, const Operand* operand, bool* known, void** stream);

/// Whether Python takes the value for true.
bool read_flag(PyObject* value, bool* flag);

/// Refuse more extents than an operand has room for, and negative ones.
bool set_rank(Operand* operand, int64_t rank);
bool check_shape(const Operand* operand);

/// Gives the operand the strides of rows without gaps.
void set_packed(Operand* operand);

/// Sets an exception "NAME: shape (…), strides (…) in elements: WHY".
void refuse_view(const Operand* operand, const char* why);

/// A tuple of integers.
PyObject* tuple_of(const int64_t* values, int count);

/// The operands of a product, and what else a call says.
typedef struct Product {
  Operand a, b, c;        ///< c: the results
  Operand bias;           ///< an operand of rank 0 where there is none
  double alpha, beta;     ///< the scalars as mmtune_call has them
  const char* precision;  ///< null: that of the formats
  mmtune_activation activation;
  const void* device_alpha;
  const void* device_beta;
  bool invariant;
} Product;

/// The call that multiplies the operands as they are. Refuses every view that it cannot describe, results that overlap
/// themselves, an operand or may not be written, and operands of several devices. `c` of a product without results,
/// which is only asked about, is still needed.
bool call_of(const Product* product, mmtune_call* call);

/// "fp32" of MMTUNE_FP32.
const char* precision_name(mmtune_precision precision);

/// Finds the address of the one element that device_alpha or device_beta names, for a product of these formats.
bool read_scalar(PyObject* array, const char* name, const Product* product, const void** address);

/// libmmtune.so.
typedef struct Api {
  mmtune_status (*open)(const mmtune_options*, mmtune_library**);
  void (*close)(mmtune_library*);
  mmtune_status (*gemm)(mmtune_library*, const mmtune_call*, void*);
  mmtune_status (*prepare)(mmtune_library*, const mmtune_call*, size_t, void*);
  mmtune_status (*explain)(const mmtune_library*, const mmtune_call*, mmtune_answer*);
  mmtune_status (*workspace_bytes)(const mmtune_library*, const mmtune_call*, size_t*);
  const char* (*last_error)(void);
} Api;

typedef struct Shapes Shapes;

/// The type Library of the module.
typedef struct Library {
  // clang-format off
  PyObject_HEAD
      // clang-format on
      Api api;
  mmtune_library* handle;
  int users;     ///< calls that run without Python's global lock
  bool closing;  ///< the last of them closes the library
  Shapes* shapes;
} Library;

/// Calls the library without Python's global lock, and keeps it open meanwhile: where it was to be closed, it is closed
/// then. The arguments are mmtune_gemm's.
mmtune_status enqueue(Library* self, const mmtune_call* call, void* stream);

/// Sets mmtune.Error with what the library says was wrong.
void* raise_status(const Library* self, mmtune_status status);

/// Whether the library is open; sets mmtune.Error where it is not.
bool is_open(const Library* self);

/// The address of a stream of PyTorch, CuPy or others, or a number, or None: the default stream.
bool read_stream(PyObject* stream, void** address);

/// Methods for mmtune.torch and mmtune.cupy, which know each shape.
PyObject* library_serve(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
PyObject* library_served(PyObject* self, PyObject* none);

/// Arguments of a method with METH_FASTCALL | METH_KEYWORDS.
typedef struct Signature {
  const char* function;
  int count;
  int required;  ///< the first so many
  const char* const* names;
} Signature;

/// Fills `values`, borrowed, with null for those that are not given.
bool bind(const Signature* signature, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords,
          PyObject** values);

extern PyObject* mmtune_error;    ///< the class mmtune.Error
extern PyType_Spec library_spec;  ///< the specification of the type Library
