#!/usr/bin/env python3
"""Draws what README.md shows of a folder of results: ladder.svg and fp32_vs_cublas.svg, in light and dark.

    bench/pictures.py bench/results/nvidia-h200
    bench/pictures.py --check bench/results/nvidia-h200    # says which of them are not what the files say

ladder.svg has the speeds of kernel after kernel at 4096, from study_s3.csv (one thread an element), ladder_fp32_4096.csv,
tune_fp32.csv, mma_sync_vs_cublas.csv and tensor_vs_cublas.csv; fp32_vs_cublas.svg the ratio of each row of
fp32_vs_cublas.csv. Every figure is read from these files.
"""
import csv
import html
import math
import pathlib
import sys

WIDTH = 770
LABELS = 250  # the place where bars begin
STYLE = """text{fill:#222} .quiet{fill:#666} .title{font-size:15px;font-weight:bold} .page{fill:#fff}
.bar{fill:#0072b2} .tensor{fill:#a0522d} .worse{fill:#d55e00} .rest{fill:#999;fill-opacity:.18}
.grid{stroke:#999;stroke-opacity:.3} .one{stroke:#777} .stem{stroke:#0072b2;stroke-width:2} .stem.loss{stroke:#d55e00}
@media (prefers-color-scheme: dark){text{fill:#ddd} .quiet{fill:#a5a5a5} .page{fill:#0d1117} .bar{fill:#4a9fd8}
.stem{stroke:#4a9fd8} .tensor{fill:#d08b5b}}"""


class Picture:
    """An SVG that grows downwards."""

    def __init__(self):
        self.parts = []
        self.y = 14

    def text(self, x, y, text, look="", anchor="start"):
        kind = f' class="{look}"' if look else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{html.escape(text)}</text>')

    def bar(self, x, y, width, height, look):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{look}"/>')

    def line(self, x1, y1, x2, y2, look):
        self.parts.append(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{look}"/>')

    def heading(self, title, note):
        self.text(14, self.y + 12, title, "title")
        self.text(14, self.y + 30, note, "quiet")
        self.y += 44

    def document(self, title):
        height = self.y + 10
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
            f'font-size="12" role="img">\n<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n'
            f'<rect width="{WIDTH}" height="{height}" rx="6" class="page"/>\n{body}\n</svg>\n')


def rows_of(folder, name):
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def one(rows, **wanted):
    """The first row with these values."""
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    if not found:
        sys.exit(f"no row with {wanted}")
    return found[0]


def bars(picture, entries, look):
    """Of (label, TFLOP/s, peak): on one scale, which ends at the highest peak."""
    scale = (WIDTH - LABELS - 90) / max(peak for _, _, peak in entries)
    for label, speed, peak in entries:
        picture.text(LABELS - 10, picture.y + 14, label, anchor="end")
        picture.bar(LABELS, picture.y + 2, peak * scale, 17, "rest")
        picture.bar(LABELS, picture.y + 2, speed * scale, 17, look)
        picture.text(LABELS + speed * scale + 6, picture.y + 14, f"{speed:.1f}" if speed < 100 else f"{speed:.0f}")
        picture.y += 23
    picture.y += 12


def ladder(folder):
    size = {"m": "4096", "n": "4096", "k": "4096"}
    families = rows_of(folder, "ladder_fp32_4096.csv")
    peak = float(families[0]["tflops"]) / float(families[0]["peak_share"])

    def speed(row):
        return float(row["tflops"])

    cuda_cores = [
        ("naive, one thread an element", float(one(rows_of(folder, "study_s3.csv"), row="4096",
                                                   column="baseline")["gflops"]) / 1000),
        ("tiled, in shared memory", speed(one(families, family="tiled"))),
        ("naive, 8 × 8 in a thread's registers", speed(one(families, family="naive"))),
        ("tiled_coarsened, both together", speed(one(families, family="tiled_coarsened"))),
        ("simt, quick search", speed(one(families, family="simt"))),
        ("simt, default search", speed(one(rows_of(folder, "tune_fp32.csv"), family="simt", **size))),
    ]
    mma_sync = rows_of(folder, "mma_sync_vs_cublas.csv")
    raced = rows_of(folder, "tensor_vs_cublas.csv")
    square = {"set": "square", "family": "wgmma", **size}
    tensor_cores = [
        ("mma_sync, tf32", one(mma_sync, precision="tf32", layout="nn", **size)),
        ("mma_sync, fp16", one(mma_sync, precision="fp16", layout="nn", **size)),
        ("wgmma, tf32", one(raced, precision="tf32", **square)),
        ("wgmma, bf16", one(raced, precision="bf16", **square)),
        ("wgmma, int8", one(raced, precision="int8", **square)),
    ]
    picture = Picture()
    gpu = families[0]["gpu"]
    picture.heading("fp32 on CUDA cores", f"TFLOP/s at 4096 × 4096 × 4096 on an {gpu}; the pale bar is the peak, {peak:.1f}")
    bars(picture, [(label, value, peak) for label, value in cuda_cores], "bar")
    picture.heading("Other types on tensor cores", "TFLOP/s, on another scale; the pale bar is the type's peak")
    bars(picture, [(label, float(row["mmtune_tflops"]),
                    float(row["mmtune_tflops"]) / float(row["peak_share"]))
                   for label, row in tensor_cores], "tensor")
    return picture.document("Speed of kernel after kernel at 4096")


def size_of(row):
    m, n, k = row["m"], row["n"], row["k"]
    return m if m == n == k else f"{m}×{n}×{k}"


def against_cublas(folder):
    rows = rows_of(folder, "fp32_vs_cublas.csv")
    ratios = [float(row["ratio"]) for row in rows]
    low, high, right = math.floor(10 * min(ratios)) / 10, math.ceil(10 * max(ratios)) / 10, WIDTH - 60

    def place(ratio):
        return LABELS + (ratio - low) / (high - low) * (right - LABELS)

    picture = Picture()
    picture.heading("fp32 against cuBLAS",
                    "Speed of mmtune over that of the better of cublasGemmEx and cublasLt's best of sixteen: right of 1 "
                    "mmtune is faster")
    top = picture.y
    for before, row in zip([None] + rows, rows):
        if before and before["set"] != row["set"]:
            picture.y += 8
        ratio, middle = float(row["ratio"]), picture.y + 9
        label = size_of(row) + (f", {row['layout']}" if row["set"] == "layouts" else "")
        if not before or before["set"] != row["set"]:
            picture.text(14, middle + 4, row["set"], "quiet")
        picture.text(LABELS - 10, middle + 4, label, anchor="end")
        is_loss = ratio < 1
        picture.line(place(1), middle, place(ratio), middle, "stem loss" if is_loss else "stem")
        look = "worse" if is_loss else "bar"
        picture.parts.append(f'<circle cx="{place(ratio):.1f}" cy="{middle:.1f}" r="4" class="{look}"/>')
        picture.text(place(max(ratio, 1)) + 9, middle + 4, f"{ratio:.2f}")
        picture.y += 17
    bottom = picture.y + 4
    for tick in range(round(low * 10), round(high * 10) + 1):
        x = place(tick / 10)
        picture.line(x, top, x, bottom, "one" if tick == 10 else "grid")
        picture.text(x, bottom + 15, f"{tick / 10:.1f}", "quiet", "middle")
    picture.y = bottom + 18
    return picture.document("Speed of mmtune's kernels as a multiple of cuBLAS's")


def main():
    words = sys.argv[1:]
    check = words[:1] == ["--check"]
    if len(words) != 1 + check or words[-1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(words[-1])
    stale = []
    for name, draw in (("ladder.svg", ladder), ("fp32_vs_cublas.svg", against_cublas)):
        path, text = folder / name, draw(folder)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the files beside it say; run bench/pictures.py {folder}")


if __name__ == "__main__":
    main()
