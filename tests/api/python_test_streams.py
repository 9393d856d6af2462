"""The streams of calls on a driver that pretends: python_test_streams.py LIBRARY."""

import ctypes
import sys
import unittest
from unittest import mock

import mmtune
from python_stand_ins import Array, Described, ExchangedTensor, StreamedTensor, VersionedTensor

PATH = sys.argv.pop()
last_stream = ctypes.CDLL("libcuda.so.1").fake_cuda_last_stream
last_stream.restype = ctypes.c_void_p


def of_package(name, base):
    return type("Tensor", (base,), {"__module__": f"{name}.module"})


def derived(base):
    return type("Mine", (base,), {})


class Stream:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class ByProtocol:
    def __init__(self, *answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


class Streams(unittest.TestCase):
    def setUp(self):
        self.library = mmtune.Library(path=PATH)
        self.addCleanup(self.library.close)
        StreamedTensor.current = {(2, 0): 0x30}

    def stream(self, a=Array, b=Array, out=Array, **named):
        """The stream of a call with operands of these types; None is the default one."""
        self.library.gemm(a((2, 2)), b((2, 2)), out=out((2, 2)), **named)
        return last_stream()

    def test_a_package_names_its_current_one(self):
        for each in (0x30, 0x40, None):
            StreamedTensor.current = {(2, 0): each}
            self.assertEqual(self.stream(*[StreamedTensor] * 3), each)
        self.assertIsNone(self.stream(*[ExchangedTensor] * 3))
        self.assertIsNone(self.stream())

    def test_the_results_come_before_factors(self):
        other = of_package("cupy", VersionedTensor)
        cupy = mock.Mock(**{"cuda.get_current_stream.return_value": Stream(ptr=0x50)})
        with mock.patch.dict(sys.modules, cupy=cupy):
            for each in (other, derived(other)):
                self.assertEqual(self.stream(StreamedTensor, StreamedTensor, each), 0x50)
            self.assertEqual(self.stream(other, StreamedTensor, Array), 0x50)
            self.assertEqual(self.stream(Array, StreamedTensor, Array), 0x30)
        cupy.cuda.get_current_stream.assert_called_with(0)

    def test_results_that_the_package_allocates(self):
        a, b = StreamedTensor((2, 3)), StreamedTensor((3, 4))
        with mock.patch.object(StreamedTensor, "new_empty", lambda self, shape: StreamedTensor(shape)):
            self.library.gemm(a, b)
        self.assertEqual(last_stream(), 0x30)

    def test_results_that_cupy_allocates(self):
        array = of_package("cupy", Array)
        array.dtype = "f4"
        cupy = mock.Mock(**{"cuda.get_current_stream.return_value": Stream(ptr=0x50)})
        for each in (array, derived(array)):
            a, b = each((2, 3)), each((3, 4))
            a.shape, b.shape = (2, 3), (3, 4)
            cupy.empty.side_effect = lambda shape, dtype: array(shape)
            with mock.patch.dict(sys.modules, cupy=cupy):
                self.library.gemm(a, b)
            cupy.empty.assert_called_with((2, 4), "f4")
            self.assertEqual(last_stream(), 0x50)
            cupy.empty.reset_mock()

    def test_pytorch_without_the_exchange(self):
        tensor = of_package("torch", VersionedTensor)
        streams = {0: 0x60}
        torch = mock.Mock(**{"_C._cuda_getCurrentRawStream": streams.__getitem__})
        with mock.patch.dict(sys.modules, torch=torch):
            for each in (tensor, derived(tensor)):
                self.assertEqual(self.stream(*[each] * 3), 0x60)
                streams[0] = 0x70
                self.assertEqual(self.stream(*[each] * 3), 0x70)
                streams[0] = 0x60

    def test_arrays_that_have_one_by_interface(self):
        self.assertEqual(self.stream(out=lambda shape: Described(Array(shape), stream=0x80)), 0x80)
        self.assertIsNone(self.stream(out=lambda shape: Described(Array(shape), stream=None)))

    def test_a_given_one_wins(self):
        for given, wanted in (
            (0x90, 0x90), (0, None), (Stream(cuda_stream=0x91), 0x91), (Stream(cuda_stream=0), None), (Stream(ptr=0x92), 0x92),
            (ByProtocol(0, 0x93), 0x93), (None, 0x30),
        ):  # fmt: skip
            self.assertEqual(self.stream(*[StreamedTensor] * 3, stream=given), wanted)

    def test_streams_of_a_later_protocol_are_refused(self):
        for stream in (ByProtocol(1, 0x93), ByProtocol(0x93), ByProtocol(0, "93")):
            with self.assertRaisesRegex(TypeError, "stream: .* is none"):
                self.stream(stream=stream)


if __name__ == "__main__":
    unittest.main()
