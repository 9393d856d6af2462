"""The Python package on a driver that pretends, whose device memory is that of the host: python_test.py LIBRARY."""

import ctypes
import math
import os
import sys
import tempfile
import threading
import time
import unittest

import mmtune
from mmtune import _files, _serving
from python_stand_ins import (
    Array, CopiedTensor, Described, ExchangedTensor, Exported, NegatedTensor, ReadOnlyTensor, Tensor, Undecided,
    VersionedTensor,
)  # fmt: skip

PATH = sys.argv.pop()


def product(a, b, m, n, k):
    return [sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n)]


class Package(unittest.TestCase):
    def setUp(self):
        self.library = mmtune.Library(path=PATH)
        self.addCleanup(self.library.close)

    def test_rows(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        self.library.gemm(a, b, out=c)
        self.assertEqual(list(c.memory)[:8], product(range(6), range(12), 2, 4, 3))

    def test_transposed_views_and_scalars(self):
        a = Array((2, 3), [0, 3, 1, 4, 2, 5], (1, 2))  # the same numbers by columns
        b, c = Array((3, 4)), Array((2, 4), [1] * 8)
        self.library.gemm(a, b, out=c, alpha=2, beta=-1)
        self.assertEqual(list(c.memory)[:8], [2 * x - 1 for x in product(range(6), range(12), 2, 4, 3)])

    def test_results_by_columns(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4), strides=(1, 2))
        self.library.gemm(a, b, out=c)
        wanted = product(range(6), range(12), 2, 4, 3)
        self.assertEqual([c.memory[j * 2 + i] for i in range(2) for j in range(4)], wanted)

    def test_batch(self):
        a, b, c = Array((2, 2, 3)), Array((3, 4)), Array((2, 2, 4))
        with mmtune.Library(path=PATH, compile_untuned=False) as library:  # the driver runs no compiled programs
            library.gemm(a, b, out=c)
        wanted = product(range(6), range(12), 2, 4, 3) + product(range(6, 12), range(12), 2, 4, 3)
        self.assertEqual(list(c.memory)[:16], wanted)

    def test_dlpack(self):
        wanted = product(range(6), range(12), 2, 4, 3)
        for kind in (Tensor, VersionedTensor, ExchangedTensor):
            a, b, c = kind((2, 3)), kind((3, 4)), kind((2, 4))
            for _ in range(3):  # how a type is read is remembered
                self.assertIs(self.library.gemm(a, b, out=c), c)
            self.assertEqual(list(c.memory)[:8], wanted)
            with self.assertRaisesRegex(TypeError, "b: memory of DLPack device type 1"):
                self.library.gemm(a, kind((3, 4), device=1), out=c)
            with self.assertRaisesRegex(ValueError, "a and out: on the devices 0 and 1"):
                self.library.gemm(a, b, out=kind((2, 4), device_id=1))
        self.library.gemm(ReadOnlyTensor((2, 3)), b, out=c)
        with self.assertRaisesRegex(ValueError, "out: is read-only"):
            self.library.gemm(a, b, out=ReadOnlyTensor((2, 4)))
        with self.assertRaisesRegex(TypeError, "a: DLPack version 1, or a copy"):
            self.library.gemm(CopiedTensor((2, 3)), b, out=c)

    def test_a_view_that_pytorch_negates_is_refused(self):
        a, b, c = NegatedTensor((2, 2)), ExchangedTensor((2, 2)), ExchangedTensor((2, 2))
        for a.negated in (False, 0):
            self.assertIs(self.library.gemm(a, b, out=c), c)
        a.negated = 1
        with self.assertRaisesRegex(TypeError, "a: a view that PyTorch negates"):
            self.library.gemm(a, b, out=c)
        a.negated = True
        for name, arguments in (("a", (a, b, c)), ("b", (b, a, c)), ("out", (b, b, a)), ("bias", (b, b, c, a))):
            with self.assertRaisesRegex(TypeError, f"{name}: a view that PyTorch negates"):
                self.library.gemm(*arguments[:2], out=arguments[2], bias=arguments[3] if len(arguments) > 3 else None)

    def test_factors_of_two_types(self):
        memory = (ctypes.c_uint16 * 6)(0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0)  # 1 to 6 in bf16
        wanted = product(range(1, 7), range(12), 2, 4, 3)
        a = mmtune.Matrix(ctypes.addressof(memory), "bf16", (2, 3), (3, 1))
        b, c = Array((3, 4)), Array((2, 4))
        self.library.gemm(a, b, out=c)
        self.assertEqual(list(c.memory)[:8], wanted)
        turned_a = mmtune.Matrix(a.address, "bf16", (3, 2), (1, 3))
        turned_b, turned_c = Array((4, 3), strides=(1, 4)), Array((4, 2), strides=(1, 4))
        self.library.gemm(turned_b, turned_a, out=turned_c)
        self.assertEqual(list(turned_c.memory)[:8], wanted)
        with self.assertRaisesRegex(TypeError, "results by columns: bf16_x_fp32 has these factors where"):
            self.library.gemm(a, b, out=Array((2, 4), strides=(1, 2)))
        with self.assertRaisesRegex(TypeError, "results by rows: bf16_x_fp32 has these factors where"):
            self.library.gemm(turned_b, turned_a, out=Array((4, 2)))
        self.assertEqual(self.serve(0, a, b, out=c), "views")

    def test_results_that_the_package_allocates(self):
        out = self.library.gemm(ExchangedTensor((2, 3)), ExchangedTensor((3, 4)))
        self.assertEqual(list(out.memory)[:8], product(range(6), range(12), 2, 4, 3))
        with self.assertRaisesRegex(TypeError, "out: not given, and nobody knows how to allocate a Tensor"):
            self.library.gemm(Tensor((2, 3)), Tensor((3, 4)))

    def serve(self, flags, a, b, bias=None, out=None, alpha=1.0, beta=0.0, allocate=None, added=None):
        return self.library._serve(flags, a, b, bias, added, out, alpha, beta, 0, allocate)

    def test_serving_frameworks(self):
        a, b = ExchangedTensor((2, 3)), ExchangedTensor((3, 4))
        wanted = product(range(6), range(12), 2, 4, 3)
        out = self.serve(0, a, b)
        self.assertEqual((list(out.shape), list(out.memory)[:8]), ([2, 4], wanted))
        self.assertEqual(list(self.serve(0, ReadOnlyTensor((2, 3)), b).memory)[:8], wanted)
        self.assertIs(self.serve(0, a, b, out=out, alpha=2.0, beta=-1.0), out)
        self.assertEqual(list(out.memory)[:8], wanted)
        self.assertEqual(self.serve(_serving.ONLY_FASTER, a, b), "not tuned")
        self.assertEqual(self.serve(_serving.ONLY_COUNT, a, b), "only counted")
        tuned = [ExchangedTensor((2, 2)) for _ in range(2)]
        self.assertEqual(list(self.serve(_serving.ONLY_FASTER, *tuned).memory)[:4], product(range(4), range(4), 2, 2, 2))
        rows = {row[1:5]: row[8:11] for row in self.library._served()}
        self.assertEqual(rows, {("nn", 2, 4, 3): (3, 2, "only counted"), ("nn", 2, 2, 2): (1, 0, "")})
        padded = Array((2, 2), strides=(4, 1))  # cuBLAS is faster for what this is padded to.
        self.assertEqual(self.serve(_serving.ONLY_FASTER, padded, tuned[1], out=tuned[0]), "not tuned")

    def test_what_is_added_is_copied_only_where_the_product_is_served(self):
        a, b, added = ExchangedTensor((2, 3)), ExchangedTensor((3, 4)), ExchangedTensor((2, 4))
        out = self.serve(0, a, b, alpha=2.0, beta=-1.0, added=added)
        wanted = [2 * x - y for x, y in zip(product(range(6), range(12), 2, 4, 3), range(8))]
        self.assertEqual((list(out.memory)[:8], list(added.memory)[:8], out.copies), (wanted, list(range(8)), 1))
        out = ExchangedTensor((2, 4))
        self.assertEqual(self.serve(_serving.ONLY_FASTER, a, b, out=out, beta=1.0, added=added), "not tuned")
        self.assertIs(self.serve(0, a, b, out=out, beta=1.0, added=out), out)
        self.assertEqual(out.copies, 0)

    def test_invariant_products_for_frameworks(self):
        a, b, bias = ExchangedTensor((2, 3)), ExchangedTensor((3, 4)), ExchangedTensor((4,))
        invariant = _serving.INVARIANT
        self.serve(invariant, a, b)
        self.serve(0, a, b)  # It has a shape of its own.
        self.assertEqual([row[8] for row in self.library._served()], [1, 1])
        self.serve(invariant, a, b, bias=bias)  # prepared: the plain kernel would round before the bias
        with mmtune.Library(path=PATH, compile_untuned=False) as library:
            arguments = (a, b, None, None, None, 1.0, 0.0, 0, None)
            self.assertEqual(library._serve(_serving.TF32, *arguments), "refused")
            with self.assertRaisesRegex(mmtune.Error, "adds up in another order; .*mmtune cover --invariant"):
                library._serve(_serving.TF32 | invariant, *arguments)
            with self.assertRaisesRegex(mmtune.Error, "adds up in another order; .*mmtune cover --invariant"):
                library.gemm(a, b, out=ExchangedTensor((2, 4)), precision="tf32", invariant=True)

    def test_the_last_call_that_runs_closes_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "calls.csv")
            os.environ["MMTUNE_RECORD"] = record
            library = mmtune.Library(path=PATH)
            del os.environ["MMTUNE_RECORD"]
            a, b, out = (ExchangedTensor((128, 128)) for _ in range(3))

            def work():
                with self.assertRaisesRegex(mmtune.Error, "the library is closed"):
                    while library._serve(0, a, b, None, None, out, 1.0, 0.0, 0, None) is out:
                        pass

            thread = threading.Thread(target=work)
            thread.start()
            while not any(row[8] for row in library._served()):
                time.sleep(0.001)
            library.close()  # mostly while a product runs: only then has this thread a turn
            thread.join()
            self.assertTrue(os.path.exists(record))  # closing writes it

    def test_serving_layers(self):
        weight = ExchangedTensor((4, 3))  # its transpose is multiplied
        transposed = [column * 3 + row for row in range(3) for column in range(4)]
        for lead in ((), (1,), (2,), (2, 1, 2)):
            x = ExchangedTensor((*lead, 3))
            out = self.serve(_serving.LINEAR, x, weight)
            rows = math.prod(lead)
            self.assertEqual(list(out.shape), [*lead, 4])
            self.assertEqual(list(out.memory)[: rows * 4], product(range(rows * 3), transposed, rows, 4, 3))
        self.assertEqual({row[1:5] for row in self.library._served()}, {("nt", m, 4, 3) for m in (1, 2, 4)})

    def test_what_is_passed_on_to_frameworks(self):
        a, b = ExchangedTensor((2, 3)), ExchangedTensor((3, 4))
        for pair in (
            (a, a), (a, ExchangedTensor((3, 4), device=1)), (a, ExchangedTensor((3, 4), device_id=1)), (a, [1]),
            (ExchangedTensor((0, 3)), b), (ExchangedTensor((2, 0)), ExchangedTensor((0, 4))), (ExchangedTensor((3,)), b),
            (a, ExchangedTensor((3,))), (a, ExchangedTensor(())),
        ):  # fmt: skip
            self.assertEqual(self.serve(0, *pair), "views")
        self.assertEqual(self.serve(0, a, b, bias=ExchangedTensor((3,))), "views")
        self.assertEqual(self.serve(0, a, b, out=ExchangedTensor((2, 3))), "views")
        half = mmtune.Matrix(8, "f16", (2, 2), (2, 1))
        self.assertEqual(self.serve(0, half, half, out=ExchangedTensor((2, 2))), "views", "PyTorch refuses the type")
        self.assertEqual(self.serve(0, a, b, out=a), "views")
        self.assertEqual(self.library._served(), [])
        with mmtune.Library(path=PATH, compile_untuned=False) as library:
            relu = _serving.ACTIVATIONS["relu"]
            self.assertEqual(library._serve(relu, a, b, None, None, None, 1.0, 0.0, 0, None), "refused")
            ((*_, reason, message, _us, _ratio),) = library._served()
            self.assertRegex(message, "prepare")

    def test_results_on_what_is_read(self):
        a = Array((4, 4))
        with self.assertRaisesRegex(ValueError, "out: lies on a, which the product reads"):
            self.library.gemm(a, Array((4, 4)), out=a)
        with self.assertRaisesRegex(ValueError, "out: lies on b"):
            self.library.gemm(Array((4, 4)), a, out=a)

    def test_arguments(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        for message, arguments, named in (
            ("unexpected argument 'beat'", (a, b, c), {"beat": 1}),
            ("twice the argument 'a'", (a, b, c), {"a": a}),
            ("misses the argument 'b'", (a,), {"out": c}),
            ("takes 12 arguments but 13", (a,) * 13, {}),
        ):
            with self.assertRaisesRegex(TypeError, message):
                self.library.gemm(*arguments, **named)

    def test_arguments_of_another_type(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        for message, arguments, named in (
            ("alpha 'x': must be a number", (a, b, c), {"alpha": "x"}),
            ("beta None: must be a number", (a, b, c), {"beta": None}),
            ("precision 0: must be a name", (a, b, c), {"precision": 0}),
            ("a: <class 'int'>: has no shape", (1, 2), {}),
            ("b: .*Array'>: has no shape", (Tensor((2, 3)), b), {}),
            (r"a: \(2.0, 3\): must be whole numbers", (Described(a, shape=(2.0, 3)), b, c), {}),
            (r"a: \(2, 1180591620717411303424\): must be whole", (Described(a, shape=(2, 2**70)), b, c), {}),
            ("a: address -4: must be a whole number", (Described(a, data=(-4, False)), b, c), {}),
            ("a: __dlpack__ gave 3, which is no capsule", (Exported(3), b, c), {}),
        ):
            with self.assertRaisesRegex(TypeError, message):
                self.library.gemm(*arguments, **named)
        for message, named in (
            ("device None: must be the number", {"device": None}), ("database 3: must be a path or text", {"database": 3}),
        ):  # fmt: skip
            with self.assertRaisesRegex(TypeError, message):
                mmtune.Library(**{"path": PATH, **named})

    def test_flags_that_are_neither_true_nor_false(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        read_only = mmtune.Matrix(ctypes.addressof(a.memory), "f32", (2, 3), (3, 1), Undecided())
        for call in (
            lambda: mmtune.Library(path=PATH, compile_untuned=Undecided()),
            lambda: mmtune.Library(path=PATH, learn=Undecided()),
            lambda: self.library.gemm(a, b, c, invariant=Undecided()),
            lambda: self.library.gemm(read_only, b, c),
            lambda: self.library.gemm(Described(a, data=(ctypes.addressof(a.memory), Undecided())), b, c),
        ):
            with self.assertRaisesRegex(ValueError, "the truth of several"):
                call()

    def test_a_database_whose_name_is_no_text(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        with mmtune.Library(database=b"/nowhere/\xff.db", model="h200", path=PATH) as library:
            self.assertIn(r"/nowhere/\xff.db does not exist", library.explain(a, b, c).why)

    def test_closed(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        library = mmtune.Library(path=PATH)
        library.close()
        library.close()
        for method in (library.gemm, library.prepare, library.explain):
            with self.assertRaisesRegex(mmtune.Error, "is closed"):
                method(a, b, out=c)
        with self.assertRaisesRegex(mmtune.Error, "nowhere.so.*set LD_LIBRARY_PATH"):
            mmtune.Library(path="nowhere.so")

    def test_finds_what_is_built(self):
        for file in (_files.find_library(), _files.find_stand_in(), _files.find_program()):
            self.assertTrue(os.path.isfile(file), file)

    def test_explain_and_prepare(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        self.library.prepare(a, b, out=c)
        answer = self.library.explain(a, b, c, 2.0)
        self.assertEqual((answer.match, answer.family), ("nearest", "naive"))

    def test_learning(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        for learn, said in ((False, "nearest tuned size"), (True, "learnt from calls")):
            with mmtune.Library(path=PATH, learn=learn) as library:
                for calls in range(400_000):
                    library.gemm(a, b, out=c)
                    if calls % 1000 == 999 and said in library.explain(a, b, out=c).why:
                        break
                self.assertIn(said, library.explain(a, b, out=c).why)
                self.assertEqual("learnt from calls" in library.explain(a, b, out=c).why, learn)
        self.assertEqual(list(c.memory)[:8], product(range(6), range(12), 2, 4, 3))

    def test_epilogues(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        with mmtune.Library(path=PATH, compile_untuned=False) as library:
            for bias, named in ((Array((2, 1)), "bias per row and relu"), (Array((1, 4)), "bias per column and relu")):
                with self.assertRaisesRegex(mmtune.Error, f"with {named}.*prepare"):
                    library.gemm(a, b, out=c, bias=bias, activation="relu")
        with self.assertRaisesRegex(ValueError, r"must be \(2, 1\) or \(1, 4\)"):
            self.library.gemm(a, b, out=c, bias=Array((4, 1)))
        with self.assertRaisesRegex(TypeError, "bias of f64"):
            self.library.gemm(a, b, out=c, bias=Array((1, 4), ctype=ctypes.c_double, typestr="<f8"))
        with self.assertRaisesRegex(ValueError, "activation 'tanh'"):
            self.library.gemm(a, b, out=c, activation="tanh")

    def test_scalars_on_the_device(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        alpha, beta = Array((), [2.0]), Array((1,), [3.0])
        double = Array((), ctype=ctypes.c_double, typestr="<f8")
        with mmtune.Library(path=PATH, compile_untuned=False) as library:
            with self.assertRaisesRegex(mmtune.Error, "with loaded scalars.*prepare"):
                library.gemm(a, b, out=c, device_alpha=alpha, device_beta=beta)
            with self.assertRaisesRegex(mmtune.Error, "device_beta: null pointer, but device_alpha is given"):
                library.gemm(a, b, out=c, device_alpha=alpha)
            with self.assertRaisesRegex(mmtune.Error, "device_alpha: null pointer"):
                library.explain(a, b, out=c, device_beta=beta)
            askew = mmtune.Matrix(ctypes.addressof(beta.memory) + 2, "f32", (), ())
            with self.assertRaisesRegex(mmtune.Error, "device_beta = 0x[0-9a-f]*: not aligned"):
                library.prepare(a, b, out=c, device_alpha=alpha, device_beta=askew)
            with self.assertRaisesRegex(TypeError, r"shape \(\) of f64: must be one element of f32"):
                library.gemm(a, b, out=c, device_alpha=alpha, device_beta=double)
            with self.assertRaisesRegex(TypeError, r"device_alpha: shape \(2,\) of f32"):
                library.gemm(a, b, out=c, device_alpha=Array((2,)), device_beta=beta)
            with self.assertRaisesRegex(TypeError, "offers neither"):
                library.gemm(a, b, out=c, device_alpha=2.0, device_beta=3.0)
            of_doubles = [Array(x, ctype=ctypes.c_double, typestr="<f8") for x in ((2, 3), (3, 4), (2, 4))]
            with self.assertRaisesRegex(mmtune.Error, "fp64.*with loaded scalars"):
                library.gemm(*of_doubles, device_alpha=double, device_beta=double)
            tensor = Tensor(())
            with self.assertRaisesRegex(mmtune.Error, "with loaded scalars"):
                library.gemm(a, b, out=c, device_alpha=tensor, device_beta=tensor)

    def test_errors(self):
        a, b, c = Array((2, 3)), Array((3, 4)), Array((2, 4))
        with self.assertRaisesRegex(ValueError, "not those of a product"):
            self.library.gemm(a, c, out=c)
        with self.assertRaisesRegex(ValueError, "contiguous"):
            self.library.gemm(Array((2, 3), strides=(7, 2)), b, out=c)
        with self.assertRaisesRegex(TypeError, "no such product"):
            self.library.gemm(a, b, out=Array((2, 4), ctype=ctypes.c_double, typestr="<f8"))
        with self.assertRaisesRegex(TypeError, "offers neither"):
            self.library.gemm([1], b, out=c)
        with self.assertRaisesRegex(mmtune.Error, "catalogue"):
            mmtune.Library(model="nothing", path=PATH)


if __name__ == "__main__":
    unittest.main()
