"""The numbers of the second assignment, E and speedup: a service, its log, its prices, its two drafts.

Every choice below leaves each question with one clear answer, whatever is drawn.
"""

from dataclasses import dataclass, fields

import numpy as np

from specdec_lessons.homework import personal

ROUNDS = 300  # in the log
LONGEST_DRAFT = 5

# A pass costs step · (1 + slope · (n − 1) + jump · (full groups before position n)): group, jump, slope,
# a draft step in plain steps, and for the limit how many drafts still fit.
_PRICES = (
    (4, 0.35, 0.02, 0.03, (5, 7)), (4, 0.35, 0.01, 0.04, (5, 7)),
    (3, 0.50, 0.02, 0.04, (4, 6)), (3, 0.50, 0.01, 0.05, (4, 6)),
)
# Acceptance of the small and of the big draft, and two prices of a step of the big one.
_DRAFTS = (
    (0.45, 0.72, 0.12, 0.19), (0.45, 0.76, 0.14, 0.24), (0.45, 0.80, 0.17, 0.28),
    (0.50, 0.72, 0.09, 0.15), (0.50, 0.76, 0.11, 0.19), (0.50, 0.80, 0.14, 0.23),
    (0.55, 0.72, 0.07, 0.11), (0.55, 0.76, 0.09, 0.14), (0.55, 0.80, 0.11, 0.18),
    (0.60, 0.76, 0.06, 0.10), (0.60, 0.80, 0.08, 0.13), (0.60, 0.84, 0.10, 0.17),
)
# Acceptance on code and on chat, and the price of a draft step.
_TRAFFIC = (
    (0.86, 0.35, 0.08), (0.86, 0.45, 0.10), (0.88, 0.30, 0.10), (0.90, 0.35, 0.12), (0.90, 0.50, 0.10),
)


@dataclass(frozen=True, repr=False)
class Numbers:
    """One student's numbers; which question uses them stands behind each.

    ``log``: pairs [drafted, accepted], one a pass (2). ``rates``: chance of draft 1, 2, … to be accepted once
    it is judged; ``draft_ms``, ``pass_ms`` (over 1, 2, … positions), ``longest_ms``: times in milliseconds
    (3). ``small``, ``big``: two drafts, each [a, c] (4). ``traffic``: pairs [share of the text, a], and
    ``c``: a draft step in target steps (5). Lists, no tuples, as the functions get them when they are graded.
    """

    log: list
    rates: list
    draft_ms: float
    pass_ms: list
    longest_ms: float
    small: list
    big: list
    traffic: list
    c: float

    def __repr__(self):
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        shown["log"] = f"{len(self.log)} passes, {self.log[:3]} …"
        return "\n".join(f"{name:12} {value}" for name, value in shown.items())


def numbers(student_id):
    """The numbers of this student, always the same; practice numbers without a usable id.

    >>> mine = numbers("ada")
    >>> len(mine.rates), len(mine.pass_ms), len(mine.log)
    (8, 9, 300)
    >>> mine == numbers(" Ada "), mine == numbers("bob42")
    (True, False)
    """
    rng = personal.generator("hw2_speedup", student_id)
    rates = _falling(rng.choice([0.90, 0.92, 0.94]), rng.choice([0.01, 0.02]), 8)
    draft_ms, pass_ms, longest_ms = _times(rng)
    a_small, a_big, *prices = _DRAFTS[rng.integers(len(_DRAFTS))]
    share = rng.choice([0.3, 0.4, 0.5, 0.6])
    code, chat, c = _TRAFFIC[rng.integers(len(_TRAFFIC))]
    return Numbers(
        rates=rates,
        draft_ms=draft_ms, pass_ms=pass_ms, longest_ms=longest_ms,
        small=[a_small, float(rng.choice([0.002, 0.003, 0.004, 0.005]))],
        big=[a_big, float(rng.choice(prices))],
        traffic=[[float(share), code], [round(1 - float(share), 1), chat]],
        c=c,
        log=_log(rng),
    )


def _falling(first, drop, k):
    return [round(float(first - drop * place), 2) for place in range(k)]


def _times(rng):
    group, jump, slope, draft, fitting = _PRICES[rng.integers(len(_PRICES))]
    step = float(rng.choice([20, 25, 30, 40]))
    pass_ms = [round(step * (1 + slope * n + jump * (n // group)), 1) for n in range(9)]
    draft_ms, most = round(step * draft, 1), int(rng.choice(fitting))
    room = most * draft_ms + pass_ms[most]
    return draft_ms, pass_ms, (int(2 * room) + 1) / 2  # the next half millisecond, before one more fits


def _log(rng):
    """Passes [drafted, accepted]; about a third are cut short, whatever the text."""
    rates = _falling(rng.choice([0.86, 0.88, 0.90, 0.92]), rng.choice([0.05, 0.06, 0.07]), LONGEST_DRAFT)
    drafted = np.where(rng.random(ROUNDS) < 0.35, rng.integers(LONGEST_DRAFT, size=ROUNDS), LONGEST_DRAFT)
    kept = np.cumprod(rng.random((ROUNDS, LONGEST_DRAFT)) < rates, axis=1).sum(axis=1)
    return np.transpose([drafted, np.minimum(kept, drafted)]).tolist()
