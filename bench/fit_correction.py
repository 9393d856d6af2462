#!/usr/bin/env python3
"""Fits the correction of the analytic model to trials, and writes templates/model/correction.inc to stdout:

  bench/fit_correction.py MMTUNE TRIALS.csv[.xz]... --raced TRIALS.csv[.xz]... > correction.inc

TRIALS are what `mmtune show --trials --format csv` wrote on a GPU model, which their folder names (nvidia-h200). Trials
of before FETCH was a parameter count at sizes of few operations alone: their kernels made L2 fetch 256 bytes. Those of
tiles whose lines were narrower than they are now count for nothing, nor do former ones of kernels whose results leave
sooner now, nor those whose clock the power limit held down.
On stderr: how much slower than the fastest trial of a size the one is that is expected to be the fastest, at sizes that
the fit does not know (five parts in turn), before and with the correction. Needs scikit-learn and pandas.

The networks learn how much longer than the mean of a size's trials each takes beside what is expected of it. So they rank
kernels of one size, and leave the level of sizes to the model. Their mean errs less than each: they begin at random. What
they leave, boosted trees learn: those know thresholds, such as the blocks that fill the GPU once. All nodes of a level
ask the same, so that a tree is a table.

Of --raced trials, those count whose clock was held down, and all of what `mmtune audit --format csv` wrote: kernels of
a size have one clock there. Other trees learn from them how much longer than the mean of a size's a trial takes beside
all that is expected of it.
"""
import argparse
import io
import lzma
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPRegressor

LAYERS = (128, 16)
SEEDS = (1, 3)  # Of three pairs, with their trees, the one that loses least at audited sizes.
STAGES = ((2e-3, 50), (5e-4, 25), (1e-4, 15))  # learning rates and epochs: small steps at the end even out their noise
PENALTY = 0.7        # of large weights
LEAST_WEIGHT = 1e-6  # the penalty leaves smaller ones where a node has no use
NEAR = 1.5           # trials that take less than so many times as long as the fastest of their size make up its mean
FAR = 2.5            # those that take longer count for nothing
MOST = 0.5           # the largest difference from the mean that is learnt, as a logarithm
LEAST = 3            # sizes with fewer trials near the fastest count for nothing
SCALE = 20           # the network's results are near 1
TREES, LEVELS = 200, 6               # the trees, and the questions that each asks
POWER_TREES, POWER_LEVELS = 200, 6   # those of calls under the power limit
RATE = 0.15          # the part of what is left that a tree takes on
SHARE = 0.5          # the part of the inputs that a tree may ask for, at random
BINS = 63            # thresholds of an input
PRIOR = 20           # trials without a difference that each leaf is taken to have besides
FAST = 1.25          # trials that take longer than so many times the fastest of their size weigh SLOW for the trees
SLOW = 0.3
LEAF = 1e-5          # the unit of a leaf
FULL_CLOCK = 0.97    # the power limit held a clock down that is a lower part of the highest one
CLOCK_POWER = 0.5    # times under the limit follow this power of the clock, within a size: what memory does is no slower
LEAST_FACTOR, MOST_FACTOR = 0.85, 1.5  # the bounds of the correction: templates/model/correction.h
FEW = 1e9            # operations of a call that takes so short that what L2 fetches matters little
WIDENED = "2026-11-29"           # the day on which these tiles in nn got lines of 128 instead of 64 bytes
WIDENED_TILES = r"BN=(?:160|224) "
SOONER = "2026-11-29T17"         # From then on results of SWAP=1 and of unaligned C leave sooner.
# What audits leave out, with any clock that is held down.
AUDITED = {"outcome": "ok", "source": "measured", "created": SOONER, "sm_clock_mhz": "1500"}
KEY = ["precision", "layout", "m", "n", "k", "config"]  # what tells trials of a GPU model apart


def read(mmtune, path, are_long=False):
    """The trials of the file that count, with what the model is told of them; None if there are none. Where all are of
    long calls it matters little how soon results leave."""
    with lzma.open(path, "rt") if path.endswith(".xz") else open(path) as opened:
        lines = [line for line in opened if not line.startswith("#")]
    trials = pd.read_csv(io.StringIO("".join(lines)), dtype=str, keep_default_na=False)
    if "policy" in trials:  # An audit has a row for each policy that chose a kernel.
        trials = trials.rename(columns={"us": "median_us"}).assign(**AUDITED)
        trials = trials.drop_duplicates(KEY)
    operations = 2 * trials[["m", "n", "k"]].astype(float).prod(axis=1)
    is_today = trials.config.str.contains("FETCH=") | (operations < FEW)
    # What former kernels could do besides is not known any more.
    is_narrow = (trials.layout == "nn") & (trials.created < WIDENED) & trials.config.str.contains(WIDENED_TILES)
    is_unaligned = trials.n.astype(int) % 8 > 0  # All results that a correction is for have 16 bits.
    is_slower = (trials.created < SOONER) & (trials.config.str.contains("SWAP=1") | is_unaligned)
    is_former = is_narrow | (is_slower & (not are_long)) | trials.config.str.contains("STREAM=1")
    trials = trials[(trials.family == "wgmma") & is_today & ~is_former]
    if trials.empty:
        return None
    device = pathlib.Path(path).parent.name.removeprefix("nvidia-")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as known:
        trials.to_csv(known, index=False)
        known.flush()
        command = [mmtune, "model", "--device", "model:" + device, "--check", known.name, "--inputs", "--format", "csv"]
        table = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    table = pd.read_csv(io.StringIO(table))
    table["shape"] = table[["m", "n", "k"]].astype(str).agg("x".join, axis=1)
    table["size"] = device + table.precision + table.layout + table["shape"]
    if "sm_clock_mhz" not in trials:  # Trials told no clock until 2026-11-29.
        return table.assign(sm_clock_mhz=np.nan)
    clocks = trials[trials.outcome == "ok"].astype({"m": int, "n": int, "k": int})
    clocks["sm_clock_mhz"] = pd.to_numeric(clocks.sm_clock_mhz, errors="coerce")
    return table.merge(clocks[[*KEY, "sm_clock_mhz"]], on=KEY)


def is_held_down(trials):
    return trials.sm_clock_mhz < FULL_CLOCK * trials.sm_clock_mhz.max()


def raced(trials):
    """The trials whose clock was held down, with the logarithms of their times at a common clock."""
    trials = trials[is_held_down(trials)].reset_index(drop=True)
    return trials.assign(log_us=np.log(trials.measured_us) + CLOCK_POWER * np.log(trials.sm_clock_mhz))


def prepared(trials):
    inputs = [column for column in trials if column.startswith("input_")]
    how = {"measured_us": "median", "analytic_us": "first", "shape": "first", **{i: "first" for i in inputs}}
    trials = trials.groupby(["size", "config"], as_index=False).agg(how)
    times = trials.measured_us / trials.groupby("size").measured_us.transform("min")
    trials["error"] = np.log(trials.measured_us / trials.analytic_us)
    near = trials[times < NEAR].groupby("size").error.agg(["mean", "count"])
    trials["beside"] = (trials.error - trials["size"].map(near["mean"])).clip(-MOST, MOST)
    counts = (times < FAR) & (trials["size"].map(near["count"]) >= LEAST)
    return trials[counts].reset_index(drop=True), inputs


def loss(trials, expected_us):
    chosen = trials.loc[expected_us.groupby(trials["size"]).idxmin()].set_index("size").measured_us
    lost = chosen / trials.groupby("size").measured_us.min() - 1
    return f"{100 * lost.mean():.1f} % (tenth part from {100 * lost.quantile(0.9):.1f} % on)"


def fitted_networks(known, wanted):
    networks = [MLPRegressor(LAYERS, alpha=PENALTY, batch_size=256, tol=0, n_iter_no_change=1000, random_state=seed,
                             warm_start=True) for seed in SEEDS]
    for network in networks:
        for rate, epochs in STAGES:
            network.set_params(learning_rate_init=rate, max_iter=epochs).fit(known, wanted)
    return networks


def thresholds(values):
    """At most BINS of them, halfway between values that occur."""
    occurring = np.unique(values)
    above = np.searchsorted(occurring, np.unique(np.quantile(values, np.linspace(0, 1, BINS + 2)[1:-1])), "right")
    above = above[above < len(occurring)]
    return (occurring[above - 1] + occurring[above]) / 2


def fitted_trees(inputs, wanted, weights, trees_count, levels_count):
    """Trees, each the input and the threshold of its levels, and its leaves by the answers, the first level's first."""
    limits = [thresholds(column) for column in inputs.T]
    bins = [np.searchsorted(limit, column) for limit, column in zip(limits, inputs.T)]
    usable = [i for i, limit in enumerate(limits) if len(limit)]
    random, left, trees = np.random.RandomState(0), wanted.copy(), []
    for _ in range(trees_count):
        leaf, levels = np.zeros(len(left), int), []
        asked = sorted(random.choice(usable, int(SHARE * len(usable)), replace=False))
        for level in range(levels_count):
            best = (-1,)
            for i in asked:
                cell, cells = leaf * (BINS + 1) + bins[i], (BINS + 1) << level
                sums, counts = (np.bincount(cell, of, cells).reshape(-1, BINS + 1).cumsum(1)
                                for of in (weights * left, weights))
                others, rest = sums[:, -1:] - sums, counts[:, -1:] - counts
                gain = (sums**2 / (counts + PRIOR) + others**2 / (rest + PRIOR)).sum(0)[:len(limits[i])]
                best = max(best, (gain.max(), i, int(gain.argmax())))
            _, i, place = best
            levels.append((i, limits[i][place]))
            leaf = 2 * leaf + (bins[i] > place)
        sums, counts = (np.bincount(leaf, of, 1 << levels_count) for of in (weights * left, weights))
        leaves = np.round(RATE * sums / (counts + PRIOR) / LEAF)
        left -= LEAF * leaves[leaf]
        trees.append((levels, leaves))
    return trees


def of_trees(trees, inputs):
    total = np.zeros(len(inputs))
    for levels, leaves in trees:
        leaf = np.zeros(len(inputs), int)
        for i, limit in levels:
            leaf = 2 * leaf + (inputs[:, i] > limit)
        total += LEAF * leaves[leaf]
    return total


class Correction:
    """What is fitted to these trials."""

    def __init__(self, trials, inputs):
        raw = trials[inputs].values
        self.mean, self.deviation = raw.mean(0), raw.std(0, ddof=1)
        self.deviation[self.deviation == 0] = 1
        self.networks = fitted_networks(self.scaled(raw), SCALE * trials.beside.values)
        left = trials.beside - self.of_networks(raw)
        times = trials.measured_us / trials.groupby("size").measured_us.transform("min")
        near = times < NEAR
        left -= trials["size"].map(left[near].groupby(trials["size"][near]).mean())
        self.trees = fitted_trees(raw, left.clip(-MOST, MOST).values, np.where(times < FAST, 1, SLOW), TREES, LEVELS)

    def scaled(self, raw):
        return (raw - self.mean) / self.deviation

    def of_networks(self, raw):
        return np.mean([network.predict(self.scaled(raw)) for network in self.networks], axis=0) / SCALE

    def log_factors(self, raw):
        return self.of_networks(raw) + of_trees(self.trees, raw)


def fitted_power_trees(correction, trials, inputs):
    raw = trials[inputs].values
    factors = np.exp(correction.log_factors(raw)).clip(LEAST_FACTOR, MOST_FACTOR)
    left = trials.log_us - np.log(trials.analytic_us * trials.power_factor * factors)
    left -= left.groupby(trials["size"]).transform("mean")
    times = trials.log_us - trials.groupby("size").log_us.transform("min")
    return fitted_trees(raw, left.values, np.where(times < np.log(FAST), 1, SLOW), POWER_TREES, POWER_LEVELS)


def number(value, digits=3):
    text = f"{value if abs(value) > LEAST_WEIGHT else 0:.{digits}g}".replace("e-0", "e-")
    return text + ("f" if "." in text or "e" in text else ".0f")


def layer(weights, biases):
    rows = ",\n       ".join("{" + ", ".join(map(number, row)) + "}" for row in weights)
    return f"{{{{{{{rows}}}}},\n      {{{', '.join(map(number, biases))}}}}}"


def network_text(fit, mean, deviation):
    """The network's layers for inputs as they are, and a result that is not scaled."""
    weights, biases = [w.copy() for w in fit.coefs_], [b.copy() for b in fit.intercepts_]
    biases[0] -= (mean / deviation) @ weights[0]
    weights[0] /= deviation[:, None]
    weights[2] /= SCALE
    biases[2] /= SCALE
    return "{" + ",\n     ".join(map(layer, weights, biases)) + "}"


def tree_text(tree):
    levels, leaves = tree
    lists = ([str(i) for i, _ in levels], [number(limit, 6) for _, limit in levels], [f"{leaf:.0f}" for leaf in leaves])
    return "{" + ", ".join("{" + ", ".join(each) + "}" for each in lists) + "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mmtune")
    parser.add_argument("trials", nargs="+")
    parser.add_argument("--raced", nargs="+", required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    trials = pd.concat([read(options.mmtune, path) for path in options.trials], ignore_index=True)
    trials, inputs = prepared(trials[~is_held_down(trials)])
    raw = trials[inputs].values
    unseen = np.zeros(len(trials))
    for fitted, held_out in GroupKFold(5).split(raw, groups=trials["shape"]):
        correction = Correction(trials.iloc[fitted].reset_index(drop=True), inputs)
        unseen[held_out] = correction.log_factors(raw[held_out])
    print(f"{len(trials)} trials of {trials['size'].nunique()} sizes; lost before: {loss(trials, trials.analytic_us)}; "
          f"with the correction: {loss(trials, trials.analytic_us * np.exp(unseen))}", file=sys.stderr)

    files = ["/".join(pathlib.Path(path).parts[-2:]) for path in options.trials + options.raced]
    correction = Correction(trials, inputs)
    networks = [network_text(fit, correction.mean, correction.deviation) for fit in correction.networks]
    print("// Written by bench/fit_correction.py from", *files, sep="\n//   ")
    print(f"constexpr std::array<Network<{LAYERS[0]}, {LAYERS[1]}>, {len(networks)}> kNetworks{{{{")
    print("    " + ",\n    ".join(networks) + "}};")
    power_trees = fitted_power_trees(
        correction, raced(pd.concat([read(options.mmtune, path, are_long=True) for path in options.raced])), inputs)
    print(f"constexpr float kLeafUnit = {number(LEAF)};")
    for name, levels, trees in (("kTrees", LEVELS, correction.trees), ("kPowerTrees", POWER_LEVELS, power_trees)):
        print(f"constexpr std::array<Tree<{levels}>, {len(trees)}> {name}{{{{")
        print("    " + ",\n    ".join(map(tree_text, trees)) + "}};")


if __name__ == "__main__":
    main()
