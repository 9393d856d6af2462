"""Programs of PyTorch, CuPy and C without and with mmtune, on a GPU: writes pick_up.csv.

    python3 bench/pick_up.py --mmtune build/mmtune --package build/python --sample build/tests/pickup_sample pick_up.csv

Records what the programs of pick_up_work.py multiply, tunes that (`--budget`), compares with cuBLAS (`mmtune bench`), and then
times each program in several processes at once that take turns: as it is, under the stand-in for cuBLAS (`mmtune run`), with
mmtune.torch.enable(), and, for the host's times, by the names of mmtune.torch. Times are medians of the rounds, `ratio` is
plain_us / mmtune_us, the last two columns are the calls that were served and passed on while the program was made and timed.
Programs that --seconds leaves no time for are named on stderr.
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORK = Path(__file__).with_name("pick_up_work.py")
HEADING = ["program", "what", "plain_us", "mmtune_us", "ratio", "served", "passed"]
NAMES = {"preload": "mmtune run", "enable": "mmtune.torch.enable", "name": "mmtune.torch"}
ROUNDS = 9
BEGIN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def environment(options, mode, database):
    variables = dict(os.environ, PICK_UP_MODE=mode, MMTUNE_DB=str(database))
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(options.package or ""), os.environ.get("PYTHONPATH"))))
    return variables


def command(options, mode, *program):
    return [options.mmtune, "run", "-q", "--", *program] if mode == "preload" else program


class Worker:
    """A process that times programs one after the other."""

    def __init__(self, options, package, mode, database):
        self.process = subprocess.Popen(
            command(options, mode, sys.executable, WORK, package, "serve"), env=environment(options, mode, database),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, command, number):
        self.process.stdin.write(f"{command} {number}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{command} {number}: the process ended with {self.process.wait()}")
        return answer

    def counts(self, command, number):
        return [int(each) for each in self.ask(command, number).split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rows_of(package, what, plain, times, calls):
    base = statistics.median(plain)
    for mode, samples in times.items():
        us = statistics.median(samples)
        say(f"{NAMES[mode]}: {package}, {what}: {base:.2f} µs, {us:.2f} with mmtune: {base / us:.3f}")
        yield [f"{NAMES[mode]}: {package}", what, f"{base:.3f}", f"{us:.3f}", f"{base / us:.4f}", *calls[mode]]


def measured(workers, package, number, what, modes):
    """The rows of one program."""
    before = {mode: workers[mode].counts("drop", number) for mode in modes}
    for mode in modes:
        workers[mode].ask("make", number)
    times = {mode: [] for mode in modes}
    for turn in range(ROUNDS):
        for mode in modes if turn % 2 == 0 else reversed(modes):
            times[mode].append(float(workers[mode].ask("time", number)))
    after = {mode: workers[mode].counts("drop", number) for mode in modes}
    calls = {mode: [now - then for now, then in zip(after[mode], before[mode])] for mode in modes}
    return rows_of(package, what, times.pop("plain"), times, calls)


def frameworks(options, database, out):
    """Rows of PyTorch and CuPy."""
    for package in options.packages:
        listed = subprocess.run([sys.executable, WORK, package, "list"], check=True, stdout=subprocess.PIPE, text=True)
        programs = [line.split("\t") for line in listed.stdout.splitlines()]
        used = {mode for _, modes in programs for mode in modes.split()}
        workers = {mode: Worker(options, package, mode, database) for mode in used}
        for number, (what, modes) in enumerate(programs):
            if time.monotonic() - BEGIN > options.seconds:
                say(f"left out: {package}, {what}")
                continue
            out(measured(workers, package, number, what, modes.split()))
        for worker in workers.values():
            worker.close()


def sample(options, database, out):
    """Rows of the C program, which measures by itself."""
    if options.sample is None:
        return
    times = {"plain": {}, "preload": {}}
    for turn in range(ROUNDS):
        for mode in sorted(times, reverse=turn % 2 == 1):
            done = subprocess.run(command(options, mode, options.sample), check=True, stdout=subprocess.PIPE, text=True,
                                  env=environment(options, mode, database))  # fmt: skip
            for what, us in csv.reader(done.stdout.splitlines()):
                times[mode].setdefault(what, []).append(float(us))
    for what, plain in times["plain"].items():
        out(rows_of("C", what, plain, {"preload": times["preload"][what]}, {"preload": ("", "")}))


def prepare(options, database, calls):
    """Records, tunes and compares."""
    record = [options.mmtune, "run", "--record", calls, "--"]
    if options.sample is not None:
        subprocess.run([*record, options.sample], check=True, stdout=subprocess.DEVNULL)
    for package in options.packages:
        variables = environment(options, "plain", database)
        subprocess.run([*record, sys.executable, WORK, package, "run"], check=True, env=variables)
    say("recorded")
    sizes = ["--device", "0", "--db", database, "--sizes", f"@{calls}"]
    tune = [options.mmtune, "tune", *sizes, "--effort", options.effort, "--budget", options.budget]
    subprocess.run(tune, stdout=subprocess.DEVNULL)
    say("tuned")
    with open(options.compared, "w") if options.compared else open(os.devnull, "w") as table:
        subprocess.run([options.mmtune, "bench", *sizes, "--format", "csv"], stdout=table)
    say("compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mmtune", type=Path, required=True, help="the program")
    parser.add_argument("--package", type=Path, help="folder to import mmtune from")
    parser.add_argument("--sample", type=Path, help="tests/gpu_pickup/sample.c, built")
    parser.add_argument("--packages", type=str.split, default=["torch", "cupy"])
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

    rows = [HEADING]

    def out(more):
        rows.extend(more)
        with open(f"{options.output}.new", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        os.replace(f"{options.output}.new", options.output)

    with tempfile.TemporaryDirectory() as folder:
        database = options.database or Path(folder) / "pick_up.db"
        prepare(options, database, Path(folder) / "calls.csv")
        sample(options, database, out)
        frameworks(options, database, out)


if __name__ == "__main__":
    main()
