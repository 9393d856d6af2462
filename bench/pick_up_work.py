"""The programs that bench/pick_up.py times: mmtune run -- python3 pick_up_work.py torch|cupy run | measure [FIRST]

`run` calls each once, so that its products can be recorded. `measure` times those from number FIRST on in every mode that they
are for, in turns: plain (PyTorch and cuBLAS as they are), preload (the stand-in for cuBLAS), enable and name (mmtune.torch).
It writes a line of JSON for each program when it begins and for each of its results. All modes share one process and so its
memory, whose place alone may change times by some percent; where they are not asked for, the stand-in is paused and
mmtune.torch is disabled.
"""

import contextlib
import ctypes
import itertools
import json
import os
import statistics
import sys
import time

CACHE_BYTES = 160 << 20  # more than twice the second-level cache of an H200
HOST_CALLS = 200
SAMPLE_US = 6000  # a sample of the GPU's time repeats its work for about so long
ROUNDS = 11

# (outputs, inputs) of the attention's output and of the widened layer, from the published configurations.
MODELS = {
    "Llama-3.1-8B": ((4096, 4096), (14336, 4096)),
    "Qwen2.5-7B": ((3584, 3584), (18944, 3584)),
    "Mistral-Nemo-12B": ((5120, 4096), (14336, 5120)),
}
ROWS = (1, 16, 64)
DECODED = (1, 16)  # sequences at once
ODD = ((64, 50257, 2047), (512, 50257, 2047), (64, 2047, 2047))  # m, n, k
CUPY_SIZES = (
    (256, 256, 256), (384, 384, 384), (512, 512, 512), (768, 768, 768), (1000, 1000, 1000), (1024, 1024, 1024),
    (1536, 1536, 1536), (2048, 2048, 2048), (64, 4096, 4096), (1023, 1025, 1027),
)  # fmt: skip


def stand_in(function, *arguments):
    """Calls a function of the stand-in, where that is loaded."""
    with contextlib.suppress(AttributeError):
        getattr(ctypes.CDLL(None), function)(*arguments)


@contextlib.contextmanager
def using(mode):
    """For a block, mmtune takes part in that mode alone."""
    stand_in("mmtune_cublas_pause", mode != "preload")
    if mode == "enable":
        import mmtune.torch

        with mmtune.torch.enabled():
            yield
    else:
        yield


def counts(mode):
    """Calls that mmtune served and passed on."""
    if mode == "preload":
        numbers = (ctypes.c_longlong * 2)()
        stand_in("mmtune_cublas_counts", ctypes.byref(numbers), ctypes.byref(numbers, 8))
        return list(numbers)
    if mode == "plain":
        return [0, 0]
    import mmtune.torch

    report = mmtune.torch.report()
    return [sum(each.served for each in report), sum(each.passed for each in report)]


def repeated(sample):
    """A function that repeats `sample`, of a number of rounds that gives their microseconds, often enough for SAMPLE_US."""
    sample(1)
    rounds = max(2, min(500, round(SAMPLE_US / sample(2) * 2)))

    def work():
        sample(1)  # fills caches, and wakes the GPU up
        return sample(rounds) / rounds

    return work


def torch_programs():
    """(group, what, modes, function that makes it). What is made is a function of a mode, called in that mode, which returns
    a function for a sample of the time in microseconds."""
    import torch

    F = torch.nn.functional
    torch.manual_seed(1)
    modes = ("preload", "enable")

    def new(*shape, dtype=torch.bfloat16):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    def gpu_us(work, products=1):
        """A sample of one of the products that `work` has."""

        def rounds_us(rounds):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(rounds):
                work()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e3

        sample = repeated(rounds_us)
        return lambda: sample() / products

    def graph_of(step):
        for _ in range(2):
            step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph

    def linear(m, n, k):
        """Layers of one shape, one after the other, whose weights do not fit the cache."""
        x = new(m, k)
        copies = max(2, min(16, CACHE_BYTES // (2 * n * k) + 1))
        weights = [new(n, k) / k**0.5 for _ in range(copies)]

        def step():
            for weight in weights:
                F.linear(x, weight)

        return lambda mode: gpu_us(graph_of(step).replay, copies)

    def decode(m, with_graph, layers=4, context=512):
        """A step of m sequences through layers of Llama-3.1-8B's shape and its head."""
        width, heads, shared, size, wide, words = 4096, 32, 8, 128, 14336, 128256
        shapes = {"q": (width, width), "k": (shared * size, width), "v": (shared * size, width), "o": (width, width),
                  "gate": (wide, width), "up": (wide, width), "down": (width, wide)}  # fmt: skip
        stack = [{name: new(n, k) / k**0.5 for name, (n, k) in shapes.items()} for _ in range(layers)]
        caches = [[new(m, shared, context, size) for _ in range(2)] for _ in range(layers)]
        head, scale, tokens = new(words, width) / 64, torch.ones(width, device="cuda", dtype=torch.bfloat16), new(m, width)

        def step():
            x = tokens
            for w, (keys, values) in zip(stack, caches):
                y = F.rms_norm(x, (width,), scale)
                q = F.linear(y, w["q"]).view(m, heads, 1, size)
                keys[:, :, -1] = F.linear(y, w["k"]).view(m, shared, size)
                values[:, :, -1] = F.linear(y, w["v"]).view(m, shared, size)
                y = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
                x = x + F.linear(y.reshape(m, width), w["o"])
                y = F.rms_norm(x, (width,), scale)
                x = x + F.linear(F.silu(F.linear(y, w["gate"])) * F.linear(y, w["up"]), w["down"])
            return F.linear(F.rms_norm(x, (width,), scale), head).argmax(-1)

        return lambda mode: gpu_us(graph_of(step).replay if with_graph else step)

    def training(model, data, loss):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

        def step():
            optimizer.zero_grad()
            loss(model(data)).backward()
            optimizer.step()

        return lambda mode: gpu_us(step)

    def perceptron(rows, *widths):
        layers = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        return training(torch.nn.Sequential(*layers[:-1]).cuda(), new(rows, widths[0], dtype=torch.float32),
                        lambda y: y.square().mean())  # fmt: skip

    def transformer(batch, context, width=384, heads=6, layers=6, words=65):
        """The smallest GPT of nanoGPT's configurations, without dropout."""
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
        model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False),
                                    torch.nn.Linear(width, words)).cuda()  # fmt: skip
        targets = torch.randint(words, (batch * context,), device="cuda")
        return training(model, new(batch, context, width, dtype=torch.float32),
                        lambda y: F.cross_entropy(y.view(-1, words), targets))  # fmt: skip

    def host(name, rows=64):
        """Of a call that the GPU does not hold up: the queue of launches is far from full, and empty at the start."""
        x, w, bias = new(rows, 64), new(64, 64), new(64)
        plain = {
            "linear": lambda: F.linear(x, w), "linear with bias": lambda: F.linear(x, w, bias),
            "linear with bias and gelu": lambda: F.gelu(F.linear(x, w, bias)), "matmul": lambda: torch.matmul(x, w),
        }  # fmt: skip

        def sampler(mode):
            call = named()[name] if mode == "name" else plain[name]

            def sample():
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(HOST_CALLS):
                    call()
                spent = time.perf_counter() - start
                torch.cuda.synchronize()
                return spent * 1e6 / HOST_CALLS

            sample()
            return sample

        def named():
            import mmtune.torch as mine

            return {
                "linear": lambda: mine.linear(x, w), "linear with bias": lambda: mine.linear(x, w, bias),
                "linear with bias and gelu": lambda: mine.linear(x, w, bias, "gelu"), "matmul": lambda: mine.matmul(x, w),
            }  # fmt: skip

        return sampler

    for name, shapes in MODELS.items():
        for (n, k), m in itertools.product(shapes, ROWS):
            yield "linears of models", f"{name} linear bf16 {m}x{n}x{k}", modes, lambda m=m, n=n, k=k: linear(m, n, k)
    for name in ("linear", "linear with bias", "linear with bias and gelu", "matmul"):
        yield "host", f"host: {name} bf16 64x64x64", (*modes, "name"), lambda name=name: host(name)
    yield "host", "host: linear bf16 65x64x64, not tuned", (*modes, "name"), lambda: host("linear", 65)
    for m, with_graph in itertools.product(DECODED, (True, False)):
        kind = "CUDA graph" if with_graph else "eager"
        what = f"decode step bf16 of {m}, 4 layers of Llama-3.1-8B, {kind}"
        yield f"decode step, {kind}", what, modes, lambda m=m, g=with_graph: decode(m, g)
    group = "training step fp32"
    yield group, f"{group}, perceptron 1024x2048x4096", modes, lambda: perceptron(1024, 2048, 4096, 2048)
    # The classic for handwritten digits, as Keras's examples have it.
    yield group, f"{group}, perceptron 128x784x512x512x10", modes, lambda: perceptron(128, 784, 512, 512, 10)
    yield group, f"{group}, GPT of 6 layers of 384, 16x256 tokens", modes, lambda: transformer(16, 256)
    for m, n, k in ODD:
        yield "odd linears", f"odd linear bf16 {m}x{n}x{k}", modes, lambda m=m, n=n, k=k: linear(m, n, k)


def cupy_programs():
    import cupy

    def product(dtype, m, n, k):
        cupy.random.seed(1)
        a, b = (cupy.random.uniform(-1, 1, shape, dtype="f4").astype(dtype) for shape in ((m, k), (k, n)))
        out = cupy.empty((m, n), dtype)

        def step():
            cupy.matmul(a, b, out=out)

        def rounds_us(rounds):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(rounds):
                step()
            end.record()
            end.synchronize()
            return cupy.cuda.get_elapsed_time(start, end) * 1e3

        return lambda mode: repeated(rounds_us)

    for dtype, (m, n, k) in itertools.product(("f4", "f2"), CUPY_SIZES):
        name = {"f4": "fp32", "f2": "fp16"}[dtype]
        make = lambda d=dtype, m=m, n=n, k=k: product(d, m, n, k)  # noqa: E731
        yield f"CuPy {name}", f"matmul {name} {m}x{n}x{k}", ("preload",), make


PROGRAMS = {"torch": torch_programs, "cupy": cupy_programs}


def run(programs):
    for _, what, _, make in programs:
        if "not tuned" not in what:
            make()("preload")


def times_of(make, modes):
    """Samples in microseconds, and calls served and passed on, by mode."""
    sampler = make()
    samples, times, calls = {}, {mode: [] for mode in modes}, {mode: [0, 0] for mode in modes}

    def do(mode, action):
        before = counts(mode)
        with using(mode):
            result = action()
        calls[mode] = [sum(each) - then for *each, then in zip(calls[mode], counts(mode), before)]
        return result

    for mode in modes:
        samples[mode] = do(mode, lambda: sampler(mode))
    for turn in range(ROUNDS):
        for mode in modes if turn % 2 == 0 else reversed(modes):
            times[mode].append(do(mode, samples[mode]))
    return times, calls


def measure(programs, first=0):
    for number, (group, what, modes, make) in list(enumerate(programs))[int(first) :]:
        print(json.dumps({"number": number, "what": what}), file=ANSWERS, flush=True)
        try:
            times, calls = times_of(make, ("plain", *modes))
        except Exception as error:
            print(f"failed: {what}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        for mode in modes:
            low, middle, high = statistics.quantiles([x / y for x, y in zip(times["plain"], times[mode])])
            row = {"group": group, "what": what, "mode": mode, "plain_us": statistics.median(times["plain"]),
                   "us": statistics.median(times[mode]), "calls": calls[mode],
                   "ratios": f"{low:.3f} {middle:.3f} {high:.3f}"}  # fmt: skip
            print(json.dumps(row), file=ANSWERS, flush=True)


if __name__ == "__main__":
    ANSWERS = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    package, command, *rest = sys.argv[1:]
    {"run": run, "measure": measure}[command](list(PROGRAMS[package]()), *rest)
