"""What mmtune.torch and mmtune.cupy do around products, beside a PyTorch and a CuPy that pretend.

    PYTHONPATH=build/python python3 tests/api/python_test_pretended.py
"""

import sys
import unittest
from unittest import mock

torch, cupy = mock.MagicMock(), mock.MagicMock()
sys.modules.update({"torch": torch, "torch.library": torch.library, "cupy": cupy})

import mmtune.cupy  # noqa: E402
import mmtune.torch  # noqa: E402
from mmtune import _serving  # noqa: E402
from mmtune.torch import serving  # noqa: E402


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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
