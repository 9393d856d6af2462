"""libmmtune.so through ctypes: the functions of <mmtune/mmtune_c.h>."""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from mmtune.arrays import matrix_of, scalar_address

_SONAME = "libmmtune.so.0.1"

_PRECISIONS = {
    ("f32", "f32"): "fp32",
    ("f64", "f64"): "fp64",
    ("i32", "i32"): "int32",
    ("f16", "f16"): "fp16",
    ("bf16", "bf16"): "bf16",
    ("f16", "f32"): "fp16_fp32",
    ("bf16", "f32"): "bf16_fp32",
    ("i8", "i32"): "int8",
    ("e4m3", "bf16"): "e4m3_bf16",
    ("e4m3", "f32"): "e4m3_fp32",
    ("e5m2", "bf16"): "e5m2_bf16",
    ("e5m2", "f32"): "e5m2_fp32",
}
_NUMBERS = {
    name: number
    for number, name in enumerate(
        "fp32 fp64 int32 fp16 bf16 fp16_fp32 bf16_fp32 tf32 int8 e4m3_bf16 e4m3_fp32 e5m2_bf16 e5m2_fp32".split()
    )
}
_SCALARS = {"fp64": "f64", "int32": "i32", "int8": "i32"}  # of all others f32
_ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}
_BIAS_PER_ROW, _BIAS_PER_COLUMN = 1, 2
_MATCHES = ("exact", "nearest", "predicted", "fallback")


class Error(Exception):
    """What the library says was wrong: object, cause and remedy. `status` is a mmtune_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What runs, or would run, for a call."""

    match: str  # "exact", "nearest", "predicted" or "fallback"
    family: str
    config: str
    expected_us: float
    measured: bool
    why: str


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("database", ctypes.c_char_p),
        ("model", ctypes.c_char_p),
        ("device", ctypes.c_int32),
        ("compile_missing", ctypes.c_int32),
        ("compile_untuned", ctypes.c_int32),
        ("learn", ctypes.c_int32),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("precision", ctypes.c_int32),
        ("order", ctypes.c_int32),
        ("transpose_a", ctypes.c_int32),
        ("transpose_b", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("alpha", ctypes.c_double),
        ("a", ctypes.c_void_p),
        ("lda", ctypes.c_int64),
        ("b", ctypes.c_void_p),
        ("ldb", ctypes.c_int64),
        ("beta", ctypes.c_double),
        ("c", ctypes.c_void_p),
        ("ldc", ctypes.c_int64),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
        ("batch", ctypes.c_int64),
        ("stride_a", ctypes.c_int64),
        ("stride_b", ctypes.c_int64),
        ("stride_c", ctypes.c_int64),
        ("activation", ctypes.c_int32),
        ("bias", ctypes.c_int32),
        ("bias_vector", ctypes.c_void_p),
        ("device_alpha", ctypes.c_void_p),
        ("device_beta", ctypes.c_void_p),
    ]


class _Answer(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("match", ctypes.c_int32),
        ("measured", ctypes.c_int32),
        ("expected_us", ctypes.c_double),
        ("family", ctypes.c_char_p),
        ("config", ctypes.c_char_p),
        ("why", ctypes.c_char_p),
    ]


def _text(value, name):
    """As C has it, whose texts end at a NUL."""
    if not value:
        return None
    text = os.fsencode(value)
    if b"\0" in text:
        raise ValueError(f"{name} {value!r}: has a NUL in it")
    return text


def _load(path):
    if path is None:
        beside = Path(__file__).parent / _SONAME
        path = str(beside) if beside.exists() else _SONAME
    api = ctypes.CDLL(path)
    api.mmtune_last_error.restype = ctypes.c_char_p
    handle, call = ctypes.c_void_p, ctypes.POINTER(_Call)
    api.mmtune_open.argtypes = [ctypes.POINTER(_Options), ctypes.POINTER(ctypes.c_void_p)]
    api.mmtune_close.argtypes = [handle]
    api.mmtune_close.restype = None
    api.mmtune_gemm.argtypes = [handle, call, ctypes.c_void_p]
    api.mmtune_prepare.argtypes = [handle, call, ctypes.c_size_t, ctypes.c_void_p]
    api.mmtune_explain.argtypes = [handle, call, ctypes.POINTER(_Answer)]
    return api


def _stream_address(stream):
    """A stream of PyTorch or CuPy, its address, or None for the default one."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            stream = getattr(stream, name)
            break
    if stream is None or (type(stream) is int and 0 <= stream < 2**64):
        return stream
    raise TypeError(f"stream: {stream!r} is none; pass one of PyTorch or CuPy, its address, or None")


def _refuse(matrix, name, why):
    raise ValueError(f"{name}: shape {matrix.shape}, strides {matrix.strides} in elements: {why}")


def _placed(matrix, name):
    """Whether the rows of a matrix, or else its columns, are contiguous, and how far these are apart. Refuses all that is
    neither, and lines that overlap. The stride of an extent of 1 says nothing, and no stride of an empty matrix does."""
    rows, columns = matrix.shape[-2:]
    down, across = matrix.strides[-2:]
    if rows <= 0 or columns <= 0:
        return True, max(1, columns)
    if (columns == 1 or across == 1) and (rows == 1 or down >= columns):
        return True, max(columns, down if rows > 1 else 0)
    if (rows == 1 or down == 1) and (columns == 1 or across >= rows):
        return False, max(rows, across if columns > 1 else 0)
    _refuse(matrix, name, "neither rows nor columns are contiguous without overlap; pass a copy")


def _batch(matrices):
    counts = {matrix.shape[0] for matrix in matrices if len(matrix.shape) == 3}
    if len(counts) > 1:
        raise ValueError(f"batches of {sorted(counts)} matrices: give one number of them")
    return counts.pop() if counts else 1


def _step(matrix, name):
    """How far the matrices of a batch are apart; 0 for one that all products share."""
    if len(matrix.shape) == 2 or matrix.shape[0] <= 1 or 0 in matrix.shape:
        return 0
    if matrix.strides[0] < 0:
        _refuse(matrix, name, "a batch goes forward; pass a copy")
    return matrix.strides[0]


def _check_results(c, batch):
    """Refuses results that cannot be written, or that overlap."""
    if c.read_only:
        raise ValueError("out: is read-only; pass one that may be written")
    if batch < 2 or 0 in c.shape:
        return
    by_rows, distance = _placed(c, "out")
    lines, length = c.shape[-2:] if by_rows else c.shape[:-3:-1]
    step = _step(c, "out")
    are_behind = step >= (lines - 1) * distance + length
    are_beside = step >= length and (batch - 1) * step + length <= distance
    if not are_behind and not are_beside:
        _refuse(c, "out", f"the {batch} results would overlap")


def _bias(bias, c):
    """Kind and address of a bias of shape (m, 1) or (1, n)."""
    if bias is None:
        return 0, None
    bias = matrix_of(bias, "bias")
    m, n = c.shape[-2:]
    if bias.dtype != c.dtype:
        raise TypeError(f"bias of {bias.dtype}: its elements must be those of the results, {c.dtype}")
    if bias.shape == (1, n) and (n <= 1 or bias.strides[1] == 1):
        return _BIAS_PER_COLUMN, bias.address
    if bias.shape == (m, 1) and (m <= 1 or bias.strides[0] == 1):
        return _BIAS_PER_ROW, bias.address
    raise ValueError(f"bias of shape {bias.shape}, strides {bias.strides}: must be ({m}, 1) or (1, {n}), without gaps")


def _scalar(array, precision):
    return None if array is None else scalar_address(array, _SCALARS.get(precision, "f32"))


def _call(a, b, c, alpha, beta, precision, bias, activation, device_alpha, device_beta):
    a, b, c = matrix_of(a, "a"), matrix_of(b, "b"), matrix_of(c, "out")
    (m, k), (k_of_b, n) = a.shape[-2:], b.shape[-2:]
    if k != k_of_b or c.shape[-2:] != (m, n):
        raise ValueError(f"shapes {a.shape}, {b.shape} and {c.shape}: these are not those of a product")
    known = _PRECISIONS.get((a.dtype, c.dtype)) if a.dtype == b.dtype else None
    if known is None:
        raise TypeError(f"elements of {a.dtype} and {b.dtype} with results in {c.dtype}: no such product exists")
    if precision not in (None, known) and (precision, known) != ("tf32", "fp32"):
        raise ValueError(f"precision {precision}: these matrices are those of {known}")
    if activation not in _ACTIVATIONS:
        raise ValueError(f"activation {activation!r}: must be one of {list(_ACTIVATIONS)}")
    batch = _batch((a, b, c))
    _check_results(c, batch)
    by_rows, ldc = _placed(c, "out")
    (a_by_rows, lda), (b_by_rows, ldb) = _placed(a, "a"), _placed(b, "b")
    return _Call(
        ctypes.sizeof(_Call), _NUMBERS[precision or known], 0 if by_rows else 1, a_by_rows != by_rows,
        b_by_rows != by_rows, m, n, k, alpha, a.address, lda, b.address, ldb, beta, c.address, ldc, None, 0,
        batch, _step(a, "a"), _step(b, "b"), _step(c, "out"), _ACTIVATIONS[activation], *_bias(bias, c),
        _scalar(device_alpha, known), _scalar(device_beta, known),
    )  # fmt: skip


class Library:
    """The kernels for one GPU. Use from any thread. Close it, or leave its `with` block, once the GPU has finished."""

    def __init__(self, database=None, device=-1, model=None, compile_untuned=True, path=None, learn=False):
        """`compile_untuned` lets the first call of a kind that nothing is tuned for compile a kernel, in about a second.
        `learn` finds out on calls which of a few kernels is the fastest for sizes that were not tuned, see <mmtune.h>.
        `path` names libmmtune.so; by default the one beside this package, else where the loader searches."""
        self._handle = ctypes.c_void_p()
        self._api = _load(path)
        if not -1 <= device < 2**31:
            raise ValueError(f"device {device}: give the number of a CUDA device, or -1 for the current one")
        options = _Options(
            ctypes.sizeof(_Options), _text(database, "database"), _text(model, "model"), device, 0,
            compile_untuned, learn,
        )  # fmt: skip
        self._check(self._api.mmtune_open(ctypes.byref(options), ctypes.byref(self._handle)))

    def close(self):
        if self._handle:
            self._api.mmtune_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def gemm(
        self, a, b, out, alpha=1.0, beta=0.0, stream=None, precision=None, bias=None, activation=None,
        device_alpha=None, device_beta=None,
    ):  # fmt: skip
        """out = activation(alpha * a @ b + beta * out + bias), enqueued on the stream. Transposed views are not copied;
        three extents are a batch. fp32 matrices may be multiplied with precision="tf32". `bias` has the shape (m, 1) or
        (1, n) and the type of `out`; `activation` is "relu" or "gelu", that of the error function. `device_alpha` and
        `device_beta`, both or none, are arrays of one element that the kernel loads when it runs: of fp32, for fp64
        matrices of fp64, for integers of int32. They must outlive that, and `alpha` and `beta` then do not count."""
        call = _call(a, b, out, alpha, beta, precision, bias, activation, device_alpha, device_beta)
        self._check(self._api.mmtune_gemm(self._handle, ctypes.byref(call), _stream_address(stream)))

    def prepare(
        self, a, b, out, stream=None, precision=None, bias=None, activation=None, device_alpha=None, device_beta=None
    ):
        """Loads or compiles what gemm() needs, so that it may be captured into a graph."""
        call = _call(a, b, out, 1.0, 0.0, precision, bias, activation, device_alpha, device_beta)
        self._check(self._api.mmtune_prepare(self._handle, ctypes.byref(call), 1, _stream_address(stream)))

    def explain(
        self, a, b, out, precision=None, bias=None, activation=None, device_alpha=None, device_beta=None
    ) -> Answer:
        """What gemm() would run."""
        call = _call(a, b, out, 1.0, 0.0, precision, bias, activation, device_alpha, device_beta)
        answer = _Answer(ctypes.sizeof(_Answer))
        self._check(self._api.mmtune_explain(self._handle, ctypes.byref(call), ctypes.byref(answer)))
        return Answer(
            _MATCHES[answer.match], answer.family.decode(), answer.config.decode(), answer.expected_us,
            bool(answer.measured), answer.why.decode(),
        )  # fmt: skip

    def _check(self, status):
        if status != 0:
            raise Error(status, self._api.mmtune_last_error().decode())
