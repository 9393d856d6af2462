#!/usr/bin/env python3
"""How far fp32_emulated is from exact products, beside cuBLAS SGEMM and strict fp32, and how long both take.

Writes COLUMNS as CSV. `frobenius` is the norm of the difference from the product in FP64 over the norm of that,
`componentwise` the largest |difference| / (|A| |B|), `us` the time of a call. `scheme` says what multiplied, for
precision fp32_emulated: fp16x3 or, where the data are not fit for it, bf16x8 or strict, as the rules of
templates/device/fp16x3_planes.cuh, fp16x3_split.cuh and fp16x3_decide.cuh say for these data; fp32 for the library's
own strict product. Needs a GPU of compute capability 8.0 or more, PyTorch with CUDA, and a database with kernels for
both precisions.
"""

import argparse
import csv
import sys

import torch

import mmtune

LEAST_WIDE_K = 128  # as fp16x3_decide.cuh has it
COLUMNS = "data,m,n,k,scheme,frobenius,componentwise,cublas_frobenius,cublas_componentwise,us,cublas_us"
DEEP = [(1024, 1024, k) for k in (16, 32, 64, 256, 1024, 4096, 16384, 65536)]
SQUARE = [(n, n, n) for n in (512, 1000, 2048, 4096)]
TABLE = [(n, n, n) for n in (256, 768, 1024, 1536, 3000, 3072, 4095, 4097, 6144, 8192)] + [(2047, 2049, 2051)]


def random(rows, columns, low=-1.0):
    return torch.empty(rows, columns, device="cuda").uniform_(low, 1.0)


def powers(rows, columns, decades):
    return torch.pow(10.0, decades * random(rows, columns).double())


def uniform(m, n, k):
    return random(m, k), random(k, n)


def normal(m, n, k):
    return torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")


def positive(m, n, k):
    return random(m, k, 0.0), random(k, n, 0.0)


def wide(m, n, k):
    a, b = normal(m, n, k)
    return (a * powers(m, k, 8)).float(), (b * powers(k, n, 8)).float()


def wide_by_row(m, n, k):
    a, b = normal(m, n, k)
    return (a * powers(m, 1, 8)).float(), (b * powers(1, n, 8)).float()


def opposed(m, n, k):
    a, b = normal(m, n, k)
    scale = powers(1, k, 8)
    return (a * scale).float(), (b / scale.T).float()


def cancelling(m, n, k):
    """Every product has its negative among the others, but for a change of one part in a thousand."""
    a, b = normal(m, n, k)
    half = k // 2
    b[half : 2 * half] = -b[:half] * (1 + 1e-3 * random(half, n))
    a[:, half : 2 * half] = a[:, :half]
    return a, b


def rank_one(m, n, k):
    a, b = random(m, 1) * random(1, k), random(k, 1) * random(1, n)
    return a, b


def rows_apart(m, n, k):
    """Neighbouring rows of A and columns of B differ by 10^12."""
    a, b = normal(m, n, k)
    a[::2] *= 1e12
    b[:, ::2] *= 1e-12
    return a, b


def half_zero(m, n, k):
    a, b = normal(m, n, k)
    return a.clamp(min=0), b


def identity(m, n, k):
    return torch.eye(m, k, device="cuda"), torch.randn(k, n, device="cuda")


def diagonal(m, n, k):
    """Results of one term, which fp32 rounds once."""
    a, b = identity(m, n, k)
    return a * random(m, 1), b


KINDS = [uniform, normal, positive, wide, wide_by_row, opposed, cancelling, rank_one, rows_apart, half_zero, identity,
         diagonal]  # fmt: skip


def demand_of(rows):
    """The least `sure` of the rows, and whether one needs a low part, as fp16x3_planes.cuh has them."""
    largest = rows.abs().amax(dim=1, keepdim=True)
    exponent = torch.floor(torch.log2(largest.double())).where(largest > 0, torch.zeros_like(largest).double())
    scaled = rows.double() * torch.exp2(14 - exponent)
    high = scaled.half().double()
    is_lossy = (scaled.abs() < 0.25) & (high + (scaled - high).half().double() != scaled)
    sure = (scaled.abs() >= 256).sum(dim=1) - is_lossy.sum(dim=1)
    sure[largest[:, 0] == 0] = 2**30
    is_scaled = (largest == 0) | ((largest >= 2.0**-94) & (largest < 2.0**81))
    sure[~is_scaled[:, 0]] = -(2**31)
    return sure.min().item(), bool((high != scaled).any())


def fits_bf16(x):
    size = x.abs()
    return bool(((size == 0) | ((size >= 2.0**-110) & (size < 2.0**50))).all())


def scheme_for(family, a, b):
    (sure_a, low_a), (sure_b, low_b) = demand_of(a), demand_of(b.T.contiguous())
    if not (low_a or low_b) or sure_a + sure_b >= a.shape[1] + 32:
        return "fp16x3"
    is_wide = family == "wgmma_fp16x3" and a.shape[1] >= LEAST_WIDE_K and fits_bf16(a) and fits_bf16(b)
    return "bf16x8" if is_wide else "strict"


def errors(result, exact, magnitude):
    difference = result.double() - exact
    frobenius = (difference.norm() / exact.norm()).item()
    return frobenius, (difference.abs() / magnitude).nan_to_num(0).max().item()


def median_us(call):
    """The median of seven turns of some calls, in microseconds for each."""
    calls, times = 3, []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    return sorted(times)[3]


def rows_of(library, kind, m, n, k):
    a, b = kind(m, n, k)
    exact, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    cublas = errors(a @ b, exact, magnitude)
    out = torch.empty(m, n, device="cuda")
    cublas_us = median_us(lambda: torch.matmul(a, b, out=out))
    for precision in ("fp32_emulated", "fp32"):

        def multiply(precision=precision):
            library.gemm(a, b, out, precision=precision, stream=torch.cuda.current_stream())

        out.fill_(float("nan"))
        multiply()
        torch.cuda.synchronize()
        ours = errors(out, exact, magnitude)
        us = median_us(multiply)
        family = library.explain(a, b, out, precision=precision).family
        emulates = precision == "fp32_emulated" and family.endswith("fp16x3")
        yield [kind.__name__, m, n, k, scheme_for(family, a, b) if emulates else "fp32",
               *(f"{value:.3g}" for value in (*ours, *cublas)), f"{us:.1f}", f"{cublas_us:.1f}"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", required=True)
    parser.add_argument("--library", help="libmmtune.so; by default the one beside the package")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS.split(","))
    with mmtune.Library(arguments.db, path=arguments.library) as library:
        for kind in KINDS:
            sizes = DEEP[::3] + SQUARE[2:3] if arguments.quick else DEEP + SQUARE + (TABLE if kind is uniform else [])
            for size in sizes:
                for row in rows_of(library, kind, *size):
                    writer.writerow(row)
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
