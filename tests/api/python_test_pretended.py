"""What mmtune.torch and mmtune.cupy do around products, beside a PyTorch and a CuPy that pretend.

    PYTHONPATH=build/python python3 tests/api/python_test_pretended.py
"""

import contextlib
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

torch, cupy = mock.MagicMock(), mock.MagicMock()
torch.Tensor = type("Tensor", (), {})
sys.modules.update({"torch": torch, "torch.library": torch.library, "cupy": cupy})

import mmtune.cupy  # noqa: E402
import mmtune.torch  # noqa: E402
from mmtune import _serving, _stand_in  # noqa: E402
from mmtune.torch import functions, operators, serving, tuning  # noqa: E402


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


class Watching(unittest.TestCase):
    """Calls by name leave what others must see to operators."""

    def setUp(self):
        self.matrix = torch.Tensor()
        for name, value in (("is_cuda", True), ("requires_grad", False), ("is_neg", lambda: False), ("dim", lambda: 2)):
            setattr(self.matrix, name, value)
        torch.compiler.is_compiling.return_value = False
        nobody = dict(
            _autocasts=lambda device: False, _dispatch_modes=lambda: 0, _transforms=lambda: None, _records=lambda: True,
            _traces=lambda: False, _forward=mock.Mock(_current_level=-1),
        )  # fmt: skip
        for name, value in nobody.items():
            self.watched_by(name, value)

    def watched_by(self, name, value):
        patch = mock.patch.object(functions, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def way(self):
        with mock.patch.object(serving, "mm", return_value="kernel"):
            result = mmtune.torch.matmul(self.matrix, self.matrix)
        return {functions.ops.mm.return_value: "operator"}.get(result, result)

    def test_nothing(self):
        self.assertEqual(self.way(), "kernel")

    def test_a_trace(self):
        self.watched_by("_traces", lambda: True)
        self.assertEqual(self.way(), "operator")

    def test_forward_derivatives(self):
        self.watched_by("_forward", mock.Mock(_current_level=0))
        self.assertEqual(self.way(), "operator")

    def test_a_compiler(self):
        torch.compiler.is_compiling.return_value = True
        self.assertEqual(self.way(), "operator")


class Operators(unittest.TestCase):
    """What torch.library registers has no derivatives forward and few transforms: it is not asked for them."""

    def test_derivatives_forward_and_transforms_are_left_to_pytorch(self):
        for name, plain in (("mm", torch.mm), ("bmm", torch.bmm), ("addmm", torch.addmm)):
            (kernel,) = (
                call.args[1] for call in operators._library.impl.call_args_list if call.args[::2] == (name, "Autograd")
            )
            recorded = torch._library.autograd.make_autograd_impl.return_value
            for level, transformed, wanted in ((-1, False, recorded), (0, False, plain), (-1, True, plain)):
                with (
                    mock.patch.object(operators, "_forward", mock.Mock(_current_level=level)),
                    mock.patch.object(operators, "_transformed", lambda: transformed),
                ):
                    self.assertIs(kernel("keys", "a", "b", c=1), wanted.return_value)
                self.assertEqual(wanted.call_args, mock.call(*["keys"] * (wanted is recorded), "a", "b", c=1))


class Reloading(unittest.TestCase):
    def test_a_database_is_that_of_the_directory_in_which_it_was_named(self):
        tuned = os.path.join(os.getcwd(), "tuned.db")
        with (
            mock.patch.object(_serving, "Library") as library,
            mock.patch.object(_stand_in, "reload") as reload,
            mock.patch.object(_serving, "_database", None),
            mock.patch.object(_serving, "_libraries", {}),
        ):
            for database in ("tuned.db", Path("tuned.db"), None):
                _serving.reload(database)
                _serving.library(0)
                library.assert_called_with(tuned, 0)
            behind_link = os.path.join("link", "..", "tuned.db")
            for database, named in (("", ""), (behind_link, os.path.join(os.getcwd(), behind_link))):
                _serving.reload(database)
                _serving.library(0)
                library.assert_called_with(named, 0)
        self.assertEqual(reload.call_args_list[:3], [mock.call(tuned), mock.call(tuned), mock.call(None)])


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


class Tuning(unittest.TestCase):
    def test_a_step_without_products_says_so(self):
        nothing = mock.patch.object(tuning, "_recorded", lambda step: [])
        with nothing, self.assertWarnsRegex(UserWarning, "move the model"):
            self.assertEqual(mmtune.torch.tune(step=lambda: None), 0)

    def test_the_tuner_judges_the_budget(self):
        rows = [("fp32", "nn", 2, 4, 3, 3, 6e-6)]
        with (
            mock.patch.object(tuning, "_recorded", lambda step: rows),
            mock.patch.object(tuning, "find_program", lambda: "mmtune"),
            mock.patch.object(tuning.subprocess, "run") as run,
        ):
            run.return_value.returncode = 0
            mmtune.torch.tune(step=lambda: None, budget=90)
        self.assertEqual(run.call_args_list[0].args[0][-2:], ["--budget", "90"])

    def test_pytorchs_compiler_stands_in_for_a_toolkit_that_has_none(self):
        with tempfile.TemporaryDirectory() as folder:
            toolkit, package = Path(folder, "cuda"), Path(folder, "nvidia")
            nvrtc = package / "cuda_nvrtc" / "lib" / "libnvrtc.so.13"
            (toolkit / "lib64").mkdir(parents=True)
            nvrtc.parent.mkdir(parents=True)
            nvrtc.touch()
            spec = mock.Mock(submodule_search_locations=[str(package)])
            for file, named in (("libcudart.so.13", str(nvrtc.parent)), ("libnvrtc.so.13", None)):
                (toolkit / "lib64" / file).touch()
                with (
                    mock.patch.object(tuning, "_TOOLKIT", toolkit),
                    mock.patch.object(tuning.importlib.util, "find_spec", lambda name: spec),
                    mock.patch.dict(os.environ, clear=True),
                ):
                    tuning.use_toolkit_of_torch()
                    self.assertEqual(os.environ.get("MMTUNE_CUDA_PATH"), named, file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
