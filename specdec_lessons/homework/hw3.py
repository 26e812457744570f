"""Homework 3, exact rejection sampling: a student's own tables, log and proposals."""

from dataclasses import dataclass
from textwrap import fill

import numpy as np

from specdec_lessons.decoding import token_at
from specdec_lessons.homework import checks, personal

ASSIGNMENT = "hw3_rejection_sampling"
V = 4  # tokens of the small vocabulary, 0 to 3
K = 3  # drafts a round of the log
LETTERS = "ABCDEF"

FAULTS = {
    "from p": "A rejected draft is replaced by a draw, at u, from the target's row p.",
    "coin again": "A rejected draft is replaced by a draw from the residual, but at the place of the coin "
                  "that has just rejected it; u is not used.",
    "undivided": "A draft x is kept if its coin is below p(x).",
    "no coin": "A draft x is kept if q(x) ≤ p(x), whatever its coin says.",
    "surplus": "A rejected draft is replaced by a draw, at u, from max(0, q − p) divided by its sum.",
}

PROPOSALS = {
    "cut draft": "Drafts are drawn from the draft's row cut to its {m} likeliest tokens (divided by their "
                 "sum). The rule is given that cut row as q.",
    "cool draft": "Drafts are drawn from the draft's row at temperature {t}. As q, the rule is given the "
                  "draft's row at temperature 1.",
    "no bonus": "If all k drafts of a round are kept, nothing is added to them. The next round begins "
                "behind the last draft. A rejected draft is replaced as always.",
    "draft's bonus": "If all k drafts of a round are kept, the bonus is drawn from what the draft model "
                     "says at that place; so the target's pass can be one position shorter.",
    "cut target": "The target's rows are cut to their {m} likeliest tokens (divided by their sum), and the "
                  "rule is given the cut rows as p. The draft's rows stay as they are.",
    "favourite": "A draft that is the target's own favourite at its place (the largest p of the row) is "
                 "kept without a coin.",
}

# Recorded runs: the seed of a run's tables, drafts and numbers, and what the engine emitted, round by round.
_LOGS = (
    (5098, "3113 1232 2 2212 001 3 3321 3"), (42667, "0 3 1 20 203 212 0321 3"),
    (14296, "1213 3230 12 3 3 3 33 23"), (21737, "01 0 1 301 3 1 31 1013"), (17282, "3 32 1 2 3312 3 11 1"),
    (11676, "0000 00 13 100 1212 0310 13 13"), (60847, "0 3 3320 3 0 01 3 2"),
    (34652, "1 31 2 02 0132 2 03 0"), (10967, "3 23 3 1031 2 1112 1 121"), (11880, "2 22 31 02 2 2 2 2222"),
    (10441, "3011 3 01 303 0133 01 3111 132"), (1729, "0 1 3 0 2 13 0 1033"),
    (51090, "1 0 3 3322 0 3 31 20"), (15713, "233 22 2211 203 3 3 3112 11"),
    (17795, "11 0213 302 22 2 20 2 22"), (19232, "10 233 23 0232 3032 1 0020 23"),
    (34748, "0 3 31 0 3 1 0 3310"), (81768, "2 01 2 2 1 2 3232 12"), (43388, "2 32 0 2 0 2 3333 3"),
    (39608, "11 1 1 1 1 2311 32 0"), (18937, "1002 2 3 3 233 3 3 03"), (34815, "21 21 3301 013 1 2 22 231"),
    (10002, "1110 1 0 2 2 10 23 1002"), (42712, "22 2 0001 01 10 1 0 1"),
    (72579, "1103 3 3101 33 11 1 0311 1"), (14322, "1 0 13 32 3032 10 10 11"),
    (2207, "011 3 33 3 33 230 2 3102"), (1763, "333 310 22 02 212 12 312 0332"),
    (57479, "23 1010 2 3 0122 1 3 3122"), (18645, "11 3 3000 0 22 0023 1000 21"),
    (59804, "2 0 11 0 1010 11 10 10"), (52081, "02 02 1233 1 20 2 02 02"),
    (38433, "21 10 21 0132 1 1 30 2220"), (8133, "3323 233 3 022 2 10 131 2"),
    (3418, "21 110 110 1 10 0111 0 1"), (4614, "302 2211 11 2 1013 0300 0 3"),
    (3737, "1 01 0 3333 3 21 01 3"), (41783, "2 02 3 3 3 3133 3 02"), (11585, "1 21 31 2 2011 2 1 2"),
    (27644, "12 0 1230 0 00 0 13 1"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Numbers:
    """One student's tables, log, faults, number of chances and proposals.

    ``target`` and ``draft``: arrays of shape (V, V), row x is the law of the token behind token x. ``log``: a
    list of dicts, one a round. ``chances``: a number of drafts. ``faults`` and ``proposals``: letter -> text.
    """

    target: np.ndarray
    draft: np.ndarray
    log: list
    faults: dict
    chances: int
    proposals: dict

    def __repr__(self):
        rounds = "\n".join(_line(number, one) for number, one in enumerate(self.log, start=1))
        return (f"target = mine.target, row x: what comes behind token x\n{self.target}\n"
                f"draft = mine.draft\n{self.draft}\n"
                f"mine.chances = {self.chances}\n"
                f"mine.log, {len(self.log)} rounds:\n{rounds}\n"
                f"mine.faults:\n{lines(self.faults)}")


def numbers(student_id):
    """The numbers of the student with this id; practice numbers where it is no id.

    >>> mine = numbers("ada")
    >>> mine.target.shape, sorted(mine.log[0]), list(mine.faults)
    ((4, 4), ['behind', 'coins', 'drafts', 'emitted', 'u'], ['A', 'B', 'C', 'D', 'E'])
    """
    rng = personal.generator(ASSIGNMENT, student_id)
    target, draft, log = recorded(*_LOGS[rng.integers(len(_LOGS))])
    m, t = int(rng.integers(2, 9)) * 5, float(rng.choice([0.5, 0.6, 0.7, 0.8]))
    return Numbers(
        target=target, draft=draft, log=log, faults=_shuffled(FAULTS, rng),
        chances=int(rng.integers(3, 7)),
        proposals={letter: text.format(m=m, t=t) for letter, text in _shuffled(PROPOSALS, rng).items()})


def lines(texts):
    """letter -> text as lines to print, short enough for a narrow page.

    >>> print(lines({"A": "All drafts are kept."}))
      A  All drafts are kept.
    """
    return "\n".join(fill(f"  {letter}  {text}", 85, subsequent_indent="     ")
                     for letter, text in texts.items())


def require_verdicts(verdicts, student_id, *words):
    """The student's proposals with such words in them must have verdicts, each one of the three words.

    >>> require_verdicts({}, "ada", "If all k drafts")
    Traceback (most recent call last):
    ...
    AssertionError: verdicts: not attempted yet for C and D.
    """
    proposals = numbers(student_id).proposals
    checks.true("verdicts is a dict", isinstance(verdicts, dict))
    letters = [letter for letter, text in proposals.items() if any(one in text for one in words)]
    missing = " and ".join(letter for letter in letters if verdicts.get(letter) is None)
    strange = [key for key in verdicts if key not in proposals]
    if missing:
        raise AssertionError(f"verdicts: not attempted yet for {missing}."
                             + (f" But it has the keys {strange}." if strange else ""))
    for letter in letters:
        checks.true(f"verdict {letter} is 'exact', 'another' or 'draft'",
                    str(verdicts[letter]).strip().casefold() in ("exact", "another", "draft"),
                    hint=f"It is {verdicts[letter]!r}.")


def recorded(seed, emitted):
    """A recorded run -> target, draft, log. ``emitted``: the rounds' tokens as text, as "012 3 20"."""
    rng = np.random.default_rng(seed)
    target, draft, behind, log = _table(rng), _table(rng), int(V * rng.random()), []
    for tokens in emitted.split():
        drafts = []
        for place in rng.random(K):
            drafts.append(token_at(place, draft[drafts[-1] if drafts else behind]))
        *coins, u = (np.floor(1000 * rng.random(K + 1)) / 1000).tolist()
        log.append({"behind": behind, "drafts": drafts, "coins": coins, "u": u,
                    "emitted": [int(token) for token in tokens]})
        behind = log[-1]["emitted"][-1]
    return target, draft, log


def _table(rng):
    """V distributions of V tokens, all in steps of 0.05 and none below it."""
    cuts = np.sort(np.argsort(rng.random((V, 19)), axis=1)[:, :V - 1] + 1, axis=1)
    table = np.diff(cuts, prepend=0, append=20, axis=1) / 20
    table.flags.writeable = False
    return table


def _shuffled(texts, rng):
    """letter -> text, in an order of the generator's."""
    order = rng.permutation(len(texts))
    return {letter: list(texts.values())[index] for letter, index in zip(LETTERS, order)}


def _line(number, one):
    coins = ", ".join(f"{coin:.3f}" for coin in one["coins"])
    return (f"  round {number}: behind {one['behind']}  drafts {one['drafts']}  coins [{coins}]  "
            f"u {one['u']:.3f}  emitted {one['emitted']}")
