"""Numbers that others have published on speculative decoding, as they stand in papers and threads."""

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

KINDS = ("tokens", "predicted", "measured", "other")


@dataclass(frozen=True)
class Result:
    """One published number.

    ``source`` and ``where`` say in which document and table; ``kind`` is 'tokens' (tokens per pass),
    'predicted' (a speedup from a formula), 'measured' (a speedup from a clock) or 'other'; ``what`` names the
    case; ``a``, ``k`` and ``c`` are the acceptance rate, draft length and draft cost given with it (None
    where not given); ``value`` is the number itself.
    """

    source: str
    where: str
    kind: str
    what: str
    a: float | None
    k: int | None
    c: float | None
    value: float
    note: str = ""


def load(kind=None):
    """The published results, all or of one ``kind``, in the order of the file -> list of :class:`Result`.

    ValueError for a kind that is not one of 'tokens', 'predicted', 'measured' and 'other'.

    >>> first = load("tokens")[0]
    >>> first.source, first.where, first.a, first.k, first.value
    ('Leviathan et al. 2023', 'Table 1', 0.8, 5, 3.69)
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    results = [
        Result(row["source"], row["where"], row["kind"], row["what"], _number(row["acceptance_rate"]),
               _number(row["draft_length"], int), _number(row["cost_ratio"]), float(row["published"]),
               row["note"])
        for row in _rows("published_results.csv")
    ]
    return [result for result in results if kind in (None, result.kind)]


def pass_costs():
    """v(1), ..., v(17): what a pass over n positions was measured to cost, in passes over one -> shape (17,).

    The source prints the cost per token at batch n; a pass over n positions costs n times that. Entry k is
    the cost of a pass over k drafts, what ``formulas.best_draft_length`` takes as ``verify_cost``.

    Source: llama.cpp pull request 17034, description, the first 17 of 64 numbers.

    >>> pass_costs()[:3].round(3).tolist()
    [1.0, 1.21, 1.419]
    """
    return np.array([int(row["positions"]) * float(row["cost_per_token"]) for row in _rows("pass_costs.csv")])


def _rows(name):
    with files("specdec_lessons").joinpath("data", name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _number(text, kind=float):
    return kind(text) if text else None
