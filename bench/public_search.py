#!/usr/bin/env python3
"""Searches that Kernel Tuner publishes, by their definitions, on a cache file: rows beside those of `mmtune replay`.

    bench/public_search.py FILE [SEEDS [EVALUATIONS]]

Written after the definitions, not with Kernel Tuner's code. genetic: 26 individuals, parents drawn by rank with a beta
distribution (1, 2.5), one-point crossover, one mutation in 55 children, a child that the restrictions forbid replaced by
an allowed one that differs in one parameter. greedy: hill climbing that takes the first improvement among the allowed
configurations that differ in one parameter, in random order, from a random start, again and again. An evaluation counts
once for each configuration; one that failed counts too. Prints cache,strategy,seed,evaluations,share_of_best.
"""
import gzip
import json
import pathlib
import random
import sys

INFINITY = float("inf")


class Enough(Exception):
    """All evaluations are spent."""


class Space:
    def __init__(self, path):
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
            cache = json.load(file)
        names = cache["tune_params_keys"]
        self.times = {}
        for entry in cache["cache"].values():
            time = entry.get("time")
            failed = isinstance(time, str) or time is None or not 0 < time < 1e20
            self.times[tuple(entry[name] for name in names)] = INFINITY if failed else time
        self.all = list(self.times)
        self.tables = [sorted({each[i] for each in self.all}, key=str) for i in range(len(names))]
        self.best = min(self.times.values())

    def differing_in_one(self, place):
        found = []
        for i, table in enumerate(self.tables):
            others = (place[:i] + (value,) + place[i + 1:] for value in table if value != place[i])
            found += [other for other in others if other in self.times]
        return found


class Evaluations:
    def __init__(self, space, most):
        self.space, self.most = space, most
        self.known = {}
        self.curve = []

    def __call__(self, place):
        if place not in self.known:
            if len(self.curve) == self.most:
                raise Enough
            self.known[place] = self.space.times[place]
            best = min(self.known[place], self.curve[-1] if self.curve else INFINITY)
            self.curve.append(best)
        return self.known[place]


def search_randomly(space, evaluate, rng):
    for place in rng.sample(space.all, min(len(space.all), evaluate.most)):
        evaluate(place)


def search_genetically(space, evaluate, rng, size=26, mutation=55):
    def allowed(child):
        if child in space.times:
            return child
        near = space.differing_in_one(child)
        return rng.choice(near) if near else rng.choice(space.all)

    population = rng.sample(space.all, min(size, len(space.all)))
    while True:
        population.sort(key=evaluate)
        children = []
        while len(children) < size:
            first, second = (population[int(rng.betavariate(1, 2.5) * len(population))] for _ in range(2))
            cut = rng.randrange(len(first))
            for child in (first[:cut] + second[cut:], second[:cut] + first[cut:]):
                child = allowed(child)
                if rng.randrange(mutation) == 0:
                    child = rng.choice(space.differing_in_one(child) or [child])
                if child not in children:
                    children.append(child)
            if first == second:
                children.append(rng.choice(space.all))
        population = children[:size]


def search_greedily(space, evaluate, rng):
    while True:
        place = rng.choice(space.all)
        improved = True
        while improved:
            near = space.differing_in_one(place)
            rng.shuffle(near)
            here = evaluate(place)
            improved = False
            for other in near:
                if evaluate(other) < here:
                    place, improved = other, True
                    break


SEARCHES = {"random_by_definition": search_randomly, "genetic_by_definition": search_genetically,
            "greedy_by_definition": search_greedily}


def main(path, seeds=50, most=200):
    space = Space(path)
    name = pathlib.Path(path).name.removesuffix(".gz").removesuffix(".json")
    places = [25 * 2**i for i in range(20) if 25 * 2**i < most] + [most]
    for strategy, search in SEARCHES.items():
        for seed in range(1, seeds + 1):
            evaluate = Evaluations(space, most)
            try:
                search(space, evaluate, random.Random(seed))
            except Enough:
                pass
            for place in places:
                share = space.best / evaluate.curve[min(place, len(evaluate.curve)) - 1]
                print(f"{name},{strategy},{seed},{place},{share:.4f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
