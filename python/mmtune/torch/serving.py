"""Single products on the GPU: by mmtune, or by PyTorch where mmtune passes them on. Below autograd and autocast."""

import atexit

import torch

from mmtune import _serving
from mmtune._serving import ACTIVATIONS, LINEAR, TF32

TYPES = frozenset((torch.float32, torch.float64, torch.float16, torch.bfloat16))
_current_stream = torch._C._cuda_getCurrentRawStream if hasattr(torch._C, "_cuda_getCurrentRawStream") else None
# Tensors that require gradients are refused by DLPack, which older versions of PyTorch are read by.
_needs_detaching = not hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def _allows_tf32():
    try:
        return torch._C._get_cublas_allow_tf32()
    except RuntimeError:  # set by torch.backends.cuda.matmul.fp32_precision, which this function knows nothing of
        return torch.backends.cuda.matmul.fp32_precision == "tf32"


def serve(flags, a, b, bias, out, alpha=1.0, beta=0.0):
    """Whether mmtune has enqueued the product on the current stream; if not, `out` is as it was. Flags of _serving."""
    device = a.get_device()
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return serve(flags, a, b, bias, out, alpha, beta)
    if a.dtype is torch.float32 and _allows_tf32():
        flags |= TF32
    if _needs_detaching:
        a, b, bias, out = a.detach(), b.detach(), None if bias is None else bias.detach(), out.detach()
    allocate = None
    if torch.cuda.is_current_stream_capturing():

        def allocate(count):
            return a.new_empty(count, dtype=torch.int8)

    stream = _current_stream(device)
    return _serving.library(device)._serve(flags, a, b, bias, out, alpha, beta, stream, allocate) is None


def _match(a, b):
    return a.dtype is b.dtype and a.dtype in TYPES and a.is_cuda and a.device == b.device and a.numel() and b.numel()


def mm(a, b, flags=0):
    """a @ b, or None where PyTorch is to compute or refuse it; so are the others."""
    if a.dim() == 2 and b.dim() == 2 and a.size(1) == b.size(0) and _match(a, b):
        out = a.new_empty((a.size(0), b.size(1)))
        if serve(flags, a, b, None, out):
            return out
    return None


def bmm(a, b, flags=0):
    if a.dim() == 3 and b.dim() == 3 and a.size(0) == b.size(0) and a.size(2) == b.size(1) and _match(a, b):
        out = a.new_empty((a.size(0), a.size(1), b.size(2)))
        if serve(flags, a, b, None, out):
            return out
    return None


def is_row(input, b):
    """Whether what is added to a product with b is the same for each row."""
    return input.dim() in (1, 2) and input.numel() == b.size(1) == input.size(-1)


def addmm(input, a, b, beta=1, alpha=1, flags=0):
    if a.dim() != 2 or b.dim() != 2 or a.size(1) != b.size(0) or not _match(a, b):
        return None
    if input.dtype is not a.dtype or input.device != a.device or isinstance(alpha, complex):
        return None
    out = a.new_empty((a.size(0), b.size(1)))
    if beta == 0:
        done = serve(flags, a, b, None, out, float(alpha))
    elif beta == 1 and is_row(input, b):
        done = serve(flags, a, b, input.view(-1), out, float(alpha))
    else:
        done = _added(input, a, b, out, beta, alpha, flags)
    return out if done else None


def _added(input, a, b, out, beta, alpha, flags):
    pairs = zip(reversed(input.shape), reversed(out.shape))
    if isinstance(beta, complex) or input.dim() > 2 or any(have not in (1, want) for have, want in pairs):
        return False
    out.copy_(input)
    return serve(flags, a, b, None, out, float(alpha), float(beta))


def linear(input, weight, bias=None, activation=None, flags=0):
    if weight.dim() != 2 or input.dim() == 0 or input.size(-1) != weight.size(1) or not _match(input, weight):
        return None
    if bias is not None and (bias.dim() != 1 or bias.size(0) != weight.size(0) or bias.dtype is not input.dtype):
        return None
    if bias is not None and bias.device != input.device:
        return None
    out = input.new_empty((*input.shape[:-1], weight.size(0)))
    done = serve(flags | LINEAR | ACTIVATIONS[activation], input, weight, bias, out)
    return out if done else None


@atexit.register
def _finish():
    """Libraries are closed once the GPU has finished; this runs before."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
