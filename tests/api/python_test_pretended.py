"""What mmtune.torch and mmtune.cupy do around products, beside a PyTorch and a CuPy that pretend.

    PYTHONPATH=build/python python3 tests/api/python_test_pretended.py
"""

import contextlib
import sys
import unittest
from unittest import mock

torch, cupy = mock.MagicMock(), mock.MagicMock()
sys.modules.update({"torch": torch, "torch.library": torch.library, "cupy": cupy})

import mmtune.cupy  # noqa: E402
import mmtune.torch  # noqa: E402
from mmtune import _serving, _stand_in  # noqa: E402
from mmtune.torch import serving, tuning  # noqa: E402


class Ending(unittest.TestCase):
    def test_every_device_with_a_library_has_finished(self):
        with mock.patch.object(_serving, "Library"):
            _serving.library(1)
            _serving.reload()
            _serving.library(3)
        serving._finish()
        self.assertEqual(torch.cuda.synchronize.call_args_list, [mock.call(1), mock.call(3)])
        mmtune.cupy._finish()
        self.assertEqual(cupy.cuda.Device.call_args_list, [mock.call(1), mock.call(3)])
        self.assertEqual(cupy.cuda.Device().synchronize.call_count, 2)


class Recording(unittest.TestCase):
    def test_products_count_once_where_the_numbers_of_batches_differ(self):
        row = {
            "precision": "fp32", "layout": "nn", "m": "2", "n": "4", "k": "3", "epilogue": "", "reason": "only counted",
            "calls": "1", "products": "4", "us": "2", "ratio": "0",
        }  # fmt: skip
        unseen = {**row, "precision": "", "reason": "capture"}

        def step():
            row.update(calls="2", products="7")

        with (
            mock.patch.object(_stand_in, "rows", lambda: [dict(row), unseen]),
            mock.patch.object(tuning, "enabled", lambda only_count: contextlib.nullcontext()),
        ):
            self.assertEqual(tuning._recorded(step), [("fp32", "nn", 2, 4, 3, 3, 6e-6)])
            self.assertEqual(tuning._recorded(lambda: None), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
