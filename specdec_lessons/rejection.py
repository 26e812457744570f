"""Speculative sampling at one position: keep the draft's token, or replace it, so that the token
that comes out is distributed exactly as the target wants.

``p`` is the target's distribution and ``q`` the draft's, both of shape (V,). (Chen et al. call
them the other way round.) The rule:

1. draw x from q;
2. accept it with probability min(1, p(x) / q(x));
3. if it was rejected, draw the token from the residual, normalize(max(0, p − q)).

Sources: Leviathan et al., arXiv 2211.17192, section 2.3 and appendix A.1; Chen et al.,
arXiv 2302.01318, Algorithm 2 and Theorem 1.
"""

import numpy as np

from specdec_lessons import _checks


def acceptance_probability(p, q):
    """Probability that a token drawn from q is accepted: Σ min(p, q) = 1 − total variation.

    ``p``, ``q``: distributions of shape (V,). Returns a float in [0, 1]. ValueError if either is not
    a distribution or their lengths differ.

    Source: Leviathan et al., Theorem 3.5.

    >>> round(acceptance_probability([0.6, 0.4], [0.8, 0.2]), 6)
    0.8
    """
    p, q = _checks.pair(p, q)
    return min(1.0, float(np.minimum(p, q).sum()))


def accept_ratios(p, q):
    """For each token the probability of accepting it once drafted: min(1, p/q).

    Returns shape (V,); nan where q = 0, since such a token cannot be drafted.

    >>> accept_ratios([0.6, 0.4, 0.0], [0.8, 0.2, 0.0])
    array([0.75, 1.  ,  nan])
    """
    p, q = _checks.pair(p, q)
    return _ratios(p, q)


def _ratios(p, q):
    ratios = np.full(p.shape, np.nan)
    np.divide(np.minimum(p, q), q, out=ratios, where=q > 0)
    return ratios


def residual(p, q):
    """The distribution of the token that replaces a rejected draft: normalize(max(0, p − q)).

    Returns shape (V,), never nan. Where p = q nothing is left over, and nothing is ever rejected
    either; then p itself is returned.

    Source: Leviathan et al., section 2.3; Chen et al., equation (2).

    >>> residual([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    array([1., 0., 0.])
    """
    p, q = _checks.pair(p, q)
    return _residual(p, q)


def _residual(p, q):
    left_over = np.maximum(0.0, p - q)
    total = left_over.sum()
    return left_over / total if total > 0 else p


def tokens_at(uniforms, p):
    """The tokens at which uniform numbers from [0, 1) land when [0, 1) is split in pieces of length p.

    ``uniforms`` of any shape; returns ints of the same shape. A token of probability 0 has a piece
    of length 0 and never comes out.

    >>> tokens_at([0.0, 0.4, 0.99], [0.3, 0.0, 0.7])
    array([0, 2, 2])
    """
    uniforms = _checks.probability("uniforms", uniforms)
    if uniforms.size and uniforms.max() == 1:
        raise ValueError("uniforms must lie in [0, 1), got 1")
    return _checks.scalar_or_array(_tokens_at(uniforms, _checks.distribution("p", p)))


def _tokens_at(uniforms, p):
    edges = cumulative(p)
    if edges.size > 16:
        return _edges_passed(edges, np.asarray(uniforms))
    tokens = np.zeros(np.shape(uniforms), dtype=np.int64)
    for edge in edges[:-1]:  # few tokens: counting the edges passed is faster than a binary search
        tokens += uniforms >= edge
    return tokens


def _edges_passed(edges, uniforms):
    """``searchsorted(edges, uniforms, "right")``, faster for many: a table of equal bins guesses first."""
    bins = 1 << (8 * edges.size).bit_length()  # a power of two, so that the left ends of the bins are exact
    if uniforms.size < bins:
        return np.searchsorted(edges, uniforms, side="right")
    passed_by_bin = np.searchsorted(edges, np.arange(bins) / bins, side="right")
    tokens = passed_by_bin[(uniforms * bins).astype(np.int64)]
    short = np.nonzero(edges[tokens] <= uniforms)  # an edge lies inside the bin, left of the uniform
    tokens[short] = np.searchsorted(edges, uniforms[short], side="right")
    return tokens


def cumulative(p):
    """Running sums of p whose last entry is exactly 1, the right edges of the pieces of [0, 1)."""
    edges = np.cumsum(_checks.numbers("p", p))
    if not (edges.size and abs(edges[-1] - 1) <= _checks.SUM_TOLERANCE):
        raise ValueError(f"p must be a distribution of shape (V,) with sum 1, got {_checks.short(p)}")
    return edges / edges[-1]


def draw(p, q, rng, size=None):
    """Draw tokens by the rule above; each is distributed exactly as p.

    ``rng`` is a numpy ``Generator``; ``size`` is None for one draw, or an int or a shape. Returns
    ``(tokens, accepted)``: ints and bools of that shape (a plain int and bool for one draw). The
    three random choices of a draw (token, coin, replacement) use three separate uniform numbers.

    >>> tokens, accepted = draw([0.6, 0.4], [0.8, 0.2], np.random.default_rng(0), size=100_000)
    >>> round(float((tokens == 0).mean()), 2), round(float(accepted.mean()), 2)
    (0.6, 0.8)
    """
    p, q = _checks.pair(p, q)
    rng = _checks.generator(rng)
    shape = _checks.shape("size", size)
    tokens = np.asarray(_tokens_at(rng.random(shape), q))
    accepted = np.asarray(rng.random(shape) < _ratios(p, q)[tokens])  # strict: p(x) = 0 is never accepted
    rejected = np.flatnonzero(~accepted)
    tokens.reshape(-1)[rejected] = _tokens_at(rng.random(rejected.size), _residual(p, q))
    return (int(tokens), bool(accepted)) if size is None else (tokens, accepted)


def output_distribution(p, q):
    """The exact law of the tokens that :func:`draw` returns, computed from the rule step by step.

    q(x) min(1, p(x)/q(x)), plus the rejection probability times the residual. That this equals p is
    the theorem of the method; the function does not assume it.

    >>> output_distribution([0.6, 0.4], [0.8, 0.2])
    array([0.6, 0.4])
    """
    p, q = _checks.pair(p, q)
    kept = q * np.nan_to_num(_ratios(p, q))
    rejected = (q - kept).sum()
    return kept + rejected * _residual(p, q)
