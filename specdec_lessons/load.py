"""Speculation under load: what batch and context do to the pass, the draft, the best k and the speedup.

Everything here follows from the roofline of ``cost`` and the closed forms of ``formulas``. It is the speed of
each sequence, drafts and passes taking turns; scheduling, sampling and communication are left out.
"""

from typing import NamedTuple

import numpy as np

from specdec_lessons import _checks, cost, formulas

K_MAX = 16


class LoadPoint(NamedTuple):
    """One load: draft cost c, pass costs v[0..k_max] (v[k] over k + 1 positions), best k and its speedup."""

    c: float
    v: np.ndarray
    best_k: int
    speedup: float


def draft_cost(draft, target, hardware, batch=1, context=0):
    """c: one step of the draft in steps of the target, both at this batch and context. A plain float.

    With a long cache c is no longer the ratio of the weights: both caches are read too.

    >>> draft, target = cost.MODELS["Llama-3.2-1B"], cost.MODELS["Llama-3.1-8B"]
    >>> round(draft_cost(draft, target, cost.HARDWARE["A100 80GB SXM"]), 3)
    0.154
    """
    own, plain = (cost.decode_step(model, hardware, batch, context).seconds for model in (draft, target))
    return own / plain


def pass_costs(target, hardware, batch=1, context=0, k_max=K_MAX):
    """v[0], …, v[k_max]: the cost of a pass over k + 1 positions in plain steps at the same load.

    >>> a100 = cost.HARDWARE["A100 80GB SXM"]
    >>> pass_costs(cost.MODELS["7B"], a100, batch=64, k_max=3).round(2).tolist()
    [1.0, 1.0, 1.25, 1.67]
    """
    k_max = _checks.single_count("k_max", k_max)
    return np.atleast_1d(cost.verify_cost(target, hardware, np.arange(1, k_max + 2), batch, context))


def at_load(a, target, hardware, batch=1, context=0, draft=None, c=None, k_max=K_MAX):
    """The best draft length and its speedup at one load -> :class:`LoadPoint`.

    Give the ``draft`` model, whose cost then follows the load, or its cost ``c`` as a number. ValueError for
    both or neither.

    >>> a100, models = cost.HARDWARE["A100 80GB SXM"], cost.MODELS
    >>> for batch in (1, 64, 128, 192):
    ...     point = at_load(0.7, models["Llama-3.1-8B"], a100, batch, 256, models["Llama-3.2-1B"])
    ...     print(batch, point.best_k, round(point.speedup, 2))
    1 3 1.73
    64 2 1.51
    128 1 1.13
    192 0 1.0
    """
    if (draft is None) == (c is None):
        raise ValueError(
            "draft and c must not both be given or both be missing, "
            f"got draft={_checks.short(draft)} and c={_checks.short(c)}"
        )
    if c is None:
        c = draft_cost(draft, target, hardware, batch, context)
    v = pass_costs(target, hardware, batch, context, k_max)
    best = formulas.best_draft_length(a, c, k_max, v)
    return LoadPoint(float(c), v, best, formulas.speedup(a, best, c, v[best]))


def last_batch_that_pays(a, target, hardware, context=0, draft=None, c=None, k=None, at_most=4096):
    """The largest batch up to which every batch gains from speculation; ``at_most`` if all do, 0 if none.

    With ``k`` it is kept at this length; without, the best length is chosen anew at each batch.

    >>> a100, models = cost.HARDWARE["A100 80GB SXM"], cost.MODELS
    >>> last_batch_that_pays(0.7, models["Llama-3.1-8B"], a100, 256, models["Llama-3.2-1B"])
    152
    """
    at_most = _checks.single_count("at_most", at_most, at_least=1)
    k_max = K_MAX if k is None else _checks.single_count("k", k, at_least=1)

    def pays(batch):
        point = at_load(a, target, hardware, batch, context, draft, c, k_max)
        return (
            point.best_k > 0 if k is None else formulas.speedup(a, k, point.c, point.v[k]) > 1 + formulas.TIE
        )

    low, high = 0, at_most + 1  # the gain only shrinks as the batch grows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low
