"""The library by name."""

from dataclasses import dataclass

from mmtune import _native
from mmtune._files import find_library

_MATCHES = ("exact", "nearest", "predicted", "fallback")


@dataclass(frozen=True)
class Answer:
    """What runs, or would run, for a call."""

    match: str  # "exact", "nearest", "predicted" or "fallback"
    family: str
    config: str
    expected_us: float
    measured: bool
    why: str
    cublas_ratio: float  # how many times as long cuBLAS took, by `mmtune bench`; 0: not compared


class Library(_native.Library):
    """The kernels for one GPU. Use from any thread. Close it, or leave its `with` block, once the GPU has finished."""

    def __init__(self, database=None, device=-1, model=None, compile_untuned=True, path=None, learn=False):
        """`compile_untuned` lets the first call of a kind that nothing is tuned for compile a kernel, in about a second.
        `learn` finds out on calls which of a few kernels is the fastest for sizes that were not tuned, see <mmtune.h>.
        `path` names libmmtune.so; by default it is the one that was installed with this package, else the loader
        searches."""
        super().__init__(find_library() if path is None else path, device, database, model, compile_untuned, learn)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def explain(self, a, b, out, *others, **named) -> Answer:
        """What gemm() would run; the arguments are those of gemm()."""
        match, *rest = self._explain(a, b, out, *others, **named)
        return Answer(_MATCHES[match], *rest)
