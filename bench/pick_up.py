"""Programs that call cuBLAS, plain and under `mmtune run`: pick_up.py MMTUNE > pick_up.csv

Records what the programs multiply, tunes it (MMTUNE_PICKUP_BUDGET, 60s), compares with cuBLAS (`mmtune bench`), and times
each product plainly and under `mmtune run`, in processes that take turns. Products of PyTorch and CuPy are timed on the
GPU, as calls of a graph or between events, those of the C program on the host.
Columns: program,what,plain_us,mmtune_us,ratio,served,passed; the last two are calls with the product's extents, in any
order.
"""

import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# m, n, k of y[m,n] = x[m,k] w[n,k]': Llama 3 8B and Qwen2.5 7B at the batches of a decode step, and odd ones.
LINEARS = [
    *[(m, n, k) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (3584, 18944)) for m in (1, 16, 64)],
    (64, 50257, 2047),
]
SQUARES = [(384, 384, 384), (1000, 1000, 1000), (2048, 2048, 2048)]
MLP = (1024, 2048, 4096)  # rows, inputs, hidden units
CALLS, TIMES = 30, 5


def median_us(start, stop, synchronize, work):
    """The median of several runs of CALLS products."""
    times = []
    for _ in range(TIMES):
        start.record()
        work()
        stop.record()
        synchronize()
        times.append(start.elapsed_time(stop) * 1000 / CALLS)
    return statistics.median(times)


def torch_rows():
    import torch

    def timed(call):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(CALLS):
                call()
        graph.replay()
        return median_us(start, stop, torch.cuda.synchronize, graph.replay)

    for m, n, k in LINEARS:
        x = torch.rand(m, k, device="cuda", dtype=torch.bfloat16) - 0.5
        w = torch.rand(n, k, device="cuda", dtype=torch.bfloat16) - 0.5
        yield f"linear bf16 {m}x{n}x{k}", timed(lambda: torch.nn.functional.linear(x, w))
    rows, inputs, hidden = MLP
    model = torch.nn.Sequential(
        torch.nn.Linear(inputs, hidden, bias=False), torch.nn.ReLU(), torch.nn.Linear(hidden, inputs, bias=False)
    ).cuda()
    data = torch.rand(rows, inputs, device="cuda") - 0.5

    def step():
        for parameter in model.parameters():
            parameter.grad = None
        model(data).square().mean().backward()

    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    yield (
        f"training step fp32 {rows}x{inputs}x{hidden}",
        CALLS * median_us(start, stop, torch.cuda.synchronize, step),
    )


def cupy_rows():
    import cupy

    for name, dtype in (("fp32", cupy.float32), ("fp16", cupy.float16)):
        for m, n, k in SQUARES:
            a, b = cupy.ones((m, k), dtype), cupy.ones((k, n), dtype)
            out = cupy.empty((m, n), dtype)
            for _ in range(3):
                cupy.matmul(a, b, out=out)
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()

            class Timer:
                def __init__(self, event):
                    self.event = event

                def record(self):
                    self.event.record()

                def elapsed_time(self, other):
                    return cupy.cuda.get_elapsed_time(self.event, other.event)

            def work():
                for _ in range(CALLS):
                    cupy.matmul(a, b, out=out)

            yield (
                f"matmul {name} {m}x{n}x{k}",
                median_us(Timer(start), Timer(stop), cupy.cuda.Device().synchronize, work),
            )


def program_of(name):
    if name == "c":
        return [str(pathlib.Path(os.environ["MMTUNE_PICKUP_SAMPLE"]))]
    return [sys.executable, __file__, "--measure", name]


def output_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit code {done.returncode}")
    return {what: float(us) for what, us in csv.reader(done.stdout.splitlines())}


def counts(report):
    """Calls by their precision and extents in any order, served and passed on."""
    found = {}
    for row in csv.DictReader(report.open()) if report.exists() else []:
        key = (row["precision"], *sorted((row["m"], row["n"], row["k"])))
        served, passed = found.get(key, (0, 0))
        more = int(row["calls"])
        found[key] = (served, passed + more) if row["reason"] else (served + more, passed)
    return found


def counts_of(what, found):
    _, precision, size = what.rsplit(" ", 2)
    if what.startswith("training"):
        rows, inputs, hidden = size.split("x")
        size = f"{rows}x{inputs}x{hidden}"
    return found.get((precision, *sorted(size.split("x"))), (0, 0))


def main(mmtune):
    names = [name for name in ("c", "torch", "cupy") if name != "c" or "MMTUNE_PICKUP_SAMPLE" in os.environ]
    names = os.environ.get("MMTUNE_PICKUP_PROGRAMS", " ".join(names)).split()
    with tempfile.TemporaryDirectory() as folder:
        calls = str(pathlib.Path(folder) / "calls.csv")
        for name in names:
            output_of([mmtune, "run", "--record", calls, "--", *program_of(name)])
        budget = os.environ.get("MMTUNE_PICKUP_BUDGET", "60s")
        for command in (["tune", "--effort", "quick", "--budget", budget], ["bench", "--format", "csv"]):
            subprocess.run(
                [mmtune, command[0], "--device", "0", "--sizes", f"@{calls}", *command[1:]],
                stdout=subprocess.DEVNULL,
                check=False,
            )
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow("program,what,plain_us,mmtune_us,ratio,served,passed".split(","))
        for name in names:
            report = pathlib.Path(folder) / f"{name}.csv"
            plain = [output_of(program_of(name))]
            os.environ["MMTUNE_CUBLAS_REPORT"] = str(report)
            library = str(pathlib.Path(mmtune).parent / "libmmtune_cublas.so")
            ours = [output_of(["env", f"LD_PRELOAD={library}", *program_of(name)])]
            del os.environ["MMTUNE_CUBLAS_REPORT"]
            plain.append(output_of(program_of(name)))
            found = counts(report)
            for what, us in ours[0].items():
                before = min(each[what] for each in plain)
                out.writerow([f"mmtune run: {name}", what, f"{before:.3f}", f"{us:.3f}", f"{before / us:.3f}", *counts_of(what, found)])
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        for row in {"torch": torch_rows, "cupy": cupy_rows}[sys.argv[2]]():
            print(f"{row[0]},{row[1]:.3f}", flush=True)
    else:
        main(sys.argv[1])
