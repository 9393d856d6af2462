"""From a model to tuned sizes."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch

from mmtune import _serving
from mmtune._files import find_program
from mmtune.torch.overrides import enabled
from mmtune.torch.reports import products

_SOME_LACK_A_KERNEL = 4  # exit code of `mmtune tune`: the other sizes were tuned
_TOOLKIT = Path("/usr/local/cuda")
_HEADING = "precision,layout,m,n,k,count,seconds"  # the heading that MMTUNE_RECORD writes


def use_toolkit_of_torch():
    """Names the folder of NVRTC and cuBLAS that came with PyTorch, where nothing else does: most users of its packages have
    no toolkit. Processes that this one starts see it, too."""
    named = ("MMTUNE_CUDA_PATH", "MMTUNE_NVRTC", "CUDA_HOME", "CUDA_PATH")
    package = importlib.util.find_spec("nvidia")
    # Some images have a toolkit's folder with nothing in it that compiles.
    if any(map(os.environ.get, named)) or any(_TOOLKIT.glob("lib*/libnvrtc.so*")) or package is None:
        return
    for folder in package.submodule_search_locations or ():
        for library in sorted(Path(folder).glob("*/lib/libnvrtc.so*")):
            os.environ["MMTUNE_CUDA_PATH"] = str(library.parent)
            return


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for each in value for tensor in _tensors(each)]


def _step(model, inputs):
    """Once forward; of a module that is training also backward, which leaves its gradients as they were."""
    if not getattr(model, "training", False):
        with torch.no_grad():
            model(*inputs)
        return
    results = [each for each in _tensors(model(*inputs)) if each.requires_grad]
    parameters = [each for each in model.parameters() if each.requires_grad]
    if results and parameters:
        # Of numbers in memory, as a loss makes them: the gradient of a sum is one number, expanded.
        torch.autograd.grad(results, parameters, [torch.ones_like(each) for each in results], allow_unused=True)


def _recorded(step):
    """The shapes of a step: precision, layout, m, n, k, and how many products and seconds."""
    before = products()
    with enabled(only_count=True):
        step()
    rows = []
    for shape, (count, expected_us) in products().items():
        count -= before.get(shape, (0, 0.0))[0]
        if count > 0:
            rows.append((*shape, count, count * expected_us * 1e-6))
    return rows


def tune(model=None, example_inputs=(), budget="2m", database=None, step=None, invariant=False):
    """Tunes the sizes of a step of `model` on the current device: model(*example_inputs), and backward if it is training.
    `step`, a function without arguments, is run instead where it is given. The tuner is a process of its own, takes about
    `budget` ("90s", "2m", "1h"), writes what it finds to `database`, by default the user's, and prints its progress. Then
    it compares what it found with cuBLAS. With `invariant` it finds kernels for enable(invariant=True) instead. Results are
    used from then on. Buffers that the model updates in a forward step are updated once. Returns how many sizes there
    were. Raises subprocess.CalledProcessError where the tuner fails, after it has said why."""
    if isinstance(example_inputs, (torch.Tensor, str)) or not isinstance(example_inputs, (tuple, list)):
        example_inputs = (example_inputs,)
    rows = _recorded(step or (lambda: _step(model, example_inputs)))
    if not rows:
        warnings.warn("mmtune.torch.tune: no product ran on a GPU; move the model and its inputs to one", stacklevel=2)
        return 0
    device = torch.cuda.current_device()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls.csv"
        calls.write_text("\n".join([_HEADING, *(",".join(map(str, row)) for row in rows), ""]))
        sizes = ["--device", str(device), "--sizes", f"@{calls}"]
        if database is not None:
            sizes += ["--db", os.fspath(database)]
        only = ["--invariant"] if invariant else []
        tuned = subprocess.run([find_program(), "tune", *sizes, *only, "--budget", str(budget)], stdout=sys.stderr)
        if tuned.returncode != _SOME_LACK_A_KERNEL:
            tuned.check_returncode()
        if not invariant:  # Invariant products have no cuBLAS to compare with: what was tuned is served.
            subprocess.run([find_program(), "bench", *sizes], stdout=sys.stderr)
    _serving.reload(database)
    tuned.check_returncode()
    return len(rows)
