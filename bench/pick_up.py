"""Programs of PyTorch, CuPy and C without and with mmtune, on a GPU: writes pick_up.csv.

    python3 bench/pick_up.py --mmtune build/mmtune --package build/python --sample build/tests/pickup_sample pick_up.csv

Records what the programs of pick_up_work.py multiply, tunes that (`--budget`), compares with cuBLAS (`mmtune bench`), and then
times each program as it is, under the stand-in for cuBLAS (`mmtune run`), with mmtune.torch.enable() and, for the host's times,
by the names of mmtune.torch, in turns. Times are medians of the rounds, `ratio` is plain_us / mmtune_us, the last two columns
are the calls that were served and passed on while the program was prepared and timed. Rows of `mmtune bench` are the kernels
alone, beside the faster of cuBLAS and cuBLASLt. What --seconds leaves no time for, and what fails, is named on stderr, with the
quartiles of the rounds' ratios and, at the end, means by group.
"""

import argparse
import contextlib
import csv
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORK = Path(__file__).with_name("pick_up_work.py")
HEADING = ["program", "what", "plain_us", "mmtune_us", "ratio", "served", "passed"]
PACKAGES = ("cupy", "torch")
NAMES = {"preload": "mmtune run", "enable": "mmtune.torch.enable", "name": "mmtune.torch"}  # the module by mode
KERNELS = "mmtune bench"
BENCH_S = 120  # the time after which comparisons end; what was compared counts
STARTS = 3  # the starts of a process that a program ends
BEGIN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def run_for(seconds, command, **named):
    """Asks it to end by itself after the time, as Ctrl-C does. Its exit code."""
    process = subprocess.Popen(command, **named)
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            say(f"{command[1]}: ended after {seconds:.0f} s")
            process.send_signal(number)
            seconds = 10
    return process.wait()


class Rows:
    """What was measured, in the file at once, and by group."""

    def __init__(self, path):
        self.path = path
        self.rows = []
        self.groups = {}

    def add(self, program, group, what, plain_us, mmtune_us, calls=("", ""), note=""):
        ratio = plain_us / mmtune_us
        say(f"{program}: {what}: {plain_us:.2f} µs, {mmtune_us:.2f} with mmtune: {ratio:.3f}  {note}")
        self.rows.append([program, what, f"{plain_us:.3f}", f"{mmtune_us:.3f}", f"{ratio:.4f}", *calls])
        self.groups.setdefault((group, program), []).append((ratio, what))
        with open(f"{self.path}.new", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADING, *self.rows])
        os.replace(f"{self.path}.new", self.path)

    def say_means(self):
        for (group, program), ratios in sorted(self.groups.items()):
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
            least, what = min(ratios)
            say(f"{group}, {program}: geometric mean {mean:.3f} of {len(ratios)}, least {least:.3f} at {what}")


def measure(options, package, rows):
    """Rows of PyTorch or CuPy. A process that ends early is followed by another for the programs that it left."""
    first = 0
    for _ in range(STARTS):
        left_s = options.seconds - (time.monotonic() - BEGIN)
        if left_s <= 0:
            break
        command = ["timeout", f"{left_s:.0f}", options.mmtune, "run", "-q", "--", sys.executable, WORK, package, "measure"]
        process = subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            row = json.loads(line)
            if "number" in row:
                first, what = row["number"] + 1, row["what"]
            else:
                program = f"{NAMES[row['mode']]}: {package}"
                rows.add(program, row["group"], row["what"], row["plain_us"], row["us"], row["calls"], row["ratios"])
        if process.wait() == 0:
            return
        say(f"failed: {package}: exit code {process.returncode}" + (f" in {what}" if first > 0 else ""))
    say(f"left out: {package}, programs from number {first} on")


def measure_sample(options, rows):
    """Rows of the C program, which compares by itself."""
    done = subprocess.run([options.mmtune, "run", "-q", "--", options.sample], check=True, stdout=subprocess.PIPE, text=True)
    for what, plain, served in csv.reader(done.stdout.splitlines()):
        rows.add("mmtune run: C", "host", what, float(plain), float(served))


def record(options, calls):
    """All programs at once: none is timed."""
    programs = [[sys.executable, WORK, package, "run"] for package in options.packages]
    programs += [[options.sample]] if options.sample else []
    running = [subprocess.Popen([options.mmtune, "run", "-q", "--record", calls, "--", *program], stdout=subprocess.DEVNULL)
               for program in programs]  # fmt: skip
    for process, program in zip(running, programs):
        if process.wait() != 0:
            say(f"failed: record of {' '.join(map(str, program))}")
    say("recorded")


def tune(options, sizes):
    command = [options.mmtune, "tune", *sizes, "--effort", options.effort, "--budget", options.budget]
    run_for(options.seconds / 2, command, stdout=subprocess.DEVNULL)
    say("tuned")


def compare(options, sizes):
    """The rows of `mmtune bench`."""
    with open(options.compared, "w") as table:
        run_for(BENCH_S, [options.mmtune, "bench", *sizes, "-q", "--format", "csv"], stdout=table)
    say("compared")
    with open(options.compared, newline="") as table:
        return list(csv.DictReader(table))


def add_kernels(rows, compared):
    for row in compared:
        theirs = [float(row[name]) for name in ("cublas_us", "cublaslt_us") if row[name]]
        if theirs:
            what = f"{row['precision']} {row['layout']} {row['m']}x{row['n']}x{row['k']}"
            rows.add(KERNELS, f"kernels {row['precision']}", what, min(theirs), float(row["mmtune_us"]))


@contextlib.contextmanager
def failures_said(what):
    """One part of the measurement that fails leaves the others alone."""
    try:
        yield
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        say(f"failed: {what}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mmtune", type=Path, required=True, help="the program")
    parser.add_argument("--package", type=Path, help="folder to import mmtune from")
    parser.add_argument("--sample", type=Path, help="tests/gpu_pickup/sample.c, built")
    parser.add_argument("--packages", type=str.split, default=list(PACKAGES))
    parser.add_argument("--database", type=Path, help="of what was tuned already; by default a new one")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--budget", default="90s", help="of tuning, for all sizes together")
    parser.add_argument("--compared", type=Path, help="file for what `mmtune bench` says")
    parser.add_argument("--seconds", type=float, default=270, help="after which no program is begun")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    for name in ("mmtune", "package", "sample"):
        if getattr(options, name) is not None:
            setattr(options, name, getattr(options, name).absolute())

    rows = Rows(options.output)
    with tempfile.TemporaryDirectory() as folder:
        options.compared = options.compared or Path(folder) / "compared.csv"
        calls = Path(folder) / "calls.csv"
        os.environ["MMTUNE_DB"] = str(options.database or Path(folder) / "pick_up.db")
        if options.package is not None:
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(options.package), os.environ.get("PYTHONPATH"))))
        sizes = ["--device", "0", "--sizes", f"@{calls}"]
        record(options, calls)
        tune(options, sizes)
        with failures_said("mmtune bench"):
            add_kernels(rows, compare(options, sizes))
        if options.sample is not None:
            with failures_said("C"):
                measure_sample(options, rows)
        for package in options.packages:
            with failures_said(package):
                measure(options, package, rows)
    rows.say_means()


if __name__ == "__main__":
    main()
