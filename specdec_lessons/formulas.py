"""Closed forms of the i.i.d. model of speculative decoding.

The model: every drafted token is accepted with the same probability ``a``, independently of the
others. A pass drafts ``k`` tokens, checks them at once, keeps the accepted ones up to the first
rejection and adds one token of the target's own.

``a`` acceptance rate (α in Leviathan et al.), ``k`` draft length (γ there), ``c`` cost of one draft
step in target steps. Every function takes scalars or arrays and broadcasts; scalars give plain floats.

Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding",
arXiv 2211.17192, section 3.
"""

import numpy as np
from scipy.optimize import elementwise

from specdec_lessons import _checks

TIE = 1e-12  # speedups closer than this, relatively, count as equal


def _tokens(a, k):
    """(1 − a^(k+1)) / (1 − a) without cancellation; k + 1 at a = 1."""
    miss = 1.0 - a
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = -np.expm1((k + 1) * np.log1p(-miss)) / miss
    return np.where(miss == 0, k + 1.0, quotient)


def expected_tokens(a, k):
    """Expected number of tokens that one verify pass yields, E = (1 − a^(k+1)) / (1 − a).

    ``a`` in [0, 1], ``k`` whole numbers ≥ 0; both broadcast. E counts the accepted drafts and the
    one token that every pass adds (correction or bonus), so it lies between 1 and k + 1. At a = 1 it
    is k + 1; close to 1 it keeps full accuracy. ValueError for anything out of range.

    Source: Leviathan et al., section 3.1, equation (1).

    >>> round(expected_tokens(0.8, 4), 4)
    3.3616
    >>> expected_tokens([0.0, 1.0], 4)
    array([1., 5.])
    """
    a, k = _checks.broadcast(a=_checks.probability("a", a), k=_checks.count("k", k))
    return _checks.scalar_or_array(_tokens(a, k))


def tokens_per_pass_pmf(a, k):
    """Probability that one pass yields 1, 2, …, k + 1 tokens: a truncated geometric law.

    ``a`` and ``k`` as in :func:`expected_tokens`. Returns shape (…, k + 1); where ``k`` is an array
    the last axis is as long as its largest value needs, and impossible counts have probability 0.

    >>> tokens_per_pass_pmf(0.5, 2)
    array([0.5 , 0.25, 0.25])
    """
    a, k = _checks.probability("a", a), _checks.count("k", k)
    accepted = np.arange(k.max(initial=0) + 1)
    a, k = _checks.broadcast(a=a, k=k)
    a, k = a[..., None], k[..., None]
    stops_here = np.where(accepted < k, 1.0 - a, 1.0)
    return np.where(accepted <= k, a**accepted * stops_here, 0.0)


def speedup(a, k, c, verify_cost=1.0):
    """Speedup over plain decoding, S = E / (v + k c), in the i.i.d. model.

    ``c`` ≥ 0 is the cost of one draft step and ``verify_cost`` v > 0 that of one pass over k + 1
    positions, both in plain target steps; v = 1 is the usual assumption that a pass costs one step.

    Source: Leviathan et al., Theorem 3.8 (there v = 1).

    >>> round(speedup(0.8, 4, 0.1), 2)
    2.4
    >>> round(speedup(0.8, 5, 0.05, verify_cost=2), 2)
    1.64
    """
    a, k = _checks.probability("a", a), _checks.count("k", k)
    c, verify_cost = _checks.non_negative("c", c), _checks.positive("verify_cost", verify_cost)
    a, k, c, verify_cost = _checks.broadcast(a=a, k=k, c=c, verify_cost=verify_cost)
    return _checks.scalar_or_array(_tokens(a, k) / (verify_cost + k * c))


def best_draft_length(a, c, k_max=64, verify_cost=1.0):
    """The draft length in 0..k_max with the largest speedup; ties go to the smaller one.

    0 means: do not speculate, which is plain decoding at speedup 1. ``verify_cost`` is one number, the cost
    of a pass with drafts in plain steps, or a sequence v[0], …, v[k_max] where v[k] is the cost of a pass
    over k + 1 positions. ``a`` and ``c`` broadcast; the result is an int, or an array of ints. A free draft
    (c = 0, v = 1, a > 0) has no finite best, so it gives k_max.

    With constant v the next draft pays exactly while a^(k+1) (v + k c) > c E(k): what it would add
    to the numerator against what it adds to the denominator.

    >>> best_draft_length(0.8, 0.1)
    6
    >>> best_draft_length([0.5, 0.7], 0.5)
    array([0, 1])
    >>> best_draft_length(0.5, 0.1, verify_cost=3)
    0
    """
    a, c = _checks.broadcast(a=_checks.probability("a", a), c=_checks.non_negative("c", c))
    k_max = _checks.single_count("k_max", k_max)
    v = _checks.positive("verify_cost", verify_cost)
    if v.ndim not in (0, 1) or (v.ndim == 1 and v.size != k_max + 1):
        raise ValueError(f"verify_cost must be one number or k_max + 1 = {k_max + 1} of them, "
                         f"got shape {v.shape}")
    v = v if v.ndim else np.where(np.arange(k_max + 1) == 0, 1.0, v)

    best = np.zeros(a.shape, dtype=np.int64)
    for k in range(1, k_max + 1):
        # S(k) > S(best), written with differences so that nothing cancels
        more_tokens = a ** (best + 1) * _tokens(a, k - best - 1)
        more_cost = (v[k] - v[best]) + (k - best) * c
        gain, price = more_tokens * (v[best] + best * c), more_cost * _tokens(a, best)
        better = (gain > price + TIE * np.abs(price)) | ((more_cost <= 0) & (a > 0))  # a^k may underflow
        best = np.where(better, k, best)
    return _checks.scalar_or_array(best)


def break_even_acceptance(k, c):
    """The acceptance rate at which speculation costs as much as it brings: speedup = 1.

    Solves E(a, k) = 1 + k c. Returns nan where no a in [0, 1] does, which is c > 1; for k = 0, where
    every a breaks even, returns 0. For k = 1 it is c itself.

    >>> round(break_even_acceptance(1, 0.3), 6)
    0.3
    >>> break_even_acceptance(4, 1.5)
    nan
    """
    k, c = _checks.broadcast(k=_checks.count("k", k), c=_checks.non_negative("c", c))
    return _checks.scalar_or_array(_rate_for_surplus(k * c, k))


def acceptance_for_tokens(tokens_per_pass, k):
    """The acceptance rate at which one pass yields this many tokens: the inverse of ``expected_tokens``.

    ``tokens_per_pass`` and ``k`` broadcast. Returns nan where no a in [0, 1] gives it (below 1 or above
    k + 1); for k = 0, where every a gives 1, returns 0.

    >>> round(acceptance_for_tokens(3.3616, 4), 6)
    0.8
    """
    tokens = _checks.non_negative("tokens_per_pass", tokens_per_pass)
    tokens, k = _checks.broadcast(tokens_per_pass=tokens, k=_checks.count("k", k))
    return _checks.scalar_or_array(_rate_for_surplus(tokens - 1.0, k))


def _rate_for_surplus(surplus, k):
    """Solve a + a² + … + a^k = surplus for a in [0, 1]; nan where there is no solution."""
    rate = np.where((surplus < 0) | (surplus > k), np.nan, np.where(surplus == k, 1.0, 0.0))
    rate = np.where((k == 0) & (surplus == 0), 0.0, rate)
    inside = (surplus > 0) & (surplus < k)
    if inside.any():
        wanted, k = surplus[inside], k[inside].astype(float)
        # surplus / k ≤ a ≤ surplus, since a ≤ a + … + a^k ≤ k a
        bracket = wanted / k, np.minimum(wanted, 1.0)
        solved = elementwise.find_root(lambda a, s, k: a * _tokens(a, k - 1) - s, bracket, args=(wanted, k))
        rate[inside] = np.where(bracket[0] == bracket[1], bracket[0], solved.x)
    return rate


def expected_wasted_drafts(a, k):
    """Expected number of the k drafts of a pass that are thrown away, k + 1 − E.

    Draft i is thrown away unless the first i are all accepted: probability 1 − a^i.

    >>> round(expected_wasted_drafts(0.8, 4), 4)
    1.6384
    """
    a, k = _checks.broadcast(a=_checks.probability("a", a), k=_checks.count("k", k))
    with np.errstate(divide="ignore"):
        log_a = np.log1p(-(1.0 - a))

    def one_of_the_first(n):  # at least one rejected: 1 − a^n
        return -np.expm1(np.where(n > 0, n, 1) * log_a) * (n > 0)

    wasted, n = np.zeros(a.shape), np.zeros(a.shape, dtype=np.int64)
    for bit in reversed(range(int(k.max(initial=0)).bit_length())):  # n runs through the leading bits of k
        wasted, n = wasted * (1 + a**n) + n * one_of_the_first(n), 2 * n + (k >> bit & 1)
        wasted += (n & 1) * one_of_the_first(n)
    return _checks.scalar_or_array(wasted)


def operations_factor(a, k, c_hat):
    """Arithmetic per token against plain decoding, (k ĉ + k + 1) / E.

    ``c_hat`` ≥ 0 is the arithmetic of one draft step in target steps (not its time, which is c).

    Source: Leviathan et al., Theorem 3.11.

    >>> round(operations_factor(0.8, 5, 0.0), 2)
    1.63
    """
    a, k = _checks.probability("a", a), _checks.count("k", k)
    a, k, c_hat = _checks.broadcast(a=a, k=k, c_hat=_checks.non_negative("c_hat", c_hat))
    return _checks.scalar_or_array((k * c_hat + k + 1) / _tokens(a, k))
