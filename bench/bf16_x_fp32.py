#!/usr/bin/env python3
"""Speed and errors of bf16_x_fp32 beside cuBLAS SGEMM, which needs A in fp32.

`speed` writes m,n,k,layout,mmtune_us,cublas_us,ratio,cublas_cast_us,mmtune_error,cublas_error,family,config as CSV:
medians of calls in CUDA graphs, timed in turn; cublas_us has A in fp32 already, cublas_cast_us converts it in each
call. Errors are Frobenius norms of the difference from FP64 over that of the product. `accuracy` writes
data,m,n,k,frobenius,componentwise,cublas_frobenius,cublas_componentwise, as emulation_accuracy.py does. Needs PyTorch
with CUDA, and a database with kernels for the precision.
"""

import argparse
import csv
import statistics
import sys

import torch
from emulation_accuracy import cancelling, errors, half_zero, normal, opposed, positive, rank_one, uniform, wide_by_row

import mmtune

SPEED = [(m, n, k) for n, k in ((128, 4096), (128, 7168), (160, 5120), (256, 4096), (256, 7168))
         for m in (1024, 2048, 4096, 8192)]  # fmt: skip
ACCURACY = [(1024, 256, k) for k in (16, 32, 64, 256, 1024, 4096, 7168, 16384, 65536)]
CALLS, ROUNDS = 10, 15


def wide_b(m, n, k):
    a, b = normal(m, n, k)
    return a, (b * torch.pow(10.0, torch.empty(k, n, device="cuda").uniform_(-8.0, 8.0))).float()


KINDS = [uniform, normal, positive, wide_b, wide_by_row, opposed, cancelling, rank_one, half_zero]


def operands(kind, m, n, k):
    a, b = kind(m, n, k)
    return a.bfloat16(), b


def exact_of(a, b):
    a, b = a.double(), b.double()
    return a @ b, a.abs() @ b.abs()


def graph_of(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(CALLS):
            call()
    return graph


def medians(calls):
    """Microseconds of a call of each, timed in turn."""
    graphs = [graph_of(call) for call in calls]
    times = [[] for _ in calls]
    for _ in range(ROUNDS):
        for graph, of_graph in zip(graphs, times):
            graph.replay()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            of_graph.append(start.elapsed_time(end) * 1000 / CALLS)
    return [statistics.median(of_graph) for of_graph in times]


def speed(library, writer):
    heading = "m,n,k,layout,mmtune_us,cublas_us,ratio,cublas_cast_us,mmtune_error,cublas_error,family,config"
    writer.writerow(heading.split(","))
    for layout, sizes in (("nt", SPEED), ("nn", SPEED[-4:])):
        for m, n, k in sizes:
            a, b = operands(normal, m, n, k)
            b = b.T.contiguous().T if layout == "nt" else b
            single, out, other = a.float(), torch.empty(m, n, device="cuda"), torch.empty(m, n, device="cuda")
            ours, cublas, cast = medians([
                lambda: library.gemm(a, b, out, stream=torch.cuda.current_stream()),
                lambda: torch.mm(single, b, out=other),
                lambda: torch.mm(a.float(), b, out=other)])  # fmt: skip
            exact, magnitude = exact_of(a, b)
            found = library.explain(a, b, out)
            writer.writerow([m, n, k, layout, f"{ours:.3f}", f"{cublas:.3f}", f"{cublas / ours:.4f}", f"{cast:.3f}",
                             f"{errors(out, exact, magnitude)[0]:.3g}", f"{errors(other, exact, magnitude)[0]:.3g}",
                             found.family, found.config])  # fmt: skip
            sys.stdout.flush()


def accuracy(library, writer):
    writer.writerow("data,m,n,k,frobenius,componentwise,cublas_frobenius,cublas_componentwise".split(","))
    for kind in KINDS:
        for m, n, k in ACCURACY:
            a, b = operands(kind, m, n, k)
            exact, magnitude = exact_of(a, b)
            out = torch.full((m, n), float("nan"), device="cuda")
            library.gemm(a, b, out, stream=torch.cuda.current_stream())
            found = (*errors(out, exact, magnitude), *errors(a.float() @ b, exact, magnitude))
            writer.writerow([kind.__name__, m, n, k, *(f"{value:.3g}" for value in found)])
            sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "accuracy"))
    parser.add_argument("--db", required=True)
    parser.add_argument("--library", help="libmmtune.so; by default the one beside the package")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    writer = csv.writer(sys.stdout, lineterminator="\n")
    with mmtune.Library(arguments.db, path=arguments.library) as library:
        (speed if arguments.what == "speed" else accuracy)(library, writer)


if __name__ == "__main__":
    main()
