"""Ten thousand random products of PyTorch with mmtune: random_calls.py MMTUNE [PACKAGE]

Tunes a few sizes, then calls under the stand-in for cuBLAS and, where PACKAGE (the folder that has mmtune's Python package) is
given, with mmtune.torch.enable(): random functions, types, shapes, strides, alpha, beta, transposes and batches, a third of
them of the tuned sizes, whose factors are mostly views that PyTorch multiplies without a copy: the others are PyTorch's under
enable(). Each result must lie within the error bound of its arithmetic, what PyTorch refuses must be refused,
and memory must not grow.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

CALLS, WARM_CALLS = 10_000, 2_000
TUNED = ((64, 128, 256), (256, 64, 64))
EXTENTS = (0, 1, 3, 8, 17, 64, 65, 128, 256, 500)
MODES = ("preload", "enable")
PLAIN_VIEWS = ("packed", "transposed")
VIEWS = (*PLAIN_VIEWS, *PLAIN_VIEWS, "padded", "offset", "expanded", "second", "column")


def operand(torch, rng, shape, dtype, is_tuned=False):
    """A matrix or a batch of them in one of VIEWS."""
    *batch, rows, columns = shape

    def new(*extents):
        return torch.randn(*extents, device="cuda").to(dtype)

    kind = rng.choice(PLAIN_VIEWS if is_tuned and rng.random() < 0.5 else VIEWS)
    if kind == "transposed":
        return new(*batch, columns, rows).mT
    if kind == "padded":
        return new(*batch, rows, columns + rng.choice((1, 3, 8)))[..., :columns]
    if kind == "offset":
        return new(*batch, rows + 1, columns + 1)[..., 1:, 1:]
    if kind == "expanded":
        return new(*batch, 1, columns).expand(*shape)
    if kind == "second":
        return new(*batch, rows, 2 * columns)[..., ::2]
    if kind == "column":
        return new(*batch, rows, 1).expand(*shape)
    return new(*shape)


def calls(torch, rng):
    """A function, the exact result as a function of doubles, the factors, and what is added by which scalars."""
    dtype = rng.choice((torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64))
    is_tuned = rng.random() < 0.35
    m, n, k = rng.choice(TUNED) if is_tuned else (rng.choice(EXTENTS) for _ in range(3))
    kind = rng.choice(("mm", "addmm", "bmm", "baddbmm", "linear", "linear with bias", "matmul"))
    batch = (rng.choice((1, 2, 5)),) if kind in ("bmm", "baddbmm") else ()
    a, b = (operand(torch, rng, (*batch, *shape), dtype, is_tuned) for shape in ((m, k), (k, n)))
    alpha, beta = rng.choice((1, 1, 2, -0.5)), rng.choice((0, 1, 1, 0.25))
    if kind in ("mm", "bmm", "matmul"):
        return getattr(torch, kind)(a, b), a, b, None, 1, 0
    if kind == "linear":
        return torch.nn.functional.linear(a, b.mT), a, b, None, 1, 0
    if kind == "linear with bias":
        bias = torch.randn(n, device="cuda").to(dtype)
        return torch.nn.functional.linear(a, b.mT, bias), a, b, bias, 1, 1
    shape = rng.choice(((*batch, m, n), (n,))) if kind == "addmm" else (*batch, m, n)
    added = operand(torch, rng, shape, dtype) if len(shape) > 1 else torch.randn(n, device="cuda").to(dtype)
    return getattr(torch, kind)(added, a, b, alpha=alpha, beta=beta), a, b, added, alpha, beta


def share_of_bound(torch, result, a, b, added, alpha, beta):
    """The largest error as a share of what k additions in the format of the sums and two roundings may make."""
    if result.numel() == 0:
        return 0.0
    a, b = a.double(), b.double()
    exact, size = alpha * (a @ b), abs(alpha) * (a.abs() @ b.abs())
    if added is not None and beta != 0:
        exact, size = exact + beta * added.double(), size + (beta * added.double()).abs()
    of_type, of_sums = torch.finfo(result.dtype), torch.finfo(torch.promote_types(result.dtype, torch.float32))
    bound = size * (2 * max(1, a.size(-1)) * of_sums.eps + 2 * of_type.eps) + of_type.smallest_normal
    return ((result.double() - exact).abs() / bound).max().item()


def work(mode):
    import torch

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    # Sums of 16-bit products stay in fp32 also where cuBLAS splits them.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    if mode == "enable":
        import mmtune.torch

        mmtune.torch.enable()
    worst, free = 0.0, 0
    for number in range(CALLS):
        rng = random.Random(number)
        result, *rest = calls(torch, rng)
        share = share_of_bound(torch, result, *rest)
        if not share <= 1:
            sys.exit(f"{mode}: call {number}: error of {share:.3g} times the bound; {tuple(result.shape)}, {result.dtype}, "
                     f"strides {[tuple(each.stride()) for each in rest[:2]]}")  # fmt: skip
        worst = max(worst, share)
        if number == WARM_CALLS:
            del result, rest
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            free = torch.cuda.mem_get_info()[0]
    del result, rest
    for wrong in ((torch.ones(2, 3).cuda(), torch.ones(2, 3).cuda()), (torch.ones(2, 2).cuda(), torch.ones(2, 2).double().cuda())):
        try:
            torch.mm(*wrong)
        except RuntimeError:
            continue
        sys.exit(f"{mode}: a product of wrong operands was not refused")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    grown = (free - torch.cuda.mem_get_info()[0]) / 2**20
    if mode == "enable":
        served = sum(each.served for each in mmtune.torch.report())
    else:
        import ctypes

        counts = (ctypes.c_longlong * 2)()
        ctypes.CDLL(None).mmtune_cublas_counts(ctypes.byref(counts), ctypes.byref(counts, 8))
        served = counts[0]
    print(f"{mode}: {CALLS} calls, {served} served; largest error {worst:.3f} of its bound; {grown:.0f} MiB more memory")
    if served < CALLS // 20 or grown > 64:
        sys.exit(f"{mode}: too few were served, or memory grew")


def main(mmtune, package=None):
    mmtune = pathlib.Path(mmtune).absolute()
    with tempfile.TemporaryDirectory() as folder:
        variables = dict(os.environ, MMTUNE_DB=str(pathlib.Path(folder) / "random.db"))
        sizes = ",".join("x".join(map(str, size)) for size in TUNED)
        tune = [mmtune, "tune", "--device", "0", "--sizes", sizes, "--precision", "fp32,bf16,fp16", "--layout", "nn,nt,tn",
                "--effort", "quick", "--budget", os.environ.get("MMTUNE_PICKUP_BUDGET", "20s"), "-q"]  # fmt: skip
        subprocess.run(tune, env=variables, stdout=subprocess.DEVNULL)
        failed = False
        for mode in MODES if package else MODES[:1]:
            under = [mmtune, "run", "-q", "--"] if mode == "preload" else []
            if package:
                variables["PYTHONPATH"] = str(pathlib.Path(package).absolute())
            done = subprocess.run([*under, sys.executable, __file__, "--work", mode], env=variables)
            failed = failed or done.returncode != 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(sys.argv[2])
    else:
        try:
            import torch

            has_gpu = torch.cuda.is_available()
        except ImportError:
            has_gpu = False
        if not has_gpu:
            print("SKIPPED: PyTorch is not installed, or sees no GPU")
            sys.exit(0)
        main(*sys.argv[1:])
