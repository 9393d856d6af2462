"""PyTorch's own products, served where mmtune is expected to be faster."""

import contextlib
import threading
import warnings

import torch

from mmtune.torch import serving
from mmtune._serving import ONLY_COUNT, ONLY_FASTER

_lock = threading.Lock()
_override = None  # the torch.library.Library while enabled
_flags = ONLY_FASTER

# Since PyTorch 2.9: what a kernel of PyTorch does stays callable once it is overridden.
_get_kernel = getattr(torch.library, "get_kernel", None)


def _original(name):
    """PyTorch's own kernel aten::NAME. Where it cannot be kept, the one that writes, which then is not overridden."""
    if _get_kernel is not None:
        return _get_kernel(f"aten::{name}", "CUDA").call_boxed

    def call(keys, *arguments, **named):
        return getattr(torch, name)(*arguments, **named, out=arguments[-1].new_empty(0))

    return call


def _returning(name):
    """The kernel for aten::NAME."""
    original, served = _original(name), getattr(serving, name)

    def call(keys, *arguments, **named):
        result = served(*arguments, **named, flags=_flags)
        return original(keys, *arguments, **named) if result is None else result

    return call


def _writing(name):
    """The kernel for aten::NAME.out, which compiled programs call."""
    original, served = _original(f"{name}.out"), getattr(serving, name)

    def call(keys, *arguments, out, **named):
        if served(*arguments, **named, flags=_flags, out=out) is not None:
            return out
        return original(keys, *arguments, **named, out=out)

    return call


def _kernels():
    names = ("mm", "bmm", "addmm")
    kernels = {name: _returning(name) for name in names}
    if _get_kernel is not None:
        kernels.update({f"{name}.out": _writing(name) for name in names})
    return kernels


def _register(name, function):
    try:
        _override.impl(name, function, "CUDA", with_keyset=True, allow_override=True)
    except TypeError:  # a version of PyTorch without the last argument
        _override.impl(name, function, "CUDA", with_keyset=True)


def enable(only_count=False):
    """From now on torch.mm, addmm and bmm, and so torch.nn.Linear and compiled programs, are served by mmtune where that
    is expected to be faster: for sizes that were tuned and measured. For all threads
    and devices, until disable(). With `only_count` nothing is served, and report() says what was called."""
    global _override, _flags
    with _lock:
        _flags = ONLY_COUNT if only_count else ONLY_FASTER
        if _override is not None:
            return
        kernels = _kernels()
        _override = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that something is overridden
            for name, function in kernels.items():
                _register(name, function)


def disable():
    """Ends enable()."""
    global _override
    with _lock:
        if _override is not None:
            _override._destroy()
        _override = None


@contextlib.contextmanager
def enabled(only_count=False):
    """enable() for a block, then as it was."""
    before, flags = _override is not None, _flags
    enable(only_count)
    try:
        yield
    finally:
        enable(flags == ONLY_COUNT) if before else disable()
