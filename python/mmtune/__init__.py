"""Matrix products on the GPU with the kernels that mmtune tuned.

    library = mmtune.Library()
    library.gemm(a, b, out=c)

Matrices are whatever offers device memory by DLPack or __cuda_array_interface__: tensors of PyTorch, arrays of CuPy, and
others. Nothing is copied and nothing is compiled at installation: this module calls libmmtune.so.
"""

from mmtune.arrays import Matrix, matrix_of
from mmtune.library import Answer, Error, Library

__all__ = ["Answer", "Error", "Library", "Matrix", "matrix_of"]
