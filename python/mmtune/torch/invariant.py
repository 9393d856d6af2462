"""Products whose elements have the same bits for every number of rows: below autograd and autocast, for
enable(invariant=True). Each returns None where PyTorch is to refuse the call, or nothing is added up; where the library
cannot keep the order of additions, mmtune.Error says what to do."""

import torch

from mmtune._serving import INVARIANT
from mmtune.torch import serving

_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _is_plain(a, b):
    """Whether PyTorch would multiply them, and there is something to add up."""
    return (
        a.dim() == b.dim() and a.shape[:-2] == b.shape[:-2] and a.size(-1) == b.size(-2) and a.numel() > 0 < b.numel()
        and a.dtype is b.dtype and a.device == b.device and a.dtype in _TYPES
    )  # fmt: skip


def _served(a, b, out, bias=None, alpha=1.0, beta=0.0):
    """a @ b in `out` or in new memory, whatever views they are."""
    if not _is_plain(a, b):
        return None
    if out is not None and tuple(out.shape) != (*a.shape[:-1], b.size(-1)):
        return None  # PyTorch gives it another size
    flags = INVARIANT
    result = serving._serve(flags, a, b, bias, out, alpha, beta)
    if result is None and out is None:
        result = serving._serve(flags, a.contiguous(), b.contiguous(), bias, None, alpha, beta)
    elif result is None:
        packed = out.contiguous() if beta else out.new_empty(out.shape)
        result = serving._serve(flags, a.contiguous(), b.contiguous(), bias, packed, alpha, beta)
        result = None if result is None else out.copy_(packed)
    return result


def mm(a, b, out=None):
    return _served(a, b, out) if a.dim() == 2 else None


def bmm(a, b, out=None):
    return _served(a, b, out) if a.dim() == 3 else None


def mv(a, x, out=None):
    result = mm(a, x.unsqueeze(-1), None if out is None else out.unsqueeze(-1)) if x.dim() == 1 else None
    return result if result is None else result.squeeze(-1)


def _added(input, a, b, beta, alpha, out):
    """beta * input + alpha * a @ b."""
    if not _is_plain(a, b) or not serving.can_add(input, a, b) or isinstance(alpha, complex):
        return None
    shape = (*a.shape[:-1], b.size(-1))
    if beta == 0:
        return _served(a, b, out, alpha=float(alpha))
    if beta == 1 and a.dim() == 2 and input.dim() == 1 and input.numel() == shape[-1]:
        return _served(a, b, out, bias=input.contiguous(), alpha=float(alpha))
    sums = input.expand(shape).clone(memory_format=torch.contiguous_format)
    if _served(a, b, sums, alpha=float(alpha), beta=float(beta)) is None:
        return None
    return sums if out is None else out.copy_(sums) if out.shape == sums.shape else None


def addmm(input, a, b, *, beta=1, alpha=1, out=None):
    return _added(input, a, b, beta, alpha, out) if a.dim() == 2 else None


def _addmm_activation(input, a, b, *, beta=1, alpha=1, use_gelu=False, out=None):
    result = addmm(input, a, b, beta=beta, alpha=alpha, out=out)
    if result is None:
        return None
    active = torch.nn.functional.gelu(result, approximate="tanh") if use_gelu else torch.relu(result)
    return active if out is None else out.copy_(active)


def baddbmm(input, a, b, *, beta=1, alpha=1, out=None):
    return _added(input, a, b, beta, alpha, out) if a.dim() == 3 else None


def addmv(input, a, x, *, beta=1, alpha=1, out=None):
    if x.dim() != 1 or input.dim() > 1:
        return None
    wide = None if out is None else out.unsqueeze(-1)
    result = addmm(input.unsqueeze(-1) if input.dim() == 1 else input, a, x.unsqueeze(-1), beta=beta, alpha=alpha, out=wide)
    return result if result is None else result.squeeze(-1)
