"""Programs of PyTorch, CuPy and C without and with mmtune, on a GPU: writes pick_up.csv.

    python3 bench/pick_up.py --mmtune build/mmtune --package build/python --sample build/tests/pickup_sample pick_up.csv

Records what the programs of pick_up_work.py multiply, tunes that (`--budget`), compares with cuBLAS (`mmtune bench`), and then
times each program in several processes at once that take turns: as it is, under the stand-in for cuBLAS (`mmtune run`), with
mmtune.torch.enable(), and, for the host's times, by the names of mmtune.torch. Times are medians of the rounds, `ratio` is
plain_us / mmtune_us, the last two columns are the calls that were served and passed on while the program was made and timed.
Rows of `mmtune bench` are the kernels alone, beside the faster of cuBLAS and cuBLASLt. What --seconds leaves no time for, and
what fails, is named on stderr; means by group stand at its end.
"""

import argparse
import contextlib
import csv
import json
import math
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORK = Path(__file__).with_name("pick_up_work.py")
HEADING = ["program", "what", "plain_us", "mmtune_us", "ratio", "served", "passed"]
PACKAGES = {"cupy": ("plain", "preload"), "torch": ("plain", "preload", "enable", "name")}  # and their modes
NAMES = {"preload": "mmtune run", "enable": "mmtune.torch.enable", "name": "mmtune.torch"}
KERNELS = "mmtune bench"
ROUNDS = 9
SAMPLE_ROUNDS = 3  # of the C program, which takes medians itself
ANSWER_S = 60  # the longest that a worker may take, its start and the compilation of kernels included
STARTS = 3  # of a worker that ends before it is asked to
BENCH_S = 70  # after which comparisons end; what was compared counts
BEGIN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", file=sys.stderr, flush=True)


def environment(options, mode, database):
    variables = dict(os.environ, PICK_UP_MODE=mode, MMTUNE_DB=str(database))
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(options.package or ""), os.environ.get("PYTHONPATH"))))
    return variables


def command(options, mode, *program):
    return [options.mmtune, "run", "-q", "--", *program] if mode == "preload" else program


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


class Failed(Exception):
    """A worker could not do it, or has ended."""


class Worker:
    """A process that times programs one after the other."""

    def __init__(self, options, package, mode, database):
        self.mode, self.has_ended = mode, False
        self.process = subprocess.Popen(
            command(options, mode, sys.executable, WORK, package, "serve"), env=environment(options, mode, database),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, command, number):
        try:
            self.process.stdin.write(f"{command} {number}\n")
            self.process.stdin.flush()
        except OSError as error:
            self.has_ended = True
            raise Failed(f"{command}: {error}") from error

    def end(self):
        """What it answers."""
        answers = select.select([self.process.stdout], [], [], ANSWER_S)[0]
        answer = self.process.stdout.readline() if answers else ""
        self.has_ended = not answer
        if not answer.startswith("ok "):
            raise Failed(answer.strip() or f"it {'has ended' if answers else f'took longer than {ANSWER_S} s'}")
        return json.loads(answer[len("ok ") :])

    def ask(self, command, number):
        self.begin(command, number)
        return self.end()

    def close(self):
        if self.has_ended:
            self.process.kill()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Rows:
    """What was measured, in the file at once, and by group."""

    def __init__(self, path):
        self.path = path
        self.rows = []
        self.groups = {}

    def add(self, program, group, what, plain_us, mmtune_us, calls=("", "")):
        ratio = plain_us / mmtune_us
        say(f"{program}: {what}: {plain_us:.2f} µs, {mmtune_us:.2f} with mmtune: {ratio:.3f}")
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


class Package:
    """The programs of PyTorch or CuPy, and the processes that run them, by mode."""

    def __init__(self, options, package, database):
        self.options, self.package, self.database = options, package, database
        self.starts, self.workers = {}, {}
        for mode in PACKAGES[package]:
            self.start(mode)

    def start(self, mode):
        """Once more, but not for ever."""
        if mode in self.workers:
            self.workers.pop(mode).close()
        self.starts[mode] = self.starts.get(mode, 0) + 1
        if self.starts[mode] <= STARTS:
            self.workers[mode] = Worker(self.options, self.package, mode, self.database)

    def each(self, modes, function):
        """What it returns of the workers of these modes, without those that fail."""
        results = {}
        for mode in modes:
            try:
                results[mode] = function(self.workers[mode])
            except Failed as failure:
                say(f"failed: {self.package}, {mode}: {failure}")
                if self.workers[mode].has_ended:
                    self.start(mode)
        return results

    def measured(self, number, modes):
        """Microseconds, and the calls served and passed on, by mode."""
        before = self.each([mode for mode in modes if mode in self.workers], lambda worker: worker.ask("count", number))
        begun = self.each(before, lambda worker: worker.begin("make", number))  # all at once
        times = {mode: [] for mode in self.each(begun, lambda worker: worker.end())}
        for turn in range(ROUNDS):
            took = self.each(list(times)[:: 1 if turn % 2 == 0 else -1], lambda worker: worker.ask("time", number))
            times = {mode: [*samples, took[mode]] for mode, samples in times.items() if mode in took}
        after = self.each(times, lambda worker: worker.ask("drop", number))
        calls = {mode: [now - then for now, then in zip(after[mode], before[mode])] for mode in after}
        return {mode: statistics.median(times[mode]) for mode in after}, calls

    def measure(self, rows):
        for number, (group, what, modes) in enumerate(self.workers["plain"].ask("list", 0)):
            if time.monotonic() - BEGIN > self.options.seconds:
                say(f"left out: {self.package}: {what}")
                continue
            us, calls = self.measured(number, modes)
            for mode in us:
                if mode != "plain" and "plain" in us:
                    rows.add(f"{NAMES[mode]}: {self.package}", group, what, us["plain"], us[mode], calls[mode])

    def close(self):
        for worker in self.workers.values():
            worker.close()


def measure_sample(options, database, rows):
    """Rows of the C program, which measures by itself."""
    times = {"plain": {}, "preload": {}}
    for turn in range(SAMPLE_ROUNDS):
        for mode in sorted(times, reverse=turn % 2 == 1):
            done = subprocess.run(command(options, mode, options.sample), check=True, stdout=subprocess.PIPE, text=True,
                                  env=environment(options, mode, database), timeout=ANSWER_S)  # fmt: skip
            for what, us in (line.rsplit(",", 1) for line in done.stdout.splitlines()):
                times[mode].setdefault(what, []).append(float(us))
    for what, plain in times["plain"].items():
        rows.add("mmtune run: C", "host", what, statistics.median(plain), statistics.median(times["preload"][what]))


def record(options, database, calls):
    """All programs at once: none is timed."""
    programs = [[sys.executable, WORK, package, "run"] for package in options.packages]
    programs += [[options.sample]] if options.sample else []
    variables = environment(options, "plain", database)
    running = [subprocess.Popen([options.mmtune, "run", "-q", "--record", calls, "--", *program], env=variables,
                                stdout=subprocess.DEVNULL) for program in programs]  # fmt: skip
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
    except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
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
        database, calls = options.database or Path(folder) / "pick_up.db", Path(folder) / "calls.csv"
        sizes = ["--device", "0", "--db", database, "--sizes", f"@{calls}"]
        record(options, database, calls)
        tune(options, sizes)
        with contextlib.ExitStack() as stack:
            packages = [stack.enter_context(contextlib.closing(Package(options, package, database)))
                        for package in options.packages]  # fmt: skip
            with failures_said("mmtune bench"):
                add_kernels(rows, compare(options, sizes))
            if options.sample is not None:
                with failures_said("C"):
                    measure_sample(options, database, rows)
            for package in packages:
                with failures_said(package.package):
                    package.measure(rows)
    rows.say_means()


if __name__ == "__main__":
    main()
