#!/usr/bin/env python3
"""Energy of fp32_emulated and fp32 of this library, and of cuBLAS SGEMM, by the energy counter of the GPU (NVML).

Writes m,n,k,what,us,watts,joules,gflops_per_watt as CSV: the time, mean power and energy of one product, and its
operations per second and watt, which are operations per joule. Each runs without a pause for some seconds, in turns; a
line is the median of its turns. The power of the whole board counts, also what it takes when idle. Needs PyTorch with
CUDA, and a database with kernels for both precisions.
"""

import argparse
import csv
import ctypes
import statistics
import sys
import time

import torch

import mmtune

COLUMNS = ["m", "n", "k", "what", "us", "watts", "joules", "gflops_per_watt"]


class EnergyCounter:
    """Joules that the GPU of PyTorch's current device has taken since its driver was loaded."""

    def __init__(self):
        self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        self._check(self._nvml.nvmlInit_v2())
        # The GPU is found by its name: NVML counts devices otherwise than CUDA where some are hidden.
        uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}".encode()
        self._check(self._nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self._device)))

    @staticmethod
    def _check(result):
        if result != 0:
            raise RuntimeError(f"NVML answers {result}: this GPU's energy cannot be read")

    def joules(self):
        millijoules = ctypes.c_ulonglong()
        self._check(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(millijoules)))
        return millijoules.value / 1000


def run_for(seconds, product):
    """Calls product() for so long, without letting the GPU wait; the number of calls."""
    calls = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(10):
            product()
        calls += 10
        torch.cuda.synchronize()
    return calls


def energy_of(counter, seconds, product):
    """Seconds and joules of one product."""
    run_for(0.2 * seconds, product)  # Power and clock are those of this product then.
    joules, began = counter.joules(), time.monotonic()
    calls = run_for(seconds, product)
    return (time.monotonic() - began) / calls, (counter.joules() - joules) / calls


def products_of(library, a, b, out):
    def ours(precision):
        return lambda: library.gemm(a, b, out, precision=precision, stream=torch.cuda.current_stream())

    return {
        "fp32_emulated": ours("fp32_emulated"),
        "fp32": ours("fp32"),
        "cublas_sgemm": lambda: torch.matmul(a, b, out=out),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", required=True)
    parser.add_argument("--library", help="libmmtune.so; by default the one beside the package")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    counter = EnergyCounter()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    with mmtune.Library(arguments.db, path=arguments.library) as library:
        for n in arguments.sizes:
            a, b, out = (torch.rand(n, n, device="cuda") * 2 - 1 for _ in range(3))
            products = products_of(library, a, b, out)
            turns = {what: [] for what in products}
            for _ in range(arguments.turns):
                for what, product in products.items():
                    turns[what].append(energy_of(counter, arguments.seconds, product))
            for what, measured in turns.items():
                seconds, joules = (statistics.median(column) for column in zip(*measured))
                writer.writerow([n, n, n, what, f"{seconds * 1e6:.1f}", f"{joules / seconds:.0f}", f"{joules:.4g}",
                                 f"{2 * n**3 / joules / 1e9:.1f}"])  # fmt: skip
                sys.stdout.flush()


if __name__ == "__main__":
    main()
