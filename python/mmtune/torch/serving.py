"""Single products on the GPU: by mmtune, or by PyTorch where mmtune passes them on. Below autograd and autocast."""

import atexit

import torch

from mmtune import _serving
from mmtune._serving import ACTIVATIONS, LINEAR, TF32

# What torch.cuda's functions of these names call, after they have looked whether CUDA was begun: tensors are there.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_current_device = getattr(torch._C, "_cuda_getDevice", None)
_captures = getattr(torch._C, "_cuda_isCurrentStreamCapturing", None)
# Tensors that require gradients are refused by DLPack, which older versions of PyTorch are read by.
_needs_detaching = not hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def _allows_tf32():
    try:
        return torch._C._get_cublas_allow_tf32()
    except RuntimeError:  # set by torch.backends.cuda.matmul.fp32_precision, which this function knows nothing of
        return torch.backends.cuda.matmul.fp32_precision == "tf32"


def _capture_allocator(a):
    return lambda count: a.new_empty(count, dtype=torch.int8)


def _serve(flags, a, b, bias=None, out=None, alpha=1.0, beta=0.0, added=None):
    """What is enqueued on the current stream, in `out` or in new memory; None where PyTorch is to compute or refuse it.
    `beta` multiplies `added`, broadcast, or what is in `out` where that is not given. Flags of _serving."""
    device = a.get_device()
    if device < 0:
        return None
    if device != _current_device():
        with torch.cuda.device(device):
            return _serve(flags, a, b, bias, out, alpha, beta, added)
    if a.dtype is torch.float32 and _allows_tf32():
        flags |= TF32
    if _needs_detaching:
        a, b, bias, out = (each if each is None else each.detach() for each in (a, b, bias, out))
    allocate = _capture_allocator(a) if _captures() else None
    library = _serving.library(device)
    results = library._serve(flags, a, b, bias, added, out, alpha, beta, _current_stream(device), allocate)
    return None if type(results) is str else results


def mm(a, b, flags=0, out=None):
    """a @ b, or None where PyTorch is to compute or refuse it; so are the others."""
    return _serve(flags, a, b, None, out) if a.dim() == 2 == b.dim() else None


def bmm(a, b, flags=0, out=None):
    return _serve(flags, a, b, None, out) if a.dim() == 3 == b.dim() else None


def addmm(input, a, b, beta=1, alpha=1, flags=0, out=None):
    if a.dim() != 2 or b.dim() != 2:
        return None
    row = _row_of(input, a, b) if beta == 1 and not isinstance(alpha, complex) else None
    if row is not None:
        return _serve(flags, a, b, row, out, float(alpha))
    return _added(input, a, b, beta, alpha, flags, out)


def baddbmm(input, a, b, beta=1, alpha=1, flags=0, out=None):
    return _added(input, a, b, beta, alpha, flags, out) if a.dim() == 3 == b.dim() else None


def _addmm_activation(input, a, b, beta=1, alpha=1, use_gelu=False, flags=0, out=None):
    """GELU is the approximation by tanh here, which mmtune lacks."""
    return None if use_gelu else addmm(input, a, b, beta, alpha, flags | ACTIVATIONS["relu"], out)


def _row_of(input, a, b):
    """The vector that is added to each row of a @ b; None where rows differ."""
    if input.dim() == 1:
        return input if input.size(0) == b.size(1) else None
    if input.dim() != 2 or input.size(1) != b.size(1):
        return None
    return input[0] if input.size(0) == 1 or (input.stride(0) == 0 and input.size(0) == a.size(0) > 0) else None


def can_add(input, a, b):
    """Whether PyTorch adds `input`, broadcast if need be, to a @ b: of two matrices, or of two batches of one length."""
    shape = (*a.shape[:-1], b.size(-1))
    return (
        input.dtype is a.dtype and input.device == a.device and input.dim() <= len(shape)
        and all(have in (1, want) for have, want in zip(reversed(input.shape), reversed(shape)))
    )  # fmt: skip


def _added(input, a, b, beta, alpha, flags, out):
    if isinstance(alpha, complex) or isinstance(beta, complex) or not can_add(input, a, b):
        return None
    return _serve(flags, a, b, None, out, float(alpha), float(beta), None if beta == 0 else input)


def linear(input, weight, bias=None, activation=None, flags=0):
    if input.dim() == 0 or weight.dim() != 2 or (bias is not None and bias.dim() != 1):
        return None
    return _serve(flags | LINEAR | ACTIVATIONS[activation], input, weight, bias)


@atexit.register
def _finish():
    """Libraries are closed once their GPUs have finished; this runs before."""
    if torch.cuda.is_initialized():
        for device in _serving.devices:
            torch.cuda.synchronize(device)
