"""Products of PyTorch programs without and with mmtune.torch, on a GPU: rows of pick_up.csv.

    PYTHONPATH=build/python MMTUNE_DB=pick_up.db python3 bench/pick_up_torch.py --budget 60s pick_up.csv

tunes the sizes of all programs together for the budget, then measures. Rows of the file by other programs are kept. Times are
medians of alternating rounds: of a kernel in CUDA graphs whose weights do not fit the second-level cache, of a training step
by events around whole steps, of the host by its clock around calls that the GPU does not hold up.
"""

import argparse
import csv
import itertools
import os
import statistics
import time
from pathlib import Path

import torch

import mmtune.torch

F = torch.nn.functional
HEADING = ["program", "what", "plain_us", "mmtune_us", "ratio", "served", "passed"]
NAME = "mmtune.torch"  # that the programs of this file begin with
CACHE_BYTES = 160 << 20  # more than twice the second-level cache of an H200
ROUNDS = 15

# (outputs, inputs) of the attention's output and of the widened layer, from the published configurations.
MODELS = {
    "Llama-3.1-8B": ((4096, 4096), (14336, 4096)),
    "Qwen2.5-7B": ((3584, 3584), (18944, 3584)),
    "Mistral-Nemo-12B": ((5120, 4096), (14336, 5120)),
}
ROWS = (1, 16, 64)
ODD = ((64, 50257, 2048), (64, 2047, 2047), (512, 50257, 2047))  # m, n, k


def counts():
    report = mmtune.torch.report()
    return sum(each.served for each in report), sum(each.passed for each in report)


def in_turn(plain, served):
    """Medians of what two functions return, called in turn."""
    times = [(plain(), served()) for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*times)]


def row(program, what, plain_us, served_us, before):
    served, passed = (now - then for now, then in zip(counts(), before))
    ratio = plain_us / served_us
    print(f"{program}, {what}: {plain_us:.2f} µs, {served_us:.2f} with mmtune: {ratio:.3f}", flush=True)
    return [program, what, f"{plain_us:.3f}", f"{served_us:.3f}", f"{ratio:.4f}", served, passed]


class Linear:
    """Several layers of one shape, one after the other."""

    def __init__(self, m, n, k, dtype=torch.bfloat16):
        self.x = torch.randn(m, k, device="cuda", dtype=dtype)
        copies = max(2, min(16, CACHE_BYTES // (n * k * self.x.element_size()) + 1))
        self.weights = [torch.randn(n, k, device="cuda", dtype=dtype) / k**0.5 for _ in range(copies)]

    def step(self):
        for weight in self.weights:
            F.linear(self.x, weight)

    def graph(self):
        self.step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph

    def time_us(self, graph):
        """Of one layer in the graph."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / len(self.weights)

    def measured(self, program, what):
        before = counts()
        plain = self.graph()
        with mmtune.torch.enabled():
            served = self.graph()
        for graph in (plain, served) * 2:
            self.time_us(graph)
        times = in_turn(lambda: self.time_us(plain), lambda: self.time_us(served))
        return row(program, what, *times, before)


class Training:
    """A step of a perceptron in strict fp32."""

    def __init__(self, batch=1024, width=2048, layers=3):
        sizes = [width] * layers
        parts = [[torch.nn.Linear(a, b), torch.nn.GELU()] for a, b in zip(sizes, sizes[1:])]
        self.model = torch.nn.Sequential(*itertools.chain(*parts), torch.nn.Linear(width, 256)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.x, self.y = torch.randn(batch, width, device="cuda"), torch.randn(batch, 256, device="cuda")

    def step(self):
        self.optimizer.zero_grad()
        F.mse_loss(self.model(self.x), self.y).backward()
        self.optimizer.step()

    def time_us(self, steps=10):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(steps):
            self.step()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / steps

    def served_us(self):
        with mmtune.torch.enabled():
            return self.time_us()

    def measured(self, program, what):
        self.time_us(), self.served_us()
        before = counts()
        return row(program, what, *in_turn(self.time_us, self.served_us), before)


def host_us(function, calls=500):
    """Time of the host for a call. The queue of launches is far from full, and empty at the start."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    spent = time.perf_counter() - start
    torch.cuda.synchronize()
    return spent / calls * 1e6


def host_rows():
    a, b = (torch.randn(64, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    bias, out = torch.randn(64, device="cuda", dtype=torch.bfloat16), torch.empty_like(a)
    library, stream = mmtune.Library(), torch.cuda.current_stream().cuda_stream
    pairs = {
        "linear": (lambda: F.linear(a, b), lambda: mmtune.torch.linear(a, b)),
        "linear with bias": (lambda: F.linear(a, b, bias), lambda: mmtune.torch.linear(a, b, bias)),
        "linear with bias and gelu": (
            lambda: F.gelu(F.linear(a, b, bias)), lambda: mmtune.torch.linear(a, b, bias, "gelu")
        ),
        "matmul": (lambda: torch.matmul(a, b), lambda: mmtune.torch.matmul(a, b)),
        "mm(out=) beside Library.gemm(out=)": (
            lambda: torch.mm(a, b, out=out), lambda: library.gemm(a, b, out=out, stream=stream)
        ),
    }  # fmt: skip
    with torch.no_grad():
        for name, pair in pairs.items():
            before = counts()
            for function in pair:
                host_us(function, 100)
            yield row(f"{NAME} host", f"{name} 64x64x64 bf16", *in_turn(*(lambda f=f: host_us(f) for f in pair)), before)

        def enabled():
            with mmtune.torch.enabled():
                return host_us(lambda: torch.mm(a, out))

        before = counts()
        enabled()
        outcome = "served" if counts()[0] > before[0] else "passed on"
        times = in_turn(lambda: host_us(lambda: torch.mm(a, out)), enabled)
        yield row(f"{NAME} host", f"mm 64x64x64 bf16 under enable(): {outcome}", *times, before)


def programs():
    for name, shapes in MODELS.items():
        for (n, k), m in itertools.product(shapes, ROWS):
            yield f"{NAME} enable", f"{name} linear bf16 {m}x{n}x{k}", Linear(m, n, k)
    for m, n, k in ODD:
        yield f"{NAME} enable", f"odd linear bf16 {m}x{n}x{k}", Linear(m, n, k)
    yield f"{NAME} enable", "training step fp32, 3 layers of 2048, batch 1024", Training()


def write(path, rows):
    """Beside the rows of others, whole or not at all."""
    others = []
    if path.exists():
        with open(path, newline="") as file:
            others = [each for each in csv.reader(file) if each and each != HEADING and not each[0].startswith(NAME)]
    with open(f"{path}.new", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADING, *others, *rows])
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="60s", help="of tuning, for all sizes together")
    parser.add_argument("--host", action="store_true", help="measure the host's times alone")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()

    all_programs = [] if options.host else list(programs())
    small = [torch.randn(64, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2)]

    def every_step():
        F.linear(*small), torch.mm(*small)
        for _, _, program in all_programs:
            program.step()

    sizes = mmtune.torch.tune(budget=options.budget, step=every_step)
    print(f"{sizes} sizes tuned", flush=True)
    rows = list(host_rows())
    write(options.output, rows)
    for program, what, measured in all_programs:
        rows.append(measured.measured(program, what))
        write(options.output, rows)


if __name__ == "__main__":
    main()
