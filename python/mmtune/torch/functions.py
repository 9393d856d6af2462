"""The products by name: straight to the kernels where nothing watches, else through the operators."""

import torch

from mmtune.torch import serving
from mmtune.torch.operators import ops, plain_linear

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
_dispatch_modes = torch._C._len_torch_dispatch_stack
_autocasts, _records = torch.is_autocast_enabled, torch.is_grad_enabled
_transforms = torch._C._functorch.peek_interpreter_stack
_traces, _forward = torch._C._is_tracing, torch.autograd.forward_ad


def _is_watched(*tensors):
    """Whether autograd, autocast, a compiler, a tracer, a mode or a subclass has a say. The dispatcher, which knows all of
    them, would take as long to ask as the rest of the call."""
    if torch.compiler.is_compiling() or _autocasts("cuda") or _dispatch_modes() or _transforms() is not None:
        return True
    if _traces() or _forward._current_level >= 0:
        return True
    records = _records()
    for each in tensors:
        if type(each) not in _PLAIN_TYPES or not each.is_cuda or (records and each.requires_grad) or each.is_neg():
            return True
    return False


def matmul(a, b):
    """torch.matmul."""
    if a.dim() == 2 and b.dim() == 2:
        return _call(ops.mm, serving.mm, torch.mm, a, b)
    if a.dim() == 3 and b.dim() == 3 and a.size(0) == b.size(0):
        return bmm(a, b)
    return ops.matmul(a, b)


def bmm(a, b):
    """torch.bmm."""
    return _call(ops.bmm, serving.bmm, torch.bmm, a, b)


def _call(operator, served, plain, a, b):
    if _is_watched(a, b):
        return operator(a, b)
    result = served(a, b)
    return plain(a, b) if result is None else result


def addmm(input, a, b, *, beta=1, alpha=1):
    """torch.addmm. A vector that is added to each row with beta 1 is added before the result is rounded."""
    if _is_watched(input, a, b):
        return ops.addmm(input, a, b, beta=beta, alpha=alpha)
    result = serving.addmm(input, a, b, beta, alpha)
    return torch.addmm(input, a, b, beta=beta, alpha=alpha) if result is None else result


def linear(input, weight, bias=None, activation=None):
    """torch.nn.functional.linear, then `activation`: None, "relu" or "gelu", the latter as torch.nn.functional.gelu with
    approximate="none". Bias and activation are computed before the only rounding of the result."""
    if activation not in (None, "relu", "gelu"):
        raise ValueError(f"activation {activation!r}: must be None, 'relu' or 'gelu'")
    if _is_watched(input, weight) if bias is None else _is_watched(input, weight, bias):
        return ops.linear(input, weight, bias, activation)
    result = serving.linear(input, weight, bias, activation)
    return plain_linear(input, weight, bias, activation) if result is None else result
