"""The operators torch.ops.mmtune.*: what they are for the dispatcher. Fake results and refusals are PyTorch's own."""

import math

import torch

from mmtune.torch import serving

_library = torch.library.Library("mmtune", "DEF")
_forward, _transformed = torch.autograd.forward_ad, torch._C._are_functorch_transforms_active
ops = torch.ops.mmtune


def _mm_backward(ctx, gradient):
    a, b = ctx.saved_tensors
    needs_a, needs_b = ctx.needs_input_grad
    return ops.mm(gradient, b.mH) if needs_a else None, ops.mm(a.mH, gradient) if needs_b else None


def _bmm_backward(ctx, gradient):
    a, b = ctx.saved_tensors
    needs_a, needs_b = ctx.needs_input_grad
    return ops.bmm(gradient, b.mH) if needs_a else None, ops.bmm(a.mH, gradient) if needs_b else None


def _save_factors(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _save_addmm(ctx, inputs, keyword_only_inputs, output):
    input, a, b = inputs
    ctx.save_for_backward(a, b)
    ctx.input_shape = input.shape
    ctx.beta, ctx.alpha = keyword_only_inputs["beta"], keyword_only_inputs["alpha"]


def _scaled(gradient, factor):
    return gradient if factor == 1 else gradient * (factor.conjugate() if isinstance(factor, complex) else factor)


def _rows(tensor):
    """All but the last extent as one. A matrix of nothing leaves no extent to be worked out."""
    return tensor.reshape(math.prod(tensor.shape[:-1]), tensor.size(-1))


def _addmm_backward(ctx, gradient):
    a, b = ctx.saved_tensors
    needs_input, needs_a, needs_b = ctx.needs_input_grad
    return (
        _scaled(gradient.sum_to_size(ctx.input_shape), ctx.beta) if needs_input else None,
        _scaled(ops.mm(gradient, b.mH), ctx.alpha) if needs_a else None,
        _scaled(ops.mm(a.mH, gradient), ctx.alpha) if needs_b else None,
    )


def _save_linear(ctx, inputs, output):
    input, weight, bias, activation = inputs
    ctx.activation = activation
    ctx.save_for_backward(input, weight, bias, output if activation == "relu" else None)


def _linear_backward(ctx, gradient):
    input, weight, bias, output = ctx.saved_tensors
    needs_input, needs_weight, needs_bias = (*ctx.needs_input_grad, False)[:3]  # defaults are left out
    if ctx.activation == "relu":
        gradient = torch.ops.aten.threshold_backward(gradient, output, 0)
    elif ctx.activation == "gelu":  # its argument was not kept: the product and the bias are made again
        gradient = torch.ops.aten.gelu_backward(gradient, ops.linear(input, weight, bias))
    rows = _rows(gradient)
    return (
        ops.mm(rows, weight.conj()).view(input.shape) if needs_input else None,
        ops.mm(rows.t(), _rows(input).conj()) if needs_weight else None,
        rows.sum(0) if needs_bias else None,
        None,
    )


def plain_linear(input, weight, bias=None, activation=None):
    """What linear means, by PyTorch."""
    result = torch.nn.functional.linear(input, weight, bias)
    if activation == "relu":
        return torch.relu(result)
    return torch.nn.functional.gelu(result) if activation == "gelu" else result


def _served_or(plain, served):
    def call(*arguments, **named):
        result = served(*arguments, **named)
        return plain(*arguments, **named) if result is None else result

    return call


def _autocast(operator):
    """Casts to the type of the region as PyTorch does for its products, and hides the region from what follows."""
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)

    def cast(value):
        if not isinstance(value, torch.Tensor) or not value.is_cuda or not value.is_floating_point():
            return value
        return value if value.dtype is torch.float64 else value.to(torch.get_autocast_dtype("cuda"))

    def call(*arguments, **named):
        with torch._C._ExcludeDispatchKeyGuard(key):
            return operator(*map(cast, arguments), **named)

    return call


def _autograd(operator, plain, save, backward):
    """What torch.library.register_autograd() registers would drop derivatives forward without a word, and refuse most
    transforms of torch.func: PyTorch's own operators know both."""
    recorded = torch._library.autograd.make_autograd_impl(operator, torch._library.autograd.Info(backward, save))

    def call(keys, *arguments, **named):
        if _forward._current_level >= 0 or _transformed():
            return plain(*arguments, **named)
        return recorded(keys, *arguments, **named)

    return call


def _define(schema, plain, served, save, backward):
    name = schema.partition("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, plain, "CompositeExplicitAutograd")
    _library.impl(name, _served_or(plain, served), "CUDA")
    torch.library.register_fake(f"mmtune::{name}", plain, lib=_library)
    kernel = _autograd(getattr(ops, name).default, plain, save, backward)
    _library.impl(name, kernel, "Autograd", with_keyset=True)
    _library.impl(name, _autocast(getattr(ops, name)), "AutocastCUDA")


_define("mm(Tensor a, Tensor b) -> Tensor", torch.mm, serving.mm, _save_factors, _mm_backward)
_define("bmm(Tensor a, Tensor b) -> Tensor", torch.bmm, serving.bmm, _save_factors, _bmm_backward)
_define("addmm(Tensor input, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        torch.addmm, serving.addmm, _save_addmm, _addmm_backward)  # fmt: skip
_define("linear(Tensor input, Tensor weight, Tensor? bias=None, str? activation=None) -> Tensor",
        plain_linear, serving.linear, _save_linear, _linear_backward)  # fmt: skip


def _matmul(a, b):
    """torch.matmul of any extents from views and the two products above."""
    if a.dim() == 0 or b.dim() == 0 or a.numel() == 0 or b.numel() == 0 or a.dtype is not b.dtype:
        return torch.matmul(a, b)
    if a.size(-1) != b.size(-2 if b.dim() > 1 else 0):
        return torch.matmul(a, b)
    if a.dim() == 1:
        return _matmul(a.unsqueeze(0), b).squeeze(-2 if b.dim() > 1 else 0)
    if b.dim() == 1:
        return _matmul(a, b.unsqueeze(1)).squeeze(-1)
    if b.dim() == 2:
        if a.dim() == 2:
            return ops.mm(a, b)
        return ops.mm(a.reshape(-1, a.size(-1)), b).view(*a.shape[:-1], b.size(1))
    try:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        return torch.matmul(a, b)
    left = a.expand(*batch, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = b.expand(*batch, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    return ops.bmm(left, right).view(*batch, a.size(-2), b.size(-1))


_library.define("matmul(Tensor a, Tensor b) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
_library.impl("matmul", _matmul, "CompositeImplicitAutograd")
