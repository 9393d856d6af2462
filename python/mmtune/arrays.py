"""Device memory of other packages; none of them is needed to import this."""

from dataclasses import dataclass
from typing import ClassVar, Tuple

from mmtune import _native


@dataclass(frozen=True)
class Matrix:
    """One matrix, or several of one shape, anywhere in device memory: what `Library.gemm` takes for an array."""

    address: int
    dtype: str  # "f32", "bf16", "e4m3", ...
    shape: Tuple[int, ...]  # (rows, columns) or (batch, rows, columns)
    strides: Tuple[int, ...]  # the distances in elements, as many as there are extents
    read_only: bool = False

    _is_mmtune_matrix: ClassVar[bool] = True  # how the native module knows one


def matrix_of(array) -> Matrix:
    """The matrix behind an array, which must outlive its use. Raises TypeError for what is none, ValueError for strides
    that are no multiples of an element."""
    matrix = Matrix(*_native.describe(array))
    if len(matrix.shape) not in (2, 3):
        raise TypeError(f"shape {matrix.shape}: a matrix has two extents, a batch of them three")
    return matrix


def _package(array_type):
    """Whose arrays these are: "torch" or "cupy", also of a class derived from theirs; None for all others."""
    packages = [each.__module__.partition(".")[0] for each in array_type.__mro__]
    return next((each for each in packages if each in ("torch", "cupy")), None)


def current_streams(array_type):
    """The function by which the package of a type of arrays tells a device's current stream; None where nobody knows."""
    package = _package(array_type)
    if package == "torch":
        import torch

        return torch._C._cuda_getCurrentRawStream
    if package == "cupy":
        import cupy

        return cupy.cuda.get_current_stream
    return None


def new_results(a, b):
    """An array for a @ b, by the package of `b` and of its type, which may be fp32 where `a` is bf16."""
    for name, each in (("a", a), ("b", b)):
        if not getattr(each, "shape", None):
            raise TypeError(f"{name}: {type(each)}: has no shape of a matrix, by which to allocate out")
    rows, columns = tuple(a.shape)[:-1], tuple(b.shape)[-1]
    batch = tuple(b.shape)[:-2] if len(rows) == 1 else ()
    shape = (*batch, *rows, columns)
    if hasattr(b, "new_empty"):
        return b.new_empty(shape)
    if _package(type(b)) == "cupy":
        import cupy

        return cupy.empty(shape, b.dtype)
    raise TypeError(f"out: not given, and nobody knows how to allocate a {type(b).__name__}; pass one")
