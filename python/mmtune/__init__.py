"""Matrix products on the GPU with the kernels that mmtune tuned.

    library = mmtune.Library()
    library.gemm(a, b, out=c)

Matrices are whatever offers device memory by DLPack or __cuda_array_interface__: tensors of PyTorch, arrays of CuPy, and
others. Nothing is copied. `mmtune.torch` and `mmtune.cupy` have the products of those packages under their names.
"""

try:
    from mmtune._native import Error
except ModuleNotFoundError as error:
    raise ImportError(
        "mmtune._native: not built; install the wheel or the package, or put build/python of a build with Python's headers"
        " (python3-dev) on PYTHONPATH"
    ) from error
from mmtune.arrays import Matrix, matrix_of
from mmtune.library import Answer, Library

__all__ = ["Answer", "Error", "Library", "Matrix", "matrix_of"]
