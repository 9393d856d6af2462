// DLPack's part of reading operands.
#pragma once

#include "native.h"

// Version 1, https://dmlc.github.io/dlpack/latest/c_api.html
typedef struct DlTensor {
  void* data;
  int32_t device_type;
  int32_t device;
  int32_t rank;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;  // null: packed
  uint64_t byte_offset;
} DlTensor;

enum { kDlCuda = 2, kDlCudaManaged = 13 };

/// The table of the C exchange, as of version 1.3. What its functions return is not zero, with an exception, where they
/// fail.
typedef struct DlExchange {
  uint32_t major, minor;
  struct DlExchange* previous;
  void* make;
  void* own;
  void* give;
  int (*view)(void* object, DlTensor* tensor);  ///< describes an object without owning it; may be null
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);  ///< may be null
} DlExchange;

/// The table that the capsule of a type's __dlpack_c_exchange_api__ has; null where it has none of version 1.
const DlExchange* exchange_of(PyObject* capsule);

bool read_tensor(const DlTensor* tensor, Operand* operand);

/// array.__dlpack__(stream=-1), which asks for no synchronisation, of version 1 if `versioned`: a new reference.
PyObject* dlpack_capsule(PyObject* array, bool versioned);

/// The capsule, which is not renamed, frees the description with itself; the memory stays the array's.
bool read_capsule(PyObject* capsule, Operand* operand);
