"""PyTorch's own products, served where mmtune is expected to be faster: by its calls of cuBLAS, else by its operators."""

import contextlib
import threading
import warnings

import torch

from mmtune import _native, _stand_in
from mmtune._serving import INVARIANT, ONLY_COUNT, ONLY_FASTER
from mmtune.torch import invariant as invariant_products
from mmtune.torch import serving

_lock = threading.Lock()
_override = None  # the torch.library.Library while enabled
_flags = ONLY_FASTER
_stands_in = False  # whether PyTorch's calls of cuBLAS are served

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


def _invariant(name, overload=""):
    """The kernel for aten::NAME or NAME.out that never adds up in another order."""
    original, served = _original(name + overload), getattr(invariant_products, name)

    def call(keys, *arguments, **named):
        result = served(*arguments, **named)
        if result is not None:
            return named.get("out", result)
        result = original(keys, *arguments, **named)
        if result.numel() > 0 and all(each.numel() > 0 for each in arguments):
            raise _native.Error(f"{name} of {result.dtype}: no kernel adds up invariantly; disable() for this call")
        return result

    return call


def _kernels():
    names = ["mm", "bmm", "addmm", "baddbmm"]
    if _get_kernel is not None:
        names.append("_addmm_activation")  # Compiled programs call it.
    if _flags == INVARIANT:
        names += ["mv", "addmv"]
        returning, writing = _invariant, lambda name: _invariant(name, ".out")
    else:
        returning, writing = _returning, _writing
    kernels = {name: returning(name) for name in names}
    if _get_kernel is not None:
        kernels.update({f"{name}.out": writing(name) for name in names})
    return kernels


def _register(name, function):
    try:
        _override.impl(name, function, "CUDA", with_keyset=True, allow_override=True)
    except TypeError:  # a version of PyTorch without the last argument
        _override.impl(name, function, "CUDA", with_keyset=True)


def _begin(flags):
    """Serves as the mode says, and no longer as another one did."""
    global _override, _flags, _stands_in
    with _lock:
        if flags != _flags and INVARIANT in (flags, _flags):
            _end()
        _flags = flags
        if flags != INVARIANT and _stand_in.take():
            _stand_in.serve(flags == ONLY_COUNT)
            _stands_in = True
        if _stands_in or _override is not None:
            return
        kernels = _kernels()
        _override = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that something is overridden
            for name, function in kernels.items():
                _register(name, function)


def _end():
    global _override, _stands_in
    _stand_in.pause()
    _stands_in = False
    if _override is not None:
        _override._destroy()
    _override = None


def enable(only_count=False, invariant=False):
    """From now on torch.mm, addmm, bmm and baddbmm, and so torch.nn.Linear and compiled programs, are served by mmtune
    where that is expected to be faster: for sizes that were tuned and measured. For all threads and devices, until
    disable(). With `only_count` nothing is served, and report() says what was called. What is served are PyTorch's calls
    of cuBLAS; PyTorch's operators are overridden instead where it was built with cuBLAS inside it.

    With `invariant` all are served, mv and addmv too, and an element of the result has the same bits for every number of
    rows, views and batches: docs/same_bits.md. What cannot be so raises mmtune.Error, which says what to tune;
    tune(..., invariant=True) does. PyTorch's other operations keep bits of their own."""
    if only_count and invariant:
        raise ValueError("only_count and invariant: counting serves nothing; give one of them")
    _begin(ONLY_COUNT if only_count else INVARIANT if invariant else ONLY_FASTER)


def disable():
    """Ends enable()."""
    with _lock:
        _end()


def is_enabled():
    return _stands_in or _override is not None


@contextlib.contextmanager
def enabled(only_count=False, invariant=False):
    """enable() for a block, then as it was."""
    before, flags = is_enabled(), _flags
    enable(only_count, invariant)
    try:
        yield
    finally:
        _begin(flags) if before else disable()
