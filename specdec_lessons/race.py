"""Plain against speculative decoding on this machine, by the clock, and what the formula had predicted.

First the parts are timed, in a run of their own: a step of plain decoding, a draft step, a verify pass.
They give c and v. Then comes the race, on other prompts, and with it the acceptance a. The prediction is
S = E/(v + k c) with E = (1 − a^(k+1))/(1 − a); the measured S is the quotient of the two times per token.

All times are those of the loop as the course runs it: a step is the model's pass, the check of its
distribution and the draw. BLAS runs on a fixed number of threads. Identical work (same seed) is repeated and
the shortest time counts, so that other programs on this machine disturb little.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import threadpoolctl

from specdec_lessons import _checks
from specdec_lessons.decoding import check, decode, propose, speculative_decode
from specdec_lessons.drafting import Fixed
from specdec_lessons.evidence import acceptance_estimate
from specdec_lessons.formulas import expected_tokens, speedup
from specdec_lessons.pair import load_pair, ngram_draft, prompts


class Costs(NamedTuple):
    """What the parts of one draft length cost: c and v, in plain steps; ``step`` in seconds."""

    k: int
    step: float
    c: float
    v: float


@dataclass(frozen=True)
class Race:
    """One race: times in seconds for ``tokens`` tokens each way, and what goes into the prediction.

    ``a`` is accepted / judged; ``v`` and ``c`` are in plain steps, ``v`` for the pass over k + 1 positions.
    """

    k: int
    tokens: int
    plain_seconds: float
    speculative_seconds: float
    passes: int
    a: float
    c: float
    v: float

    @property
    def expected(self):
        """E by the formula: tokens per pass, were every draft accepted with probability a independently."""
        return expected_tokens(self.a, self.k)

    @property
    def tokens_per_pass(self):
        """E as counted."""
        return self.tokens / self.passes

    @property
    def predicted(self):
        """S = E/(v + k c)."""
        return speedup(self.a, self.k, self.c, self.v)

    @property
    def measured(self):
        """S by the clock."""
        return self.plain_seconds / self.speculative_seconds


def measure_costs(target, draft, prompts, k, n_tokens=64, temperature=1.0, repeats=3, threads=1, seed=0):
    """Time a plain step, a draft step and a verify pass over k + 1 positions -> :class:`Costs`.

    ``prompts``: tuples of token ids; from each, ``n_tokens`` tokens are decoded both ways, ``repeats`` times.
    For k = 0, c is nan (nothing is drafted). ValueError for bad counts or no prompt.

    >>> from specdec_lessons.transformer import random_transformer
    >>> large = random_transformer("abc", seed=0, layers=4)
    >>> small = random_transformer("abc", seed=1, layers=1)
    >>> measure_costs(large, small, [(0,)], k=2, n_tokens=8).c > 0
    True
    """
    prompts, k, n_tokens, repeats, threads = _settings(prompts, k, n_tokens, repeats, threads)
    plain, halves = [], []  # seconds of every step and of the two halves of every round
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        for number, prompt in enumerate(prompts):
            for length, found in ((0, plain), (k, halves)):  # without drafts a round is a plain step
                runs = [_in_halves(target, draft, prompt, n_tokens, length, temperature, [seed, number])
                        for _ in range(repeats)]
                found.extend(np.min(runs, axis=0))
    step = float(np.mean(plain, axis=0)[1])
    drafting, checking = (float(seconds) for seconds in np.mean(halves, axis=0))
    return Costs(k, step, drafting / k / step if k else float("nan"), checking / step)


def race(target, draft, prompts, k, costs=None, n_tokens=64, temperature=1.0, repeats=3, threads=1, seed=1,
         progress=iter):
    """Decode from every prompt both ways and take the time -> :class:`Race`.

    ``costs``: what :func:`measure_costs` gave for this k; None measures them first, on the same prompts with
    other random numbers. ``progress`` is put around the list of prompts, for example tqdm's bar. An interrupt
    between two prompts loses nothing but the race.

    >>> from specdec_lessons.transformer import random_transformer
    >>> large = random_transformer("abc", seed=0, layers=4)
    >>> small = random_transformer("abc", seed=1, layers=1)
    >>> result = race(large, small, [(0,), (1, 2)], k=2, n_tokens=8)
    >>> result.tokens, result.measured > 0
    (16, True)
    """
    prompts, k, n_tokens, repeats, threads = _settings(prompts, k, n_tokens, repeats, threads)
    if costs is None:
        costs = measure_costs(target, draft, prompts, k, n_tokens, temperature, repeats, threads, seed + 1000)
    plain_seconds = speculative_seconds = 0.0
    traces = []
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        for number, prompt in enumerate(progress(prompts)):
            plain, speculative = [], []
            for _ in range(repeats):
                plain.append(_plain(target, prompt, n_tokens, temperature, [seed, number]))
                seconds, trace = _speculative(target, draft, prompt, n_tokens, k, temperature, [seed, number])
                speculative.append(seconds)
            plain_seconds += min(plain)
            speculative_seconds += min(speculative)
            traces.append(trace)
    passes = sum(trace.target_passes for trace in traces)
    return Race(k, n_tokens * len(prompts), plain_seconds, speculative_seconds, passes,
                a=_acceptance(traces), c=costs.c if k else 0.0, v=costs.v)


def race_table(races):
    """The races as lines of text, one a draft length.

    >>> print(race_table([Race(2, 100, 1.0, 0.5, 40, 0.8, 0.1, 1.2)]))
     k      a      c      v   E formula   E counted   S predicted   S measured   tokens/s
     2   0.80   0.10   1.20        2.44        2.50          1.74         2.00        200
    """
    lines = [" k      a      c      v   E formula   E counted   S predicted   S measured   tokens/s"]
    for one in races:
        lines.append(f"{one.k:2}   {one.a:.2f}   {one.c:.2f}   {one.v:.2f}   {one.expected:9.2f}   "
                     f"{one.tokens_per_pass:9.2f}   {one.predicted:11.2f}   {one.measured:10.2f}   "
                     f"{one.tokens / one.speculative_seconds:8.0f}")
    return "\n".join(lines)


def acceptance(target, draft, prompts, k=4, n_tokens=64, temperature=1.0, seed=0):
    """Accepted / judged over the texts from all prompts -> ``evidence.Estimate``; no clock is involved.

    >>> from specdec_lessons.transformer import random_transformer
    >>> model = random_transformer("abc", seed=0)
    >>> acceptance(model, model, [(0,)], n_tokens=12).a
    1.0
    """
    prompts, k, n_tokens, *_ = _settings(prompts, k, n_tokens, 1, 1)
    rngs = [np.random.default_rng([seed, number]) for number in range(len(prompts))]
    return acceptance_estimate([speculative_decode(target, draft, prompt, n_tokens, k, rng, temperature)
                                for prompt, rng in zip(prompts, rngs)])


def _settings(prompts, k, n_tokens, repeats, threads):
    prompts = list(prompts)
    if not prompts:
        raise ValueError("prompts must hold at least one prompt, got none")
    return (
        prompts,
        _checks.single_count("k", k),
        _checks.single_count("n_tokens", n_tokens, at_least=2),
        _checks.single_count("repeats", repeats, at_least=1),
        _checks.single_count("threads", threads, at_least=1),
    )


def _plain(target, prompt, n_tokens, temperature, seed):
    rng = np.random.default_rng(seed)
    _warm(target, prompt)
    start = time.perf_counter()
    decode(target, prompt, n_tokens, rng, temperature)
    return time.perf_counter() - start


def _speculative(target, draft, prompt, n_tokens, k, temperature, seed):
    rng = np.random.default_rng(seed)
    _warm(target, prompt)
    _warm(draft, prompt)
    start = time.perf_counter()
    trace = speculative_decode(target, draft, prompt, n_tokens, k, rng, temperature)
    return time.perf_counter() - start, trace


def _warm(model, prompt):
    """The prompt is read before the clock starts: prefill is the same both ways and no part of a step."""
    model.next_probs(prompt)


def _in_halves(target, draft, prompt, n_tokens, k, temperature, seed):
    """Full rounds of the loop, timed in halves: seconds of drafting and of checking, a pair a round."""
    rng, policy = np.random.default_rng(seed), Fixed(k)
    context, end, rounds = tuple(prompt), len(prompt) + n_tokens, []
    _warm(target, prompt)
    _warm(draft, prompt)
    seconds = []
    while len(context) + k < end:
        began = time.perf_counter()
        drafted, rows = propose(draft, context, k, policy, rounds, temperature, rng)
        between = time.perf_counter()
        rounds.append(check(target, context, drafted, rows, temperature, rng))
        seconds.append((between - began, time.perf_counter() - between))
        context += rounds[-1].emitted
    if not rounds:
        raise ValueError(f"n_tokens must be above k = {k}, got {n_tokens}")
    return seconds


def _acceptance(traces):
    judged = any(r.judged for trace in traces for r in trace.rounds)
    return acceptance_estimate(traces).a if judged else 0.0


def main():
    """Remeasure what the model card says: ``python -m specdec_lessons.race``."""
    target, aligned, weak = load_pair()
    drafts = {"aligned": aligned, "weak": weak, "n-gram": ngram_draft()}
    for name, draft in drafts.items():
        rates = [acceptance(target, draft, prompts(100), temperature=one) for one in (1.0, 0.0)]
        print(f"{name}: a = {rates[0].a:.3f} ({rates[0].low:.3f} to {rates[0].high:.3f}) at temperature 1, "
              f"{rates[1].a:.3f} ({rates[1].low:.3f} to {rates[1].high:.3f}) at 0")
    for name, draft in drafts.items():
        races = [race(target, draft, prompts(8), k, repeats=5) for k in (1, 2, 4, 6, 8)]
        print(f"\n{name}, temperature 1, one thread\n{race_table(races)}")


if __name__ == "__main__":
    main()
