"""Products of PyTorch or CuPy, whose results are written to a file: products.py torch|cupy FILE.npz [compile]

Run plainly and under `mmtune run` it must write the same, within the bounds of the arithmetic: check.py compares.
"""

import sys
import threading

import numpy


def torch_products(with_compile):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    generator = torch.Generator("cuda").manual_seed(7)
    results = {}

    def random(*shape, dtype=torch.float32):
        return (torch.rand(*shape, device="cuda", generator=generator) - 0.5).to(dtype)

    def keep(name, tensor):
        results[f"{name}:{str(tensor.dtype).split('.')[-1]}"] = tensor.detach().double().cpu().numpy()

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        a, b = random(192, 320, dtype=dtype), random(320, 256, dtype=dtype)
        keep("mm", torch.mm(a, b))
        keep("mm again", torch.mm(a, b))
        keep("addmm", torch.addmm(random(192, 256, dtype=dtype), a, b, beta=0.5, alpha=2))
        keep("transposed", torch.mm(a.t().contiguous().t(), b))
        weight, bias = random(256, 320, dtype=dtype), random(256, dtype=dtype)
        keep("linear", torch.nn.functional.linear(a, weight))
        keep("linear with bias", torch.nn.functional.linear(a, weight, bias))
        keep("bmm", torch.bmm(random(6, 64, 96, dtype=dtype), random(6, 96, 80, dtype=dtype)))
        keep("odd", torch.mm(random(63, 77, dtype=dtype), random(77, 51, dtype=dtype)))
        keep("empty", torch.mm(a[:, :0], b[:0]))
    keep("float64", torch.mm(random(64, 64, dtype=torch.float64), random(64, 64, dtype=torch.float64)))

    model = torch.nn.Sequential(torch.nn.Linear(320, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128)).cuda()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(random(*parameter.shape) * 0.1)
    data = random(192, 320)
    for _ in range(2):
        model.zero_grad()
        model(data).square().sum().backward()
    for name, parameter in model.named_parameters():
        keep(f"gradient {name}", parameter.grad)

    a, b = random(192, 320), random(320, 256)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.mm(a, b)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.mm(a, b)
        unseen = torch.mm(a[:100], b)  # It never ran before and is left to cuBLAS.
    graph.replay()
    keep("graph", captured)
    keep("graph, unseen", unseen)

    def work(number):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(50):
                product = torch.mm(a, b)
        stream.synchronize()
        keep(f"thread {number}", product)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if with_compile:
        compiled = torch.compile(lambda x, w: torch.nn.functional.relu(x @ w))
        keep("compiled", compiled(a, b))
    torch.cuda.synchronize()
    return results


def cupy_products():
    import cupy
    import cupy.cublas

    cupy.random.seed(7)
    results = {}
    for dtype in (cupy.float32, cupy.float16, cupy.float64):
        a = (cupy.random.rand(192, 320) - 0.5).astype(dtype)
        b = (cupy.random.rand(320, 256) - 0.5).astype(dtype)
        name = a.dtype.name
        results[f"matmul:{name}"] = a @ b
        results[f"einsum:{name}"] = cupy.einsum("ij,jk->ik", a, b)
        results[f"transposed:{name}"] = a @ cupy.ascontiguousarray(b.T).T
        batch = (cupy.random.rand(4, 64, 96) - 0.5).astype(dtype)
        results[f"batch:{name}"] = cupy.matmul(batch, batch.transpose(0, 2, 1))
        if dtype != cupy.float16:
            results[f"gemm:{name}"] = cupy.cublas.gemm("N", "N", a, b)  # alpha and beta on the device
    return {name: cupy.asnumpy(result).astype(numpy.float64) for name, result in results.items()}


if __name__ == "__main__":
    made = torch_products("compile" in sys.argv[3:]) if sys.argv[1] == "torch" else cupy_products()
    numpy.savez(sys.argv[2], **made)
