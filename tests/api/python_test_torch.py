"""mmtune.torch beside PyTorch, and mmtune.cupy beside CuPy, on a GPU. Skips with exit code 77 where one is missing.

    PYTHONPATH=build/python python3 tests/api/python_test_torch.py
"""

import concurrent.futures
import functools
import itertools
import random
import sys
import unittest

try:
    import torch
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("SKIPPED: PyTorch sees no GPU")
    sys.exit(77)

import mmtune
import mmtune._serving
import mmtune.torch

TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
F = torch.nn.functional


def bound(a, b, dtype):
    """Of the error of a product: that of k additions in the format of the sums, and of one rounding of the result."""
    sums = torch.finfo(torch.float64 if dtype is torch.float64 else torch.float32).eps
    type = torch.finfo(dtype)
    magnitude = a.double().abs() @ b.double().abs()
    return magnitude * (2 * a.size(-1) * sums + 2 * type.eps) + type.smallest_normal * type.eps


def new(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, device="cuda", dtype=torch.float64).to(dtype).requires_grad_(grad)


def calls():
    """That were served, and that came at all."""
    report = mmtune.torch.report()
    served = sum(each.served for each in report)
    return served, served + sum(each.passed for each in report)


def in_threads(function, count=4):
    """What the function returns in threads with streams of their own, or raises."""

    def work(_):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            result = function()
        stream.synchronize()
        return result

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def check(self, got, a, b, extra=0):
        wanted = a.double() @ b.double() + extra
        error = (got.double() - wanted).abs()
        self.assertTrue((error <= bound(a, b, got.dtype) + 4 * torch.finfo(got.dtype).eps * wanted.abs()).all(), error.max())

    def close(self, got, wanted, factor=8):
        self.assertEqual((got.shape, got.dtype, got.stride()), (wanted.shape, wanted.dtype, wanted.stride()))
        error = (got.double() - wanted.double()).abs().max().item() if got.numel() else 0.0
        scale = wanted.double().abs().max().item() if got.numel() else 1.0
        self.assertLessEqual(error, factor * torch.finfo(got.dtype).eps * max(scale, 1e-6))


class Views(Case):
    def strided(self, memory, shape, rng):
        """A view into `memory`, often of plain lines; not with negative strides, which PyTorch lacks."""
        rows, columns = shape[-2:]
        strides = rng.choice([(columns + rng.randrange(3), 1), (1, rows + rng.randrange(3))])
        if rng.random() < 0.4:
            strides = tuple(rng.choice([stride, 0, 1, 2, columns]) for stride in strides)
        batch = [rng.choice([rows * columns + 20, 0, 1])] if len(shape) == 3 else []
        return memory.as_strided(shape, (*batch, *strides), rng.randrange(3))

    def test_of_pytorch_and_cupy(self):
        packages = [lambda tensor: tensor]
        try:
            import cupy

            packages.append(cupy.asarray)
        except ImportError as error:
            print(f"without CuPy: {error}")
        outcomes = {True: 0, False: 0}
        with mmtune.Library() as library:
            for seed in range(500):
                rng = random.Random(seed)
                m, n, k = (rng.choice([1, 2, 3, 4, 8]) for _ in range(3))
                batch = rng.choice([(), (), (3,)])
                memories = [torch.randint(-3, 4, (4096,), device="cuda").float() for _ in range(3)]
                shapes = ((*batch, m, k), (*batch, k, n), (*batch, m, n))
                a, b, out = (self.strided(*pair, rng) for pair in zip(memories, shapes))
                before = memories[2].clone()
                package = packages[seed % len(packages)]
                try:
                    library.gemm(*map(package, (a, b)), out=package(out))
                    served = True
                except ValueError as error:
                    served = False
                    self.assertRegex(str(error), "strides")
                torch.cuda.synchronize()
                with self.subTest(seed=seed, strides=(a.stride(), b.stride(), out.stride())):
                    if served:
                        before.as_strided(out.shape, out.stride(), out.storage_offset()).copy_(torch.matmul(a, b))
                    self.assertTrue(torch.equal(memories[2], before))
                outcomes[served] += 1
        self.assertGreater(outcomes[True], 100)
        self.assertGreater(outcomes[False], 100)


class Streams(Case):
    def test_calls_of_the_library_run_on_the_current_one(self):
        a, b, out = new(64, 64), new(64, 64), new(64, 64)
        with mmtune.Library() as library:
            library.gemm(a, b, out=out)
            torch.cuda.synchronize()
            for given in ({}, {"stream": None}):
                side = torch.cuda.Stream()
                with torch.cuda.stream(side):
                    a.normal_()
                    torch.cuda._sleep(100_000_000)  # so that another stream finds the old numbers
                    a.copy_(b)
                    library.gemm(a, b, out=out, **given)
                side.synchronize()
                self.check(out, b, b)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                library.gemm(a, b, out=out)
            a.normal_()
            graph.replay()
            self.check(out, a, b)
            torch.cuda.synchronize()

    def test_calls_with_arrays_of_cupy_run_on_its_current_one(self):
        try:
            import cupy
        except ImportError as error:
            self.skipTest(str(error))
        a, b, out = (cupy.ones((64, 64), "f4") for _ in range(3))
        with mmtune.Library() as library:
            library.gemm(a, b, out=out)
            a[:] = 1  # so that it is compiled
            cupy.cuda.Device().synchronize()
            with cupy.cuda.Stream(non_blocking=True) as side:
                with torch.cuda.stream(torch.cuda.ExternalStream(side.ptr)):
                    torch.cuda._sleep(100_000_000)
                a[:] = 2
                library.gemm(a, b, out=out)
            side.synchronize()
            self.assertEqual(float(out.min()), 128)


class Functions(Case):
    def operand(self, rng, *shape, dtype):
        """Packed, transposed, padded, expanded or every second one."""
        kind = rng.randrange(6)
        if kind == 1:
            return new(*shape[:-2], shape[-1], shape[-2], dtype=dtype).mT
        if kind == 2:
            return new(*shape[:-1], shape[-1] + 8, dtype=dtype)[..., : shape[-1]]
        if kind == 3:
            return new(*shape[:-2], 1, shape[-1], dtype=dtype).expand(*shape)
        if kind == 4:
            return new(*shape[:-1], 2 * shape[-1], dtype=dtype)[..., ::2]
        return new(*shape, dtype=dtype)

    def test_random_products(self):
        for seed in range(240):
            rng = random.Random(seed)
            dtype = TYPES[seed % 4]
            m, n, k = (rng.choice([1, 4, 8, 24, 64, 100]) for _ in range(3))
            batch = rng.choice([(), (), (3,), (2, 3)])
            a = self.operand(rng, *batch, m, k, dtype=dtype)
            b = self.operand(rng, *rng.choice([batch, ()]), k, n, dtype=dtype)
            with self.subTest(seed=seed):
                got, wanted = mmtune.torch.matmul(a, b), torch.matmul(a, b)
                self.assertEqual((got.shape, got.stride(), got.dtype), (wanted.shape, wanted.stride(), wanted.dtype))
                self.check(got, a, b)

    def test_random_linears(self):
        for seed, activation in zip(range(120), itertools.cycle((None, "relu", "gelu"))):
            rng = random.Random(seed)
            dtype = rng.choice(TYPES)
            n, k = rng.choice([8, 32, 72]), rng.choice([8, 64, 100])
            lead = rng.choice([(), (1,), (5,), (2, 7), (2, 1, 3)])
            x = self.operand(rng, *lead, k, dtype=dtype) if len(lead) > 1 else new(*lead, k, dtype=dtype)
            w, bias = new(n, k, dtype=dtype), rng.choice([None, new(n, dtype=dtype)])
            got = mmtune.torch.linear(x, w, bias, activation)
            exact = F.linear(x.double(), w.double(), None if bias is None else bias.double())
            limit = bound(x.reshape(-1, k), w.t(), dtype).view(exact.shape) + 4 * torch.finfo(dtype).eps * (1 + exact.abs())
            exact = {None: lambda t: t, "relu": torch.relu, "gelu": F.gelu}[activation](exact)
            with self.subTest(seed=seed, dtype=dtype, activation=activation):
                wanted = F.linear(x, w, bias)
                self.assertEqual((got.shape, got.stride(), got.dtype), (wanted.shape, wanted.stride(), wanted.dtype))
                self.assertTrue(((got.double() - exact).abs() <= 2 * limit).all())

    def test_addmm(self):
        for dtype, shape in itertools.product(TYPES, [(24,), (1, 24), (16, 1), (16, 24), (1,), ()]):
            a, b, c = new(16, 32, dtype=dtype), new(32, 24, dtype=dtype), new(16, 24, dtype=dtype)
            c = c[tuple(slice(0, extent) for extent in (1,) * (2 - len(shape)) + shape)].reshape(shape)
            for beta, alpha in ((1, 1), (0, 2), (-0.5, 1), (1, 3)):
                with self.subTest(dtype=dtype, shape=shape, beta=beta):
                    got = mmtune.torch.addmm(c, a, b, beta=beta, alpha=alpha)
                    self.close(got, torch.addmm(c, a, b, beta=beta, alpha=alpha), 64)

    def test_what_is_empty_or_wrong_is_as_in_pytorch(self):
        pairs = [
            (new(0, 4), new(4, 3)), (new(3, 0), new(0, 4)), (new(3, 4), new(4, 0)), (new(2, 0, 4), new(2, 4, 3)),
            (new(3, 4), new(3, 4)), (new(3, 4), new(4, 3, dtype=torch.float64)), (new(3, 4), new(4, 3).cpu()),
            (new(2, 3, 4), new(3, 4, 5)), (new(4), new(4)), (new(4), new(4, 3)), (new(3, 4), new(4)),
            (torch.ones(3, 4, device="cuda", dtype=torch.int32),) * 2, (new(3, 4).cpu(), new(4, 3).cpu()),
            (new(3, 4).to(torch.complex64), new(4, 3).to(torch.complex64)), (new(1)[0], new(3)), (new(2, 3, 4), new(4)),
        ]  # fmt: skip
        for mine, theirs in ((mmtune.torch.matmul, torch.matmul), (mmtune.torch.bmm, torch.bmm),
                             (mmtune.torch.linear, F.linear)):
            for a, b in pairs:
                with self.subTest(function=theirs.__name__, a=a.shape, b=b.shape):
                    try:
                        wanted = theirs(a, b)
                    except Exception as error:
                        with self.assertRaises(type(error)) as refusal:
                            mine(a, b)
                        self.assertEqual(str(refusal.exception), str(error))
                        continue
                    got = mine(a, b)
                    self.assertEqual((got.shape, got.dtype, got.device), (wanted.shape, wanted.dtype, wanted.device))
                    self.assertTrue(torch.allclose(got, wanted, rtol=1e-4, atol=1e-4))


class Frameworks(Case):
    def test_gradients(self):
        a, b = new(8, 16, dtype=torch.float64, grad=True), new(16, 8, dtype=torch.float64, grad=True)
        w, bias = new(8, 16, dtype=torch.float64, grad=True), new(8, dtype=torch.float64, grad=True)
        x = new(2, 4, 16, dtype=torch.float64, grad=True)
        functions = [
            (mmtune.torch.matmul, (a, b)), (mmtune.torch.linear, (x, w, bias)),
            (lambda x, w, c: mmtune.torch.linear(x, w, c, "gelu"), (x, w, bias)),
            (lambda x, w, c: mmtune.torch.linear(x, w, c, "relu"), (x, w, bias)),
            (lambda c, a, b: mmtune.torch.addmm(c, a, b, beta=2, alpha=-1), (bias, a, b)), (mmtune.torch.matmul, (x, b)),
        ]  # fmt: skip
        for function, inputs in functions:
            self.assertTrue(torch.autograd.gradcheck(function, inputs, fast_mode=True))
        self.assertTrue(torch.autograd.gradgradcheck(mmtune.torch.matmul, (a, b), fast_mode=True))

    def test_gradients_of_complex_numbers(self):
        a, b, w, c = (torch.randn(*shape, device="cuda", dtype=torch.complex128, requires_grad=True)
                      for shape in ((8, 16), (16, 8), (8, 16), (8, 8)))  # fmt: skip
        scaled = lambda c, a, b: mmtune.torch.addmm(c, a, b, beta=2j, alpha=1 - 1j)  # noqa: E731
        for function, inputs in ((mmtune.torch.matmul, (a, b)), (mmtune.torch.linear, (a, w)), (scaled, (c, a, b))):
            self.assertTrue(torch.autograd.gradcheck(function, inputs, fast_mode=True))

    def test_gradients_of_nothing(self):
        for m, n, k in ((4, 0, 16), (4, 8, 0), (0, 8, 16)):
            inputs = new(m, k, grad=True), new(n, k, grad=True)
            for each in torch.autograd.grad(mmtune.torch.linear(*inputs).sum(), inputs):
                self.assertEqual(each.count_nonzero(), 0)

    def test_forward_derivatives(self):
        forward = torch.autograd.forward_ad
        a, b, c, tangent = new(8, 16), new(16, 8), new(8, 8), new(8, 16)
        x, x_tangent = new(2, 8, 16), new(2, 8, 16)
        for function, input, along in (
            (lambda a: mmtune.torch.matmul(a, b), a, tangent), (lambda a: mmtune.torch.linear(a, b.t()), a, tangent),
            (lambda a: mmtune.torch.addmm(c, a, b), a, tangent), (lambda x: mmtune.torch.matmul(x, b), x, x_tangent),
            (lambda a: torch.ops.mmtune.mm(a, b), a, tangent), (lambda x: torch.ops.mmtune.matmul(x, b), x, x_tangent),
            (lambda a: torch.ops.mmtune.linear(a, b.t()), a, tangent),
        ):  # fmt: skip
            self.check(torch.func.jvp(function, (input,), (along,))[1], along, b)
            with forward.dual_level():
                self.check(forward.unpack_dual(function(forward.make_dual(input, along))).tangent, along, b)

    def test_forward_derivatives_of_gradients(self):
        forward = torch.autograd.forward_ad
        a, b, upstream, tangent = new(8, 16, grad=True), new(16, 8), new(8, 8), new(8, 8)
        product = torch.ops.mmtune.mm(a, b)
        with forward.dual_level():
            (gradient,) = torch.autograd.grad(product, a, forward.make_dual(upstream, tangent))
            self.check(forward.unpack_dual(gradient).tangent, tangent, b.t())

    def test_transforms(self):
        a, b = new(8, 16, dtype=torch.float64), new(16, 8, dtype=torch.float64)
        compiled = torch.compile(lambda a: torch.func.jvp(lambda a: mmtune.torch.matmul(a, b), (a,), (a,))[1])
        self.close(compiled(a), a @ b, 64)
        for product in (mmtune.torch.matmul, torch.ops.mmtune.mm):
            mine, theirs = (lambda a, each=each: each(a, b).square().sum() for each in (product, torch.matmul))
            for transform in (torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.hessian):
                self.close(transform(mine)(a).contiguous(), transform(theirs)(a).contiguous(), 256)

    def test_views_that_pytorch_negates_or_conjugates(self):
        a, b = new(8, 16, dtype=torch.complex128), new(16, 8, dtype=torch.complex128)
        negated = a.conj().imag
        self.assertTrue(negated.is_neg())
        self.check(torch.ops.mmtune.mm(negated, b.real), -a.imag, b.real)
        self.close(torch.ops.mmtune.mm(a.conj(), b), torch.mm(a.conj(), b), 64)

    def test_traced(self):
        a, b, other = new(8, 16), new(16, 8), new(8, 16)
        traced = torch.jit.trace(lambda a: mmtune.torch.matmul(a, b), a, check_trace=False)
        self.check(traced(other), other, b)

    def test_operators(self):
        for operator, inputs in ((torch.ops.mmtune.mm, (new(8, 16, grad=True), new(16, 8, grad=True))),
                                 (torch.ops.mmtune.linear, (new(8, 16), new(8, 16, grad=True), new(8, grad=True), "gelu"))):
            torch.library.opcheck(operator, inputs)

    def test_compiled_without_a_break(self):
        def function(x, w, bias, y):
            return mmtune.torch.matmul(mmtune.torch.linear(x, w, bias, "relu") * 2, y).sum(-1)

        inputs = [new(8, 16, grad=True), new(24, 16, grad=True), new(24, grad=True), new(24, 8, grad=True)]
        wanted = function(*inputs)
        gradients = torch.autograd.grad(wanted.sum(), inputs)
        for backend in ("aot_eager", "inductor"):
            got = torch.compile(function, fullgraph=True, backend=backend)(*inputs)
            self.close(got, wanted, 64)
            for mine, theirs in zip(torch.autograd.grad(got.sum(), inputs), gradients):
                self.close(mine, theirs, 256)

    def test_graphs_and_streams(self):
        x, w, bias = new(16, 512, dtype=torch.bfloat16), new(512, 512, dtype=torch.bfloat16), new(512, dtype=torch.bfloat16)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                mmtune.torch.matmul(mmtune.torch.linear(x, w, bias, "gelu"), w)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = mmtune.torch.linear(x, w, bias, "gelu")
            z = mmtune.torch.matmul(y, w)
        for _ in range(3):
            x.copy_(new(16, 512, dtype=torch.bfloat16))
            graph.replay()
            self.check(z, y, w)
            self.close(y, F.gelu(F.linear(x.float(), w.float(), bias.float())).bfloat16(), 4)
        for each in in_threads(lambda: [mmtune.torch.linear(x, w, bias, "gelu") for _ in range(100)][-1]):
            self.assertTrue(torch.equal(each, y))

    def test_autocast(self):
        x, w = new(8, 16, grad=True), new(24, 16, grad=True)
        for dtype in (torch.float16, torch.bfloat16):
            with torch.autocast("cuda", dtype):
                got, wanted = mmtune.torch.linear(x, w), F.linear(x, w)
                both = mmtune.torch.matmul(x, w.t())
                self.assertIs(mmtune.torch.matmul(x.double(), w.t().double()).dtype, torch.float64)
            self.close(got, wanted)
            self.close(both, wanted)
            self.assertIs(torch.autograd.grad(got.float().sum(), x)[0].dtype, torch.float32)

    def test_memory_does_not_grow(self):
        x, w = new(8, 64), new(32, 64)
        sizes = []
        for _ in range(3):
            for _ in range(2000):
                mmtune.torch.linear(x, w, None, "relu")
                mmtune.torch.matmul(x, w.t())
            torch.cuda.synchronize()
            sizes.append((torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]))
        self.assertEqual(sizes[1], sizes[2])

    def test_vmap_and_fake_tensors(self):
        a, b = new(3, 8, 16), new(16, 8)
        self.close(torch.func.vmap(lambda x: mmtune.torch.matmul(x, b))(a).contiguous(), torch.matmul(a, b), 64)
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fake = torch.empty(8, 16, device="cuda")
            self.assertEqual(mmtune.torch.linear(fake, torch.empty(4, 16, device="cuda")).shape, (8, 4))


class Overrides(Case):
    """The model's sizes are tuned for a few seconds, with what `mmtune` is beside the package or on the PATH."""

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
        cls.x, cls.upstream = new(64, 256), new(64, 256)
        cls.wanted = cls.model(cls.x)
        cls.gradients = torch.autograd.grad(cls.wanted, list(cls.model.parameters()), cls.upstream)
        cls.sizes = mmtune.torch.tune(cls.model.train(), cls.x, budget="15s")

    def test_what_reaches_the_overrides(self):
        x, w, bias = new(8, 16, grad=True), new(24, 16, grad=True), new(24, grad=True)
        batch, other = new(2, 3, 8, 16), new(2, 3, 16, 8)

        def inference():
            with torch.inference_mode():
                F.linear(x, w)

        def autocast():
            with torch.autocast("cuda", torch.bfloat16):
                F.linear(x, w, bias)

        compiled = torch.compile(lambda: torch.relu(F.linear(x.detach(), w.detach(), bias.detach())), fullgraph=True)
        functions = {
            "a step of training": (lambda: F.linear(x, w, bias).square().sum().backward(), 3), "inference": (inference, 1),
            "autocast": (autocast, 1), "three extents": (lambda: F.linear(batch[0], w, bias), 1), "compiled": (compiled, 1),
            "four extents": (lambda: F.linear(batch, w), 1), "batch": (lambda: torch.matmul(batch, other), 1),
            "einsum": (lambda: torch.einsum("bij,bkj->bik", batch[0], batch[1]), 1),
            "baddbmm": (lambda: torch.baddbmm(new(8, 8), batch[0], other[0]), 1),
        }  # fmt: skip
        for name, (function, count) in functions.items():
            with self.subTest(name), mmtune.torch.enabled(only_count=True):
                before = calls()
                function()
                self.assertEqual(calls(), (before[0], before[1] + count))
        self.assertIn(("bf16", 8, 24, 16), {(each.precision, each.m, each.n, each.k) for each in mmtune.torch.report()})

    def test_a_tuned_model_is_served(self):
        model, x = self.model, self.x
        self.assertEqual(self.sizes, 5)
        before = calls()[0]
        with mmtune.torch.enabled():
            got = model(x)
            for mine, theirs in zip(torch.autograd.grad(got, list(model.parameters()), self.upstream), self.gradients):
                self.close(mine, theirs, 256)
            compiled = torch.compile(model, fullgraph=True)(x)
            untuned = torch.mm(x[:3], x.t())
            with self.assertRaisesRegex(RuntimeError, "dtype"):
                torch.mm(x, x.t().double())
            self.assertEqual(torch.mm(x[:0], x.t()).shape, (0, 64))
        self.close(got, self.wanted, 64)
        self.close(compiled, self.wanted, 64)
        self.check(untuned, x[:3], x.t())
        report = mmtune.torch.report()
        print(report)
        self.assertGreaterEqual(calls()[0] - before, 7)
        self.assertIn("not tuned", {each.reason for each in report})

    def test_what_was_measured_decides(self):
        with mmtune.torch.enabled():
            for _ in range(2):
                torch.autograd.grad(self.model(self.x), list(self.model.parameters()), self.upstream)
        compared = [each for each in mmtune.torch.report() if each.cublas_ratio > 0]
        self.assertGreaterEqual(len(compared), 5)
        for each in compared:
            is_faster = each.cublas_ratio > 1
            self.assertEqual((each.served > 0, each.reason == "cuBLAS is faster"), (is_faster, not is_faster))

    def test_what_is_added(self):
        x, w, bias = self.x, self.model[0].weight.detach(), self.model[0].bias.detach()
        matrix = new(64, 512)
        before = calls()[0]
        with mmtune.torch.enabled():
            relu = torch.ops.aten._addmm_activation(bias, x, w.t())
            expanded = torch.addmm(bias.expand(64, 512), x, w.t(), out=torch.empty_like(matrix))
            added = torch.addmm(matrix, x, w.t(), beta=0.5, alpha=2)
            written = torch.addmm(matrix, x, w.t(), beta=0.5, alpha=2, out=torch.empty_like(matrix))
            batch = torch.baddbmm(matrix[None], x[None], w.t()[None], beta=0.5, alpha=2)[0]
            nothing = torch.addmm(bias, x, w.t(), beta=0)
        wanted = F.linear(x, w, bias)
        self.close(relu, torch.relu(wanted), 64)
        self.close(expanded, wanted, 64)
        for each in (added, written, batch):
            self.close(each, torch.addmm(matrix, x, w.t(), beta=0.5, alpha=2), 64)
        self.close(nothing, torch.mm(x, w.t()), 64)
        print(f"{calls()[0] - before} of 6 products with an addend were served")

    def test_autocast_graphs_and_threads(self):
        model = self.model
        with torch.autocast("cuda", torch.bfloat16):
            wanted = model(self.x)
            with mmtune.torch.enabled():
                self.close(model(self.x), wanted, 64)
        before = calls()[0]
        with mmtune.torch.enabled(), torch.no_grad():
            x = self.x.clone()
            alone = model(x)
            for each in in_threads(lambda: [model(x) for _ in range(100)][-1]):
                self.assertTrue(torch.equal(each, alone))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = model(x)
            replayed = torch.compile(model, mode="reduce-overhead", fullgraph=True)
            for _ in range(4):
                x.copy_(new(64, 256))
                graph.replay()
                self.close(y, model(x), 1)
                self.close(replayed(x).clone(), model(x), 64)
        self.assertGreater(calls()[0], before + 400)

    def test_random_calls_with_and_without(self):
        for seed in range(2000):
            rng = random.Random(seed)
            m, n, k = (rng.choice([1, 8, 64, 256, 512]) for _ in range(3))
            dtype = rng.choice(TYPES[::2])
            a = new(m, k, dtype=dtype) if rng.random() < 0.5 else new(k, m, dtype=dtype).t()
            b = new(k, n, dtype=dtype) if rng.random() < 0.5 else new(n, k, dtype=dtype).t()
            with mmtune.torch.enabled():
                self.check(torch.mm(a, b), a, b)
        self.assertIsNone(mmtune.torch.overrides._override)


class Invariant(Case):
    """bf16 layers are tuned for a few seconds; rows must have the same bytes for every number of rows."""

    def test_rows_have_the_same_bits_for_every_number_of_rows(self):
        layer = torch.nn.Linear(512, 384).cuda().bfloat16()
        x = new(257, 512, dtype=torch.bfloat16)
        with torch.no_grad():
            mmtune.torch.tune(layer, x, budget="10s", invariant=True)
            with mmtune.torch.enabled(invariant=True):
                wanted, products = layer(x), torch.mm(x, layer.weight.t())
                for rows in (1, 2, 17, 64, 256):
                    for first in (0, 257 - rows):
                        some = x[first : first + rows]
                        self.assertTrue(torch.equal(layer(some), wanted[first : first + rows]))
                        self.assertTrue(torch.equal(torch.mm(some, layer.weight.t()), products[first : first + rows]))
                every_second = x.repeat_interleave(2, 1)[:, ::2]
                self.assertTrue(torch.equal(torch.mm(every_second, layer.weight.t()), products))
                self.assertTrue(torch.equal(torch.mv(layer.weight, x[3]), products[3]))
                for use_gelu in (False, True):  # Compiled programs call it so.
                    activation = functools.partial(torch.ops.aten._addmm_activation, layer.bias, use_gelu=use_gelu)
                    rows = activation(x, layer.weight.t())
                    self.assertTrue(torch.equal(activation(x[3:5], layer.weight.t()), rows[3:5]))
                batch = x[:256].view(4, 64, 512)
                weights = layer.weight.t().expand(4, 512, 384)
                self.assertTrue(torch.equal(torch.bmm(batch, weights).view(256, 384), products[:256]))
                added = torch.addmm(products[:17], x[:17], layer.weight.t(), beta=0.5, alpha=2)
                one = torch.addmm(products[3:4], x[3:4], layer.weight.t(), beta=0.5, alpha=2)
                self.assertTrue(torch.equal(added[3:4], one))
                with self.assertRaisesRegex(mmtune.Error, "complex64"):
                    torch.mm(x.to(torch.complex64), layer.weight.t().to(torch.complex64))
                self.assertEqual(torch.mm(x[:0], layer.weight.t()).shape, (0, 384))
                with self.assertRaises(RuntimeError):
                    torch.mm(x, layer.weight)
        self.assertIsNone(mmtune.torch.overrides._override)
        with self.assertRaises(ValueError):
            mmtune.torch.enable(only_count=True, invariant=True)


class Cupy(Case):
    def test_products(self):
        try:
            import cupy
        except ImportError as error:
            self.skipTest(str(error))
        import mmtune.cupy

        rng = cupy.random.default_rng(1)
        for dtype, batch in itertools.product(("f4", "f8", "f2"), ((), (3,))):
            a, b = rng.random((*batch, 24, 40)).astype(dtype), rng.random((*batch, 16, 40)).astype(dtype)
            for right in (b.swapaxes(-1, -2), cupy.ascontiguousarray(b.swapaxes(-1, -2))):
                got, wanted = mmtune.cupy.matmul(a, right), cupy.matmul(a, right)
                self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype))
                self.assertLess(float(abs(got - wanted).max()), 4 * float(cupy.finfo(dtype).eps) * 40)
        flipped = mmtune.cupy.matmul(a[..., ::-1], right)
        self.assertLess(float(abs(flipped - cupy.matmul(a[..., ::-1], right)).max()), 0.1)
        with self.assertRaises(ValueError):
            mmtune.cupy.matmul(a, a)


if __name__ == "__main__":
    unittest.main(verbosity=2)
