"""Views of any strides on a driver that pretends, beside a plain loop: python_test_views.py LIBRARY."""

import ctypes
import itertools
import random
import sys
import unittest

import mmtune

PATH = sys.argv.pop()
ELEMENT_BYTES = 4


class View:
    """Matrices in host memory that says it is a GPU's. `strides` are in bytes and may be anything."""

    def __init__(self, shape, strides, values, read_only=False):
        self.shape, self.strides = shape, strides
        reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)] if 0 not in shape else []
        self.offset = -sum(step for step in reach if step < 0)
        count = (self.offset + sum(step for step in reach if step > 0)) // ELEMENT_BYTES + 2
        self.memory = (ctypes.c_float * count)(*[next(values) for _ in range(count)])
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": "<f4",
            "data": (ctypes.addressof(self.memory) + self.offset, read_only),
            "version": 3,
        }

    def indices(self):
        return itertools.product(*map(range, self.shape))

    def place(self, index):
        """Where an element is in `memory`, in elements."""
        index = index[-len(self.shape) :]
        return (self.offset + sum(i * stride for i, stride in zip(index, self.strides))) // ELEMENT_BYTES

    def is_of_elements(self):
        return all(stride % ELEMENT_BYTES == 0 for stride in self.strides)

    def overlaps_itself(self):
        places = [self.place(index) for index in self.indices()]
        return len(set(places)) < len(places)

    def has_plain_lines(self):
        """Whether its rows or its columns are contiguous and behind one another, and its matrices too."""
        *batch, rows, columns = self.shape
        *step, down, across = (stride // ELEMENT_BYTES for stride in self.strides)
        by_rows = across == 1 and down >= columns
        by_columns = down == 1 and across >= rows
        return self.is_of_elements() and (by_rows or by_columns) and all(s >= 0 for s in step)


def whole_numbers(seed):
    return itertools.cycle(random.Random(seed).choices(range(-3, 4), k=97))


def random_view(rng, shape, values):
    """Often a plain one, else of strides from small sets around those of plain ones."""
    rows, columns = shape[-2:]
    matrix = rng.choice([(columns + rng.randrange(3), 1), (1, rows + rng.randrange(3))])
    if rng.random() < 0.4:
        matrix = tuple(rng.choice([stride, 0, 1, -1, -stride, 2, columns - 1, -columns]) for stride in matrix)
    whole = max(1, rows * matrix[0], columns * matrix[1])
    step = (rng.choice([whole, whole, whole, whole + 1, 0, 1, -whole, columns]),) if len(shape) == 3 else ()
    strides = [ELEMENT_BYTES * stride for stride in step + matrix]
    if rng.random() < 0.05:
        strides[rng.randrange(len(strides))] += rng.choice([1, 2, -1])
    return View(shape, tuple(strides), values)


def expected(a, b, out, alpha, beta):
    """The whole memory of `out` after the product."""
    memory = list(out.memory)
    for *batch, i, j in out.indices():
        products = (a.memory[a.place((*batch, i, k))] * b.memory[b.place((*batch, k, j))] for k in range(a.shape[-1]))
        place = out.place((*batch, i, j))
        memory[place] = alpha * sum(products) + (beta * out.memory[place] if beta else 0)
    return memory


class Views(unittest.TestCase):
    def setUp(self):
        self.library = mmtune.Library(path=PATH, compile_untuned=False)  # the driver runs no compiled programs
        self.addCleanup(self.library.close)

    def test_random_views_are_multiplied_or_refused(self):
        outcomes = {"multiplied": 0, "refused": 0}
        for seed in range(1200):
            rng, values = random.Random(seed), whole_numbers(seed)
            m, n, k = (rng.choice([0, 1, 2, 3, 4, 5]) for _ in range(3))
            batch = (rng.choice([0, 1, 2, 3]),) if rng.random() < 0.4 else ()
            shared = [batch and rng.random() < 0.2 for _ in range(2)]
            a = random_view(rng, (() if shared[0] else batch) + (m, k), values)
            b = random_view(rng, (() if shared[1] else batch) + (k, n), values)
            out = random_view(rng, (batch if not all(shared) else ()) + (m, n), values)
            alpha, beta = rng.choice([(1, 0), (2, -1)])
            with self.subTest(seed=seed, a=(a.shape, a.strides), b=(b.shape, b.strides), out=(out.shape, out.strides)):
                outcomes[self.outcome(a, b, out, alpha, beta)] += 1
        self.assertGreater(outcomes["multiplied"], 300)
        self.assertGreater(outcomes["refused"], 300)

    def outcome(self, a, b, out, alpha, beta):
        before = list(out.memory)
        wanted = None
        if all(view.is_of_elements() for view in (a, b, out)) and not out.overlaps_itself():
            wanted = expected(a, b, out, alpha, beta)
        try:
            self.library.gemm(a, b, out=out, alpha=alpha, beta=beta)
        except ValueError as error:
            self.assertEqual(list(out.memory), before)
            self.assertFalse(all(view.has_plain_lines() for view in (a, b, out)) and not out.overlaps_itself(), error)
            self.assertRegex(str(error), r"^(a|b|out): .*strides \(")
            return "refused"
        self.assertEqual(list(out.memory), wanted)
        return "multiplied"

    def refuse(self, message, a=None, b=None, out=None, **named):
        values = whole_numbers(1)
        operands = [given or View((4, 4), (16, 4), values) for given in (a, b, out)]
        before = list(operands[2].memory)
        with self.assertRaisesRegex(ValueError, message):
            self.library.gemm(operands[0], operands[1], out=operands[2], **named)
        self.assertEqual(list(operands[2].memory), before)

    def test_views_of_one_row_many_times_flips_and_windows(self):
        for strides in ((0, 4), (4, 0), (-16, 4), (16, -4), (4, 4), (12, 4), (4, 12), (32, 8)):
            elements = rf"\({strides[0] // 4}, {strides[1] // 4}\)"
            for name in ("a", "b", "out"):
                view = View((4, 4), strides, whole_numbers(2))
                self.refuse(rf"{name}: shape \(4, 4\), strides {elements} in elements: .*copy", **{name: view})

    def test_results_that_cannot_be_written(self):
        values = whole_numbers(3)
        self.refuse("out: is read-only", out=View((4, 4), (16, 4), values, read_only=True))
        self.refuse(r"out: strides \(18, 4\) in bytes: no multiples of the 4 bytes", out=View((4, 4), (18, 4), values))
        self.refuse(r"out: shape \(2, 4, 4\), strides \(8, 4, 1\) in elements: the results of the batch would overlap",
                    a=View((2, 4, 4), (64, 16, 4), values), out=View((2, 4, 4), (32, 16, 4), values))
        self.refuse(r"out: shape \(4, 4\), strides .*the results of the batch would overlap", a=View((2, 4, 4), (64, 16, 4), values))

    def test_arguments_that_are_none(self):
        for device in (2**32, 2**31, -2, 2**70):
            with self.assertRaisesRegex(ValueError, "device -?[0-9]+: give the number of a CUDA device"):
                mmtune.Library(device=device, path=PATH)
        for named in ({"database": "a\0b"}, {"model": "h200\0"}, {"path": PATH + "\0"}):
            with self.assertRaisesRegex(ValueError, "NUL|null"):
                mmtune.Library(**{"path": PATH, **named})
        values = whole_numbers(4)
        a, b, out = (View((2, 2), (8, 4), values) for _ in range(3))
        for stream in ("stream", 1.5, -1, 2**64, object(), True):
            with self.assertRaisesRegex(TypeError, "stream: .* is none"):
                self.library.gemm(a, b, out=out, stream=stream)


if __name__ == "__main__":
    unittest.main()
