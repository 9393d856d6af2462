"""A product of tensors of PyTorch, or arrays of CuPy: whichever is installed."""

import sys

import mmtune

SKIPPED = 77


def with_torch():
    import torch

    if not torch.cuda.is_available():
        sys.exit(SKIPPED)
    a = torch.randn(300, 200, device="cuda", dtype=torch.float16)
    b = torch.randn(500, 200, device="cuda", dtype=torch.float16).T  # a view: nothing is copied
    c = torch.empty(300, 500, device="cuda", dtype=torch.float16)
    with mmtune.Library() as library:
        library.gemm(a, b, out=c)
        torch.cuda.synchronize()
        print(library.explain(a, b, out=c))
    return float((c.float() - a.float() @ b.float()).abs().max()) < 0.5


def with_cupy():
    import cupy

    a = cupy.random.rand(300, 200, dtype=cupy.float32)
    b = cupy.random.rand(500, 200, dtype=cupy.float32).T
    c = cupy.empty((300, 500), dtype=cupy.float32)
    with mmtune.Library() as library:
        library.gemm(a, b, out=c)
        cupy.cuda.Device().synchronize()
        print(library.explain(a, b, out=c))
    return float(abs(c - a @ b).max()) < 1e-2


for example in (with_torch, with_cupy):
    try:
        sys.exit(0 if example() else 1)
    except ImportError:
        continue
print("skipped: neither PyTorch nor CuPy is installed")
sys.exit(SKIPPED)
