"""Arrays in host memory that say they are a GPU's."""

import ctypes


class Array:
    """By __cuda_array_interface__."""

    def __init__(self, shape, values=None, strides=None, ctype=ctypes.c_float, typestr="<f4"):
        count = 1
        for extent in shape:
            count *= extent
        self.memory = (ctype * (4 * count))(*(values or range(count)))
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides and tuple(stride * ctypes.sizeof(ctype) for stride in strides),
            "typestr": typestr,
            "data": (ctypes.addressof(self.memory), False),
            "version": 3,
        }


class Described:
    """An array that says something else of itself."""

    def __init__(self, array, **others):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **others}


class Exported:
    def __init__(self, what):
        self.what = what

    def __dlpack__(self, **named):
        return self.what


class Undecided:
    def __bool__(self):
        raise ValueError("the truth of several")


class DlTensor(ctypes.Structure):
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


class DlVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DlTensor),
    ]


View = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DlTensor))
CurrentStream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class DlExchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("others", ctypes.c_void_p * 3),
        ("view", View),
        ("current_stream", CurrentStream),
    ]


EXCHANGE = b"dlpack_exchange_api"  # A capsule keeps the address of its name.


def capsule(structure, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(structure), name, None)


class Tensor(Array):
    """By DLPack, of the first kind."""

    def __init__(self, shape, device=2, device_id=0):
        super().__init__(shape)
        del self.__cuda_array_interface__
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = DlTensor(ctypes.addressof(self.memory), device, device_id, len(shape), 2, 32, 1, self.shape)

    def __dlpack__(self, stream):
        assert stream == -1
        return capsule(self.tensor, b"dltensor")


class VersionedTensor(Tensor):
    flags = 0

    def __dlpack__(self, stream, max_version):
        assert stream == -1 and max_version[0] == 1
        self.versioned = DlVersioned(1, 1, None, None, self.flags, self.tensor)
        return capsule(self.versioned, b"dltensor_versioned")


class ReadOnlyTensor(VersionedTensor):
    flags = 1

    def new_empty(self, shape):
        return VersionedTensor(shape)


class CopiedTensor(VersionedTensor):
    flags = 2


class ExchangedTensor(Tensor):
    """By DLPack's C exchange, which nothing else may stand in for."""

    __dlpack__ = None

    copies = 0

    def new_empty(self, shape):
        return ExchangedTensor(shape)

    def copy_(self, other):
        self.copies += 1
        self.memory[:] = other.memory[:]
        return self

    @View
    def view(self, tensor):
        tensor[0] = self.tensor
        return 0

    exchange = DlExchange(1, 3, None, (ctypes.c_void_p * 3)(), view, CurrentStream())
    __dlpack_c_exchange_api__ = capsule(exchange, EXCHANGE)


class NegatedTensor(ExchangedTensor):
    def is_neg(self):
        return self.negated


class StreamedTensor(ExchangedTensor):
    """Its package has a current stream for each device."""

    current = {}

    @CurrentStream
    def current_stream(type, device, stream):
        stream[0] = StreamedTensor.current[type, device]
        return 0

    exchange = DlExchange(1, 3, None, (ctypes.c_void_p * 3)(), ExchangedTensor.view, current_stream)
    __dlpack_c_exchange_api__ = capsule(exchange, EXCHANGE)
