"""Homework 4, the capstone: a trace of the real pair, a clock, the prices of a server.

Everything follows from the student's id. Rounds are plain data here: ``[drafted, accepted]``, two counts.
"""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import threadpoolctl

from specdec_lessons import pair, race
from specdec_lessons.decoding import speculative_decode
from specdec_lessons.homework import personal

TEXTS, TOKENS = 6, 64  # so many texts of so many tokens each are in the trace of either draft
LONGEST = 8  # the longest draft in the tables of the server
# The aligned draft: its rate at the first place, the change from place to place, c. The same of the weak one.
# Quiet hour, rush hour: from how many positions on a pass gets dearer, after how many it jumps, and how far.
_SERVERS = (
    (0.82, -0.005, 0.14, 0.51, 0.015, 0.04, (14.2, 5, 0.08), (3.1, 2, 0.21)),
    (0.81, 0.0, 0.21, 0.51, 0.02, 0.03, (13.6, 4, 0.08), (4.4, 3, 0.38)),
    (0.8, -0.01, 0.17, 0.57, 0.02, 0.05, (14.8, 3, 0.08), (3.1, 2, 0.4)),
    (0.89, -0.01, 0.31, 0.51, 0.01, 0.05, (12.9, 4, 0.13), (3.0, 2, 0.35)),
    (0.85, -0.01, 0.32, 0.48, 0.01, 0.06, (9.6, 5, 0.15), (3.6, 3, 0.36)),
    (0.83, -0.005, 0.15, 0.53, 0.01, 0.06, (15.8, 3, 0.13), (4.6, 2, 0.38)),
    (0.86, -0.01, 0.37, 0.52, 0.015, 0.04, (9.7, 4, 0.19), (2.8, 2, 0.25)),
    (0.87, -0.005, 0.33, 0.54, 0.02, 0.05, (8.3, 3, 0.1), (3.2, 4, 0.2)),
    (0.81, 0.0, 0.29, 0.49, 0.01, 0.06, (15.2, 6, 0.13), (5.0, 3, 0.28)),
    (0.8, -0.01, 0.24, 0.48, 0.02, 0.06, (13.3, 3, 0.16), (2.7, 2, 0.26)),
    (0.87, -0.01, 0.19, 0.55, 0.015, 0.04, (14.1, 3, 0.14), (2.8, 4, 0.36)),
    (0.86, -0.01, 0.17, 0.48, 0.01, 0.03, (15.5, 3, 0.12), (2.6, 2, 0.37)),
    (0.85, 0.0, 0.4, 0.49, 0.01, 0.05, (15.5, 6, 0.07), (2.9, 4, 0.24)),
    (0.83, 0.0, 0.32, 0.58, 0.015, 0.06, (11.7, 3, 0.15), (4.3, 2, 0.18)),
    (0.85, -0.005, 0.18, 0.51, 0.02, 0.04, (8.4, 3, 0.19), (2.6, 2, 0.38)),
    (0.81, 0.0, 0.34, 0.51, 0.01, 0.06, (8.3, 3, 0.12), (2.7, 4, 0.19)),
    (0.86, -0.01, 0.17, 0.6, 0.015, 0.04, (14.8, 5, 0.09), (2.6, 3, 0.39)),
    (0.85, -0.005, 0.18, 0.54, 0.02, 0.02, (15.7, 3, 0.2), (3.8, 2, 0.16)),
    (0.87, -0.01, 0.19, 0.5, 0.02, 0.01, (10.5, 4, 0.15), (4.0, 3, 0.25)),
    (0.81, -0.005, 0.19, 0.58, 0.01, 0.05, (14.6, 3, 0.08), (4.9, 4, 0.31)),
    (0.82, -0.01, 0.21, 0.49, 0.015, 0.04, (14.5, 3, 0.17), (2.5, 2, 0.18)),
    (0.83, 0.0, 0.17, 0.56, 0.01, 0.05, (9.0, 4, 0.19), (3.1, 4, 0.25)),
    (0.83, -0.005, 0.21, 0.5, 0.015, 0.03, (14.3, 6, 0.18), (4.0, 3, 0.37)),
    (0.89, -0.01, 0.38, 0.51, 0.015, 0.06, (11.6, 5, 0.16), (3.2, 4, 0.16)),
    (0.8, 0.0, 0.28, 0.48, 0.015, 0.06, (15.7, 5, 0.07), (3.2, 2, 0.37)),
    (0.82, -0.01, 0.13, 0.62, 0.01, 0.05, (9.3, 6, 0.07), (3.8, 4, 0.24)),
    (0.89, -0.01, 0.38, 0.51, 0.015, 0.06, (13.1, 5, 0.12), (3.8, 2, 0.21)),
    (0.8, -0.01, 0.25, 0.48, 0.015, 0.04, (13.8, 3, 0.07), (4.9, 2, 0.33)),
    (0.87, -0.01, 0.4, 0.49, 0.01, 0.05, (14.1, 4, 0.14), (5.0, 3, 0.32)),
    (0.81, 0.0, 0.39, 0.51, 0.015, 0.06, (8.4, 3, 0.13), (4.5, 2, 0.33)),
    (0.86, -0.005, 0.19, 0.5, 0.02, 0.04, (11.1, 4, 0.18), (4.2, 2, 0.31)),
    (0.8, -0.01, 0.24, 0.5, 0.01, 0.05, (14.9, 4, 0.15), (3.8, 2, 0.2)),
    (0.84, -0.01, 0.24, 0.48, 0.01, 0.05, (10.4, 3, 0.17), (2.6, 2, 0.2)),
    (0.84, 0.0, 0.26, 0.58, 0.02, 0.06, (14.9, 4, 0.07), (3.0, 3, 0.17)),
    (0.88, -0.01, 0.2, 0.55, 0.02, 0.05, (12.4, 5, 0.16), (2.7, 2, 0.17)),
    (0.82, 0.0, 0.38, 0.54, 0.01, 0.04, (10.2, 4, 0.2), (4.4, 3, 0.26)),
    (0.86, -0.005, 0.19, 0.49, 0.02, 0.02, (15.2, 3, 0.17), (4.4, 4, 0.16)),
    (0.87, -0.01, 0.36, 0.51, 0.015, 0.06, (13.7, 6, 0.19), (3.7, 4, 0.37)),
    (0.81, -0.005, 0.25, 0.54, 0.01, 0.04, (8.8, 4, 0.2), (2.9, 3, 0.39)),
    (0.86, -0.005, 0.31, 0.54, 0.02, 0.05, (14.8, 3, 0.12), (2.7, 3, 0.24)),
    (0.87, -0.01, 0.18, 0.52, 0.015, 0.01, (15.5, 3, 0.19), (4.8, 3, 0.18)),
    (0.85, -0.01, 0.34, 0.5, 0.01, 0.06, (10.1, 3, 0.09), (3.0, 3, 0.18)),
    (0.85, -0.01, 0.22, 0.54, 0.02, 0.04, (13.3, 3, 0.09), (4.8, 4, 0.34)),
    (0.86, -0.005, 0.36, 0.49, 0.01, 0.05, (15.9, 3, 0.12), (3.2, 4, 0.33)),
    (0.87, -0.01, 0.18, 0.53, 0.015, 0.02, (11.9, 4, 0.12), (3.3, 2, 0.27)),
    (0.85, -0.01, 0.23, 0.51, 0.02, 0.04, (13.0, 3, 0.07), (5.0, 3, 0.31)),
    (0.86, -0.01, 0.25, 0.55, 0.01, 0.06, (15.5, 3, 0.09), (3.9, 2, 0.2)),
    (0.82, -0.01, 0.41, 0.5, 0.02, 0.06, (12.3, 4, 0.1), (4.3, 3, 0.33)),
)


@dataclass(frozen=True, repr=False)
class Numbers:
    """One student's numbers.

    ``k``: the draft length of trace and race; ``seed``: of their prompts and random numbers. ``drafts``: for
    each draft of the server ``survival``, the shares of its passes that accepted position 1, 2, …, 8, and
    ``c``. ``quiet`` and ``rush``: v[0], …, v[8], what a pass over 1, …, 9 positions costs in plain steps of
    that hour. ``rush_share``: the share of the day's tokens that is written in rush hours.
    """

    k: int
    seed: int
    drafts: dict
    quiet: list
    rush: list
    rush_share: float

    def __repr__(self):
        lines = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "drafts":
                lines += [f"drafts      {name}: {about}" for name, about in value.items()]
            else:
                lines.append(f"{field.name:11} {value}")
        return "\n".join(lines)


def numbers(student_id):
    """This student's numbers, always the same; practice numbers without a usable id.

    >>> mine = numbers("ada")
    >>> mine == numbers(" Ada "), mine == numbers("bob42")
    (True, False)
    >>> list(mine.drafts), mine.quiet[0], len(mine.rush)
    (['aligned', 'weak'], 1.0, 9)
    """
    rng = personal.generator("hw4_capstone", student_id)
    k, seed = int(rng.integers(4, 7)), int(rng.integers(1000, 10**6))
    first, change, c, weak_first, weak_change, weak_c, quiet, rush = _SERVERS[rng.integers(len(_SERVERS))]
    shift, weak_shift = rng.integers(-4, 5, 2) / 1000
    drafts = {"aligned": {"survival": _survival(first + shift, change), "c": c},
              "weak": {"survival": _survival(weak_first + weak_shift, weak_change), "c": weak_c}}
    rush_share = float(rng.choice([0.3, 0.4, 0.5, 0.6]))
    return Numbers(k, seed, drafts, _pass_costs(*quiet), _pass_costs(*rush), rush_share)


def _survival(first, change):
    return np.cumprod(first + change * np.arange(LONGEST)).round(3).tolist()


def _pass_costs(dearer_from, jumps_after, jump):
    positions = np.arange(1, LONGEST + 2)
    smooth = np.hypot(1, positions / dearer_from)
    jumps = (positions > jumps_after).astype(int) + (positions > 2 * jumps_after)
    return (smooth / smooth[0] + jump * jumps).round(2).tolist()


def traces(student_id):
    """The traces of both drafts, decoded here and now by the real pair -> dict from draft to six ``Trace``.

    In float64, on one thread, from personal prompts with personal random numbers: the same on every machine.

    >>> runs = traces("ada")
    >>> list(runs), len(runs["weak"]), len(runs["weak"][0].tokens)
    (['aligned', 'weak'], 6, 64)
    """
    mine = numbers(student_id)
    return {draft: list(several) for draft, several in _decoded(mine.k, mine.seed)}


@lru_cache(maxsize=4)
def _decoded(k, seed):
    models, starts = pair.load_pair("float64"), pair.prompts(TEXTS, seed)
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        return tuple(
            (name, tuple(speculative_decode(models.target, draft, start, TOKENS, k,
                                            np.random.default_rng([seed, number]))
                         for number, start in enumerate(starts)))
            for name, draft in (("aligned", models.aligned), ("weak", models.weak)))


def rounds(trace):
    """The rounds of a trace as plain data: a list of ``[drafted, accepted]``, two counts a round.

    >>> rounds(traces("ada")["aligned"][0])[-1][0] < numbers("ada").k    # the last round drafts less
    True
    """
    return [[len(one.drafted), one.accepted] for one in trace.rounds]


def texts(student_id):
    """The rounds of all texts: dict from draft to a list of texts, each a list of ``[drafted, accepted]``.

    >>> sum(1 + accepted for drafted, accepted in texts("ada")["aligned"][0])
    64
    """
    return {draft: [rounds(trace) for trace in several] for draft, several in traces(student_id).items()}


def uncertainty(gap, texts, k):
    """A standard error of ``gap(rounds, k)``: how much it moves when one text is left out, a *jackknife*.

    ``gap``: your function; ``texts``: at least two lists of rounds. One text after the other is left out, and
    the gap of all others together is taken; the error is √(m − 1) times the standard deviation of these m.

    >>> uncertainty(lambda rounds, k: len(rounds) / k, [[[2, 2]], [[2, 0], [2, 1]]], 2)
    0.25
    """
    gaps = [gap(sum(texts[:j] + texts[j + 1:], []), k) for j in range(len(texts))]
    return float(np.sqrt(len(texts) - 1) * np.std(gaps))


def rounded(value, digits=3):
    """A number, or lists and tuples of numbers, with so many digits behind the point; None stays None.

    >>> rounded([0.123456, None, (np.float64(2.0), 1e-5)])
    [0.123, None, [2.0, 0.0]]
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [rounded(one, digits) for one in value]
    return round(value, digits) if isinstance(value, float) else value


def clock(student_id):
    """Time the aligned draft on this machine, in a second or two -> dict of plain numbers, to four digits.

    ``k``; ``step``, ``draft_step``, ``verify_pass`` (over k + 1 positions): seconds of one each, from a run
    of their own. Then a race from two other prompts: ``tokens`` written each way, seconds of ``plain`` and
    of ``speculative`` decoding for all of them, ``passes`` of the latter and its ``a``, accepted / judged.
    Everything is repeated, and the shortest time counts: other programs can only make things slower.

    >>> sorted(clock("ada"))
    ['a', 'draft_step', 'k', 'passes', 'plain', 'speculative', 'step', 'tokens', 'verify_pass']
    """
    mine = numbers(student_id)
    models, starts = pair.load_pair(), pair.prompts(4, mine.seed)
    costs = race.measure_costs(models.target, models.aligned, starts[:2], mine.k, n_tokens=40, repeats=8)
    one = race.race(models.target, models.aligned, starts[2:], mine.k, costs, n_tokens=48, repeats=8)
    times = {"step": costs.step, "draft_step": costs.c * costs.step, "verify_pass": costs.v * costs.step,
             "plain": one.plain_seconds, "speculative": one.speculative_seconds, "a": one.a}
    return {"k": mine.k, "tokens": one.tokens, "passes": one.passes,
            **{name: float(f"{value:.4g}") for name, value in times.items()}}
