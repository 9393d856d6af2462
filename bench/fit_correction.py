#!/usr/bin/env python3
"""Fits the correction of the analytic model to trials, and writes templates/model/correction.inc to stdout:

  bench/fit_correction.py MMTUNE TRIALS.csv[.xz]... > correction.inc

TRIALS are what `mmtune show --trials --format csv` wrote on a GPU model, which their folder names (nvidia-h200). Trials
of before FETCH was a parameter count at sizes of few operations alone: their kernels made L2 fetch 256 bytes. Those of
tiles whose lines were narrower than they are now count for nothing.
On stderr: how much slower than the fastest trial of a size the one is that is expected to be the fastest, at sizes that
the fit does not know (five parts in turn), before and with the correction. Needs scikit-learn and pandas.

The networks learn how much longer than the mean of a size's trials each takes beside what is expected of it. So they rank
kernels of one size, and leave the level of sizes to the model. Their mean errs less than each: they begin at random.
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
SEEDS = (1, 6)  # Of four pairs among eight, one whose mean loses least at audited sizes.
STAGES = ((2e-3, 50), (5e-4, 25), (1e-4, 15))  # learning rates and epochs: small steps at the end even out their noise
PENALTY = 0.7        # of large weights
LEAST_WEIGHT = 1e-6  # the penalty leaves smaller ones where a node has no use
NEAR = 1.5           # trials that take less than so many times as long as the fastest of their size make up its mean
FAR = 2.5            # those that take longer count for nothing
MOST = 0.5           # the largest difference from the mean that is learnt, as a logarithm
LEAST = 3            # sizes with fewer trials near the fastest count for nothing
SCALE = 20           # the network's results are near 1
FEW = 1e9            # operations of a call that takes so short that what L2 fetches matters little
WIDENED = "2026-11-29"           # the day on which these tiles in nn got lines of 128 instead of 64 bytes
WIDENED_TILES = r"BN=(?:160|224) "


def read(mmtune, path):
    """The trials of the file that count, with what the model is told of them; None if there are none."""
    with lzma.open(path, "rt") if path.endswith(".xz") else open(path) as opened:
        lines = [line for line in opened if not line.startswith("#")]
    trials = pd.read_csv(io.StringIO("".join(lines)), dtype=str, keep_default_na=False)
    operations = 2 * trials[["m", "n", "k"]].astype(float).prod(axis=1)
    is_today = trials.config.str.contains("FETCH=") | (operations < FEW)
    # What former kernels could do besides is not known any more.
    is_narrow = (trials.layout == "nn") & (trials.created < WIDENED) & trials.config.str.contains(WIDENED_TILES)
    trials = trials[(trials.family == "wgmma") & is_today & ~is_narrow & ~trials.config.str.contains("STREAM=1")]
    if trials.empty:
        return None
    device = pathlib.Path(path).parent.name.removeprefix("nvidia-")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as known:
        trials.to_csv(known, index=False)
        known.flush()
        command = [mmtune, "model", "--device", "model:" + device, "--check", known.name, "--inputs", "--format", "csv"]
        table = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return pd.read_csv(io.StringIO(table)).assign(device=device)


def prepared(trials):
    inputs = [column for column in trials if column.startswith("input_")]
    trials["shape"] = trials[["m", "n", "k"]].astype(str).agg("x".join, axis=1)
    trials["size"] = trials.device + trials.precision + trials.layout + trials["shape"]
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


def number(value):
    text = f"{value if abs(value) > LEAST_WEIGHT else 0:.3g}".replace("e-0", "e-")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mmtune")
    parser.add_argument("trials", nargs="+")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    trials, inputs = prepared(pd.concat([read(options.mmtune, path) for path in options.trials]))
    mean, deviation = trials[inputs].mean().values, trials[inputs].std().values
    deviation[deviation == 0] = 1
    known = (trials[inputs].values - mean) / deviation
    wanted = SCALE * trials.beside.values

    unseen = np.zeros(len(trials))
    for fitted, held_out in GroupKFold(5).split(known, groups=trials["shape"]):
        networks = fitted_networks(known[fitted], wanted[fitted])
        unseen[held_out] = np.mean([network.predict(known[held_out]) for network in networks], axis=0) / SCALE
    print(f"{len(trials)} trials of {trials['size'].nunique()} sizes; lost before: {loss(trials, trials.analytic_us)}; "
          f"with the correction: {loss(trials, trials.analytic_us * np.exp(unseen))}", file=sys.stderr)

    files = ["/".join(pathlib.Path(path).parts[-2:]) for path in options.trials]
    texts = [network_text(fit, mean, deviation) for fit in fitted_networks(known, wanted)]
    print("// Written by bench/fit_correction.py from", *files, sep="\n//   ")
    print(f"constexpr std::array<Network<{LAYERS[0]}, {LAYERS[1]}>, {len(texts)}> kNetworks{{{{")
    print("    " + ",\n    ".join(texts) + "}};")


if __name__ == "__main__":
    main()
