#!/usr/bin/env python3
"""Products whose rows have the same bits for every number of rows, beside the fastest kernels, cuBLAS, and cuBLAS
without a workspace, for 15 layers of public models on GPU 0:

    bench/invariant.py FOLDER [--precision bf16] [--rows 1,17,64,257,2048] [--layers 15] [--tune 60] [--mmtune build/mmtune]

Tunes twice in --tune seconds each. FOLDER gets invariant_vs_cublas_PRECISION.csv, and invariant_bits_PRECISION.csv,
what `mmtune bits` says; prints geometric means of cuBLAS's times over ours."""

import argparse
import csv
import math
import os
import subprocess
import sys
import tempfile

# Weights are stored [n, k], as the models' public configurations (config.json at huggingface.co) have them.
LAYERS = [("Llama-3.1-8B", "down", 4096, 14336), ("Llama-3.1-8B", "qkv", 6144, 4096),
          ("Llama-3.1-8B", "output", 4096, 4096), ("Llama-3.1-8B", "gate and up", 28672, 4096),
          ("Qwen2.5-7B", "down", 3584, 18944), ("Qwen2.5-7B", "qkv", 4608, 3584), ("Qwen2.5-7B", "output", 3584, 3584),
          ("Qwen2.5-7B", "gate and up", 37888, 3584), ("Falcon-7B", "qkv", 4672, 4544),
          ("Falcon-7B", "down", 4544, 18176), ("DeepSeek-V3", "compressed q, k and v", 2112, 7168),
          ("DeepSeek-V3", "expert's down", 7168, 2048), ("Llama-3.1-70B", "qkv", 10240, 8192),
          ("Llama-3.1-70B", "output", 8192, 8192), ("Llama-3.1-70B", "down", 8192, 28672)]
MOST_ROWS_STARVED = 64
MOST_ROWS_OF_BITS = 1024  # beyond, copies of results take longer than the products


def mmtune(options, verb, sizes, *more, **environment):
    """The rows of the table that the verb prints."""
    command = [options.mmtune, verb, "--device", "0", "--precision", options.precision, "--layout", "nt",
               "--sizes", ",".join(sizes), "--format", "csv", *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    if done.returncode != 0:  # what was measured counts, and stderr says what was not
        print(f"mmtune {verb} ended with {done.returncode}", file=sys.stderr)
    return list(csv.DictReader(done.stdout.splitlines()))


def times(options, sizes, name, *more):
    """{(m, n, k): row of `mmtune bench`}, the faster entry of cuBLAS as `us`."""
    rows = mmtune(options, "bench", sizes, "--rounds", "9", *more, MMTUNE_DB=name)
    for row in rows:
        row["us"] = min((float(row[entry]) for entry in ("cublas_us", "cublaslt_us") if row[entry]), default=math.nan)
    return {(int(row["m"]), int(row["n"]), int(row["k"])): row for row in rows}


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def steps(options, layers, rows_of):
    """(name, what was measured), one after the other: `starved` only with few rows, where cuBLAS splits sums."""
    sizes = [f"{m}x{n}x{k}" for _, _, n, k in layers for m in rows_of]
    few = [size for size in sizes if int(size.split("x")[0]) <= MOST_ROWS_STARVED]
    with tempfile.TemporaryDirectory() as scratch:
        invariant, free = f"{scratch}/invariant.db", f"{scratch}/free.db"
        tune = ("--budget", f"{options.tune}s")
        mmtune(options, "tune", sizes, *tune, "--invariant", MMTUNE_DB=invariant)
        yield "ours", times(options, sizes, invariant, "--invariant")
        yield "starved", times(options, few, invariant, "--invariant", "--vs", "cublas-starved")
        yield "bits", mmtune(options, "bits", [size for size in sizes if int(size.split("x")[0]) <= MOST_ROWS_OF_BITS],
                             MMTUNE_DB=invariant)
        mmtune(options, "tune", sizes, *tune, MMTUNE_DB=free)
        yield "fastest", times(options, sizes, free)


def table(layers, rows_of, ours, starved=None, bits=(), fastest=None):
    starved, fastest = starved or {}, fastest or {}
    def invariant(product, m, n, k):
        of = [int(row["different"]) for row in bits if row["product"] == product and row["what"] != "ones" and
              (int(row["m"]), int(row["n"]), int(row["k"])) == (m, n, k)]
        return int(max(of) == 0) if of else ""

    summations = {(int(row["n"]), int(row["k"])): row["summation"] for row in bits if row["product"] == "mmtune"}
    for model, layer, n, k in layers:
        for m in rows_of:
            row = ours.get((m, n, k))
            if row is None:
                continue
            yield {"model": model, "layer": layer, "precision": row["precision"], "n": n, "k": k, "m": m,
                   "us": row["mmtune_us"], "free_us": fastest.get((m, n, k), {}).get("mmtune_us", ""),
                   "cublas_us": row["us"], "starved_us": starved.get((m, n, k), {}).get("us", ""),
                   "ratio": row["ratio"], "cublas_invariant": invariant("cublas", m, n, k),
                   "starved_invariant": invariant("cublas-starved", m, n, k), "summation": summations.get((n, k), ""),
                   "family": row["family"], "config": row["config"], "commit": row["commit"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--mmtune", default="build/mmtune")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--rows", default="1,17,64,257,2048")
    parser.add_argument("--layers", type=int, default=len(LAYERS))
    parser.add_argument("--tune", type=int, default=60, help="seconds")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    layers = LAYERS[:options.layers]
    rows_of = [int(m) for m in options.rows.split(",")]
    known = {}
    for name, found in steps(options, layers, rows_of):  # What is known is written at once: a run may be cut.
        known[name] = found
        rows = list(table(layers, rows_of, **known))
        write(f"{options.folder}/invariant_vs_cublas_{options.precision}.csv", rows)
        if name == "bits":
            write(f"{options.folder}/invariant_bits_{options.precision}.csv", found)
    for m in rows_of:
        for name in ("cublas_us", "starved_us", "free_us"):
            ratios = [float(row[name]) / float(row["us"]) for row in rows if row["m"] == m and row[name] != ""]
            ratios = [ratio for ratio in ratios if not math.isnan(ratio)]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(f"m={m}: {name} over ours {mean:.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
