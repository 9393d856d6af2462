// A framework's call, from its arguments to the product that the library is asked for.
#pragma once

#include "native.h"

/// What a caller asks for: numbers of mmtune/_serving.py.
enum {
  kLinear = 1,
  kOnlyFaster = 2,
  kTf32 = 4,
  kOnlyCount = 8,
  kActivationShift = 4,
  kActivationMask = 3,
  kInvariant = 64  ///< the flag of mmtune_call; what the library refuses is an error
};

/// kAdded is what beta multiplies, as the framework broadcasts it to the results; None: the results as they are.
enum { kFlags, kA, kB, kBias, kAdded, kOut, kAlpha, kBeta, kStream, kAllocate, kServeArguments };

/// Reads and describes the call; false, mostly with an exception, where that is impossible. `results` are those that
/// the framework is to allocate, if it has not.
bool read_call(PyObject* const* arguments, long flags, mmtune_call* call, Operand* results);

/// a.new_empty(shape), a new reference.
PyObject* allocate_results(PyObject* a, const Operand* results, mmtune_call* call);

/// Copies what is to be added into the results: out.copy_(added).
bool begin_results(PyObject* out, PyObject* added);

/// Device memory for the call from the framework's allocator, which knows what a capture may use. A new reference, kept
/// until the call is enqueued; null without an exception where none is needed.
bool allocate_workspace(const Library* self, PyObject* allocate, mmtune_call* call, PyObject** kept);
