"""What was served and what was passed on."""

from dataclasses import dataclass

from mmtune import _serving, _stand_in


@dataclass(frozen=True)
class Shape:
    """What became of the calls of one shape, as the kernels see it: row-major."""

    precision: str
    layout: str
    m: int
    n: int
    k: int
    batch: int
    epilogue: str  # "bias, relu"; "" for a plain product
    served: int  # calls
    passed: int  # calls that PyTorch computed
    reason: str  # the reason of the last that was passed on
    message: str  # what the library said, where the reason is "refused"
    expected_us: float  # time of one product on the GPU, without the epilogue; 0 where nobody asked
    cublas_ratio: float  # how many times as long cuBLAS took for it, by `mmtune bench`; 0 where they were not compared


class Report(list):
    """A list of Shape; printed, a table, where the column cuBLAS has cublas_ratio."""

    def __str__(self):
        lines = ["precision  layout       m       n       k  batch   served   passed  cuBLAS  epilogue, reason"]
        for each in self:
            words = ", ".join(filter(None, (each.epilogue, each.reason, each.message)))
            lines.append(
                f"{each.precision:<10} {each.layout:<6} {each.m:7} {each.n:7} {each.k:7} {each.batch:6} {each.served:8}"
                f" {each.passed:8}  {f'{each.cublas_ratio:.3f}' if each.cublas_ratio else '':>6}  {words}"
            )
        return "\n".join(line.rstrip() for line in lines)


def _shape_of(row):
    return row["precision"], row["layout"], *(int(row[extent] or 0) for extent in "mnk")


def _calls_of_cublas():
    """What became of PyTorch's calls of cuBLAS, as rows of _serving.served(). What was only counted was so at first."""
    for row in sorted(_stand_in.rows(), key=lambda row: row["reason"] != "only counted"):
        calls = int(row["calls"])
        bias, _, activation = row["epilogue"].partition("+") if "bias" in row["epilogue"] else ("", "", row["epilogue"])
        shape = _shape_of(row)
        served, passed = (0, calls) if row["reason"] else (calls, 0)
        batch = int(row["products"]) // calls or 1
        yield (*shape, batch, bias, activation, served, passed, row["reason"], "", float(row["us"]), float(row["ratio"]))


def report():
    """What was served and passed on so far, those first that came most often. Calls of one shape that differ in strides
    or alignment are counted together."""
    merged = {}
    for *shape, bias, activation, served, passed, reason, message, expected_us, ratio in (
        *_serving.served(), *_calls_of_cublas()
    ):  # fmt: skip
        key = (*shape, ", ".join(filter(None, ("bias" if bias else "", activation))))
        old = merged.get(key, (0, 0, "", "", 0.0, 0.0))
        latest = (new or known for new, known in zip((reason, message, expected_us, ratio), old[2:]))
        merged[key] = (old[0] + served, old[1] + passed, *latest)
    shapes = [Shape(*key, *counts) for key, counts in merged.items()]
    return Report(sorted(shapes, key=lambda shape: -(shape.served + shape.passed)))


def products():
    """How many products of a precision, layout, m, n and k there were so far, and what time is expected of one in us.
    The batch of a row of report() may be an average, which later calls change."""
    merged = {}
    for shape, count, expected_us in (
        *((row[:5], row[5] * (row[8] + row[9]), row[12]) for row in _serving.served()),
        *((_shape_of(row), int(row["products"]), float(row["us"])) for row in _stand_in.rows() if row["precision"]),
    ):
        old_count, old_us = merged.get(shape, (0, 0.0))
        merged[shape] = (old_count + count, expected_us or old_us)
    return merged
