"""CuPy's matrix product with the kernels that mmtune tuned."""

import atexit

import cupy

from mmtune import _serving

_TYPES = ("f4", "f8", "f2")


def _is_served(a, b):
    return (
        type(a) is cupy.ndarray and type(b) is cupy.ndarray and a.dtype == b.dtype and a.dtype.str[1:] in _TYPES
        and a.ndim == b.ndim and a.ndim in (2, 3) and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2]
        and a.size > 0 and b.size > 0
    )  # fmt: skip


def matmul(a, b):
    """cupy.matmul. What mmtune cannot multiply as it is, CuPy itself computes or refuses. fp32 is not rounded to TF32."""
    if _is_served(a, b):
        device = cupy.cuda.runtime.getDevice()
        if a.device.id == b.device.id == device:
            out = cupy.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
            stream = cupy.cuda.get_current_stream()
            allocate = (lambda count: cupy.empty(count, "i1")) if stream.is_capturing() else None
            if _serving.library(device)._serve(0, a, b, None, None, out, 1.0, 0.0, stream.ptr, allocate) is out:
                return out
    return cupy.matmul(a, b)


@atexit.register
def _finish():
    """Libraries are closed once their GPUs have finished; this runs before."""
    for device in _serving.devices:
        cupy.cuda.Device(device).synchronize()
