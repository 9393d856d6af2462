#!/usr/bin/env python3
"""What mmtune.torch.enable() costs the host: microseconds of calls of PyTorch, plain and enabled, in turn.

Tunes products of 64 x 64 x 64 in bf16, which then are served, while those of 65 rows are passed on. Writes
what,by,plain_us,enabled_us as CSV, medians of turns of 100 calls; `by` is "cuBLAS" where PyTorch's calls of cuBLAS are
served, else "operators". Needs PyTorch with CUDA.
"""

import csv
import statistics
import sys
import time

import torch

import mmtune._stand_in
import mmtune.torch

F = torch.nn.functional
CALLS, TURNS = 100, 40


def new(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def microseconds(call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    end = time.perf_counter()
    torch.cuda.synchronize()
    return (end - begin) * 1e6 / CALLS


def medians(call):
    plain, enabled = [], []
    for turn in range(TURNS):
        for mode in (True, False) if turn % 2 else (False, True):
            if mode:
                with mmtune.torch.enabled():
                    enabled.append(microseconds(call))
            else:
                plain.append(microseconds(call))
    return statistics.median(plain), statistics.median(enabled)


def main():
    w, bias = new(64, 64), new(64)
    products = {
        "linear": lambda x: F.linear(x, w),
        "linear with bias": lambda x: F.linear(x, w, bias),
        "matmul": lambda x: torch.matmul(x, w),
    }
    tuned = new(64, 64)
    mmtune.torch.tune(step=lambda: [product(tuned) for product in products.values()], budget="8s")
    by = "cuBLAS" if mmtune._stand_in.take() else "operators"
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["what", "by", "plain_us", "enabled_us"])
    for rows, fate in ((64, "served"), (65, "passed on")):
        x = new(rows, 64)
        for name, product in products.items():
            times = medians(lambda: product(x))
            writer.writerow([f"{name} {rows}x64x64 {fate}", by, *(f"{each:.3f}" for each in times)])
    print(mmtune.torch.report(), file=sys.stderr)


if __name__ == "__main__":
    with torch.no_grad():
        main()
