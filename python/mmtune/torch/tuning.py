"""From a model to tuned sizes."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from mmtune import _serving
from mmtune._files import find_program
from mmtune.torch.overrides import enabled
from mmtune.torch.reports import report

_HEADING = "precision,layout,m,n,k,count,seconds"  # of MMTUNE_RECORD


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


def _recorded(model, inputs):
    """The shapes of a step: precision, layout, m, n, k, and how many products and seconds."""
    before = {_shape(each): each.served + each.passed for each in report()}
    with enabled(only_count=True):
        _step(model, inputs)
    rows = []
    for each in report():
        count = (each.served + each.passed - before.get(_shape(each), 0)) * each.batch
        if count > 0:
            rows.append((each.precision, each.layout, each.m, each.n, each.k, count, count * each.expected_us * 1e-6))
    return rows


def _shape(each):
    return (each.precision, each.layout, each.m, each.n, each.k, each.batch, each.epilogue)


def tune(model, example_inputs, budget="2m", database=None, step=None):
    """Tunes the sizes of a step of `model` on the current device: model(*example_inputs), and backward if it is training.
    `step`, a function without arguments, is run instead where it is given. The tuner is a process of its own, needs up to
    `budget` ("90s", "2m", "1h"), writes what it finds to `database`, by default the user's, and prints its progress; its
    results are used from then on. Buffers that the model updates in a forward step are updated once. Returns how many sizes
    there were. Raises subprocess.CalledProcessError where the tuner fails, after it has said why."""
    if isinstance(example_inputs, (torch.Tensor, str)) or not isinstance(example_inputs, (tuple, list)):
        example_inputs = (example_inputs,)
    rows = _recorded(model, example_inputs) if step is None else _recorded(lambda: step(), ())
    if not rows:
        return 0
    device = torch.cuda.current_device()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls.csv"
        calls.write_text("\n".join([_HEADING, *(",".join(map(str, row)) for row in rows), ""]))
        command = [find_program(), "tune", "--device", str(device), "--sizes", f"@{calls}", "--budget", budget]
        if database is not None:
            command += ["--db", os.fspath(database)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    _serving.reload()
    return len(rows)
