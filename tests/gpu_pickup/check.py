"""PyTorch or CuPy with and without `mmtune run`: check.py MMTUNE torch|cupy [compile]

Records what products.py multiplies, tunes it, and runs it again: results must agree and products must have been served.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
# What two right results differ by, as a share of the largest: sums of some hundred products, rounded once to the format.
BOUNDS = {"float64": 1e-14, "float32": 1e-5, "float16": 2**-10, "bfloat16": 2**-7}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(0)


def run(*command):
    done = subprocess.run([str(part) for part in command], stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}")
    return done.stderr


def compare(plain, ours):
    import numpy

    before, after = numpy.load(plain), numpy.load(ours)
    assert set(before) == set(after)
    faults = []
    for name in before:
        x, y = before[name], after[name]
        apart = numpy.abs(x - y).max(initial=0) / max(numpy.abs(x).max(initial=0), 1e-300)
        if not apart <= BOUNDS[name.split(":")[1]]:
            faults.append(f"{name}: differs by {apart:.3g} of the largest")
    return faults


def main(mmtune, framework, *options):
    if importlib.util.find_spec(framework) is None or importlib.util.find_spec("numpy") is None:
        skip(f"{framework} is not installed")
    if not pathlib.Path("/dev/nvidia0").exists() and not pathlib.Path("/dev/nvidiactl").exists():
        skip("no GPU is here")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        os.environ["MMTUNE_DB"] = str(folder / "test.db")
        program = [sys.executable, HERE / "products.py", framework]
        run(*program, folder / "plain.npz", *options)
        told = run(mmtune, "run", "--record", folder / "calls.csv", "--", *program, folder / "recorded.npz", *options)
        assert "served no call" in told, "nothing was tuned yet"
        budget = os.environ.get("MMTUNE_PICKUP_BUDGET", "60s")
        run(mmtune, "--device", "0", "--sizes", f"@{folder / 'calls.csv'}", "--effort", "quick", "--budget", budget, "-q")
        told = run(mmtune, "run", "--", *program, folder / "served.npz", *options)
        assert "mmtune: served " in told and "served no call" not in told, "nothing was served"
        faults = compare(folder / "plain.npz", folder / "recorded.npz") + compare(
            folder / "plain.npz", folder / "served.npz"
        )
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
