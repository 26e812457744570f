"""How far the samplers are from the bare cost of their random numbers, and from a plain Python loop.

Everything is measured in one run, side by side, since only the ratios travel from machine to machine.

    python tests/benchmarks/sampling_speed.py [number of rounds or draws, default 1000000]
"""

import sys
from random import Random
from time import perf_counter

import numpy as np

from specdec_lessons import evidence, rejection

A, K = 0.8, 4
REPEATS = 5


def seconds(function):
    """The best of a few runs: the one that was disturbed least."""
    best = float("inf")
    for _ in range(REPEATS):
        start = perf_counter()
        function()
        best = min(best, perf_counter() - start)
    return best


def python_rounds(n, random):
    tokens = []
    for _ in range(n):
        count = 1
        while count <= K and random() < A:
            count += 1
        tokens.append(count)
    return tokens


def python_draws(p, q, n, random):
    """The rule of one position as one would write it first, for each draw anew."""
    gaps = [max(0.0, x - y) for x, y in zip(p, q)]
    residual = [gap / sum(gaps) for gap in gaps]

    def token_from(probs):
        u = random()
        for token, prob in enumerate(probs):
            u -= prob
            if u < 0:
                return token
        return token

    tokens = []
    for _ in range(n):
        token = token_from(q)
        tokens.append(token if random() < p[token] / q[token] else token_from(residual))
    return tokens


def random_pair(size, rng):
    p, q = rng.exponential(size=(2, size))
    return p / p.sum(), q / q.sum()


def report(name, n, bare, ours, loop, loop_n):
    bare, ours, loop = seconds(bare), seconds(ours), seconds(loop) * n / loop_n
    print(f"{name:<34} {bare:>9.4f} s {ours:>9.4f} s {ours / bare:>8.2f} {loop:>9.2f} s {loop / ours:>8.0f}")


def main(n=1_000_000):
    rng, plain, loop_n = np.random.default_rng(0), Random(0).random, max(1, n // 100)
    print(f"{n} rounds or draws, best of {REPEATS}; the Python loop runs {loop_n} and is scaled up\n")
    print(f"{'':<34} {'numbers':>11} {'ours':>11} {'ratio':>8} {'loop':>11} {'loop/ours':>9}")
    report(f"simulate_rounds, k = {K}", n,
           lambda: [rng.random(n) for _ in range(K)],
           lambda: evidence.simulate_rounds(A, K, n, rng),
           lambda: python_rounds(loop_n, plain), loop_n)
    for size in (4, 1000):
        p, q = random_pair(size, rng)
        rejected = round(n * (1 - rejection.acceptance_probability(p, q)))
        p_list, q_list = p.tolist(), q.tolist()
        report(f"draw, V = {size}", n,
               lambda: [rng.random(n), rng.random(n), rng.random(rejected)],
               lambda: rejection.draw(p, q, rng, n),
               lambda: python_draws(p_list, q_list, loop_n, plain), loop_n)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
