"""Device memory of other packages, by DLPack or __cuda_array_interface__; neither is needed to import this."""

import ctypes
from dataclasses import dataclass
from typing import Tuple


@dataclass(frozen=True)
class Matrix:
    """One matrix, or several of one shape."""

    address: int
    dtype: str  # "f32", "bf16", "e4m3", ...
    shape: Tuple[int, ...]  # (rows, columns) or (batch, rows, columns)
    strides: Tuple[int, ...]  # in elements, as long as the shape
    read_only: bool = False


def _packed_strides(shape):
    strides, product = [], 1
    for extent in reversed(shape):
        strides.insert(0, product)
        product *= extent
    return tuple(strides)


# -- __cuda_array_interface__ ------------------------------------------------------------------------------------------

_DTYPES_BY_TYPESTR = {"<f4": "f32", "<f8": "f64", "<f2": "f16", "<i4": "i32", "|i1": "i8"}


def _from_interface(interface):
    typestr = interface["typestr"]
    dtype = _DTYPES_BY_TYPESTR.get(typestr)
    if dtype is None:
        raise TypeError(f"elements of type {typestr}: no matrix product of these exists")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    size = int(typestr[2:])
    if interface.get("mask") is not None:
        raise TypeError("a masked array: pass one without a mask")
    if strides is None:
        elements = _packed_strides(shape)
    elif any(stride % size for stride in strides):
        raise ValueError(f"strides {tuple(strides)} in bytes: no multiples of the {size} bytes of an element")
    else:
        elements = tuple(stride // size for stride in strides)
    address, read_only = interface["data"]
    return Matrix(address or 0, dtype, shape, elements, bool(read_only))


# -- DLPack ------------------------------------------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_DTYPES_BY_CODE = {
    (2, 32): "f32",
    (2, 64): "f64",
    (2, 16): "f16",
    (4, 16): "bf16",
    (0, 32): "i32",
    (0, 8): "i8",
    (10, 8): "e4m3",
    (12, 8): "e5m2",
}
_GPU_MEMORY = (2, 13)  # kDLCUDA, kDLCUDAManaged
_NO_SYNCHRONISATION = -1


def _from_dlpack(array):
    capsule = array.__dlpack__(stream=_NO_SYNCHRONISATION)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    managed = ctypes.cast(get_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLManagedTensor))
    tensor = managed.contents.tensor
    # The capsule, which is not renamed, frees the description with itself; the memory stays the array's.
    if tensor.device_type not in _GPU_MEMORY:
        raise TypeError(f"memory of DLPack device type {tensor.device_type}: pass device memory of a CUDA GPU")
    dtype = _DTYPES_BY_CODE.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"elements of DLPack type {tensor.code} with {tensor.bits} bits: no matrix product exists")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else _packed_strides(shape)
    return Matrix((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides)


def _described(array) -> Matrix:
    if isinstance(array, Matrix):
        return array
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array.__cuda_array_interface__)
    raise TypeError(f"{type(array).__name__}: offers neither DLPack nor __cuda_array_interface__")


def matrix_of(array, name="array") -> Matrix:
    """The matrix behind an array, which must outlive its use. Raises TypeError for what is none, ValueError for strides
    that are no multiples of an element; `name` is what messages call it."""
    try:
        matrix = _described(array)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if len(matrix.shape) not in (2, 3):
        raise TypeError(f"shape {matrix.shape}: a matrix has two extents, a batch of them three")
    return matrix


def scalar_address(array, dtype) -> int:
    """Where the one element of an array of this type is. Raises TypeError for what is none."""
    scalar = _described(array)
    if any(extent != 1 for extent in scalar.shape) or scalar.dtype != dtype:
        raise TypeError(f"shape {scalar.shape} of {scalar.dtype}: must be one element of {dtype}")
    return scalar.address
