"""PyTorch's matrix products with the kernels that mmtune tuned.

    import mmtune.torch
    mmtune.torch.tune(model, example_inputs)  # once
    mmtune.torch.enable()                     # torch.mm, addmm, bmm and torch.nn.Linear are served from now on

`matmul`, `linear`, `bmm` and `addmm` mean what PyTorch's functions of these names do and are operators of
torch.library (`torch.ops.mmtune`): with autograd, autocast, torch.compile, streams and CUDA graphs. Whatever mmtune cannot
multiply as it is (other types, strange views, empty matrices, wrong shapes) PyTorch itself computes or refuses. docs/pytorch.md
says more.
"""

from mmtune.torch.functions import addmm, bmm, linear, matmul
from mmtune.torch.overrides import disable, enable, enabled
from mmtune.torch.reports import report
from mmtune.torch.tuning import tune, use_toolkit_of_torch

__all__ = ["addmm", "bmm", "disable", "enable", "enabled", "linear", "matmul", "report", "tune"]

use_toolkit_of_torch()
