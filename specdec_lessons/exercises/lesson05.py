"""Exercises of lesson 5: one position of speculative sampling, piece by piece."""

import numpy as np

from specdec_lessons import rejection
from specdec_lessons.decoding import accept_ratio, token_at
from specdec_lessons.exercises.kit import Exercise, Misconception


def _arrays(*rows):
    return tuple(np.array(row, dtype=float) for row in rows)


# -- the chance of keeping one token ----------------------------------------------------------------

def _accept_probability(p_x, q_x):
    return min(1.0, p_x / q_x)


accept_probability = Exercise(
    title="Keep it?",
    statement="The draft proposed a token that has probability p_x under the target and q_x > 0 under "
              "the draft. Return the probability with which it is accepted.",
    stub="def my_accept_probability(p_x, q_x):\n    ...  # your code",
    reference=_accept_probability,
    cases=((0.6, 0.8), (0.4, 0.2), (0.3, 0.3), (0.0, 0.5), (0.05, 0.5)),
    hints=(
        "The draft proposes the token with probability q_x. It may come out in this way with p_x at most.",
        "So q_x times your answer must be the smaller of q_x and p_x.",
        "Divide by q_x: min(q_x, p_x) / q_x.",
    ),
    solution_code="def my_accept_probability(p_x, q_x):\n    return min(1, p_x / q_x)",
    misconceptions=(
        Misconception(
            lambda p_x, q_x: p_x / q_x,
            "A probability is at most 1. A token that the target likes more than the draft is always kept."),
        Misconception(
            lambda p_x, q_x: min(1.0, q_x / p_x) if p_x else 1.0,
            "That is q over p. Too frequent tokens are those with q above p: they must be thinned out."),
        Misconception(
            lambda p_x, q_x: float(q_x <= p_x),
            "That accepts only if q ≤ p, without a coin: a token with q above p would never be kept."),
        Misconception(
            lambda p_x, q_x: p_x,
            "The token was drafted with probability q_x already: divide by it, or it is thinned out twice."),
        Misconception(
            lambda p_x, q_x: min(p_x, q_x),
            "That is the probability that it is drafted and kept. Given that it was drafted, divide by q_x."),
    ),
)


# -- the residual -----------------------------------------------------------------------------------

def _positive_part(p, q):
    return np.maximum(0.0, p - q)


def _unguarded(p, q):
    with np.errstate(invalid="ignore"):
        return _positive_part(p, q) / _positive_part(p, q).sum()


def _absolute(p, q, nothing_left):
    gap = np.abs(p - q)
    return gap / gap.sum() if gap.sum() > 0 else nothing_left


def _surplus(p, q, nothing_left):
    gap = np.maximum(0.0, q - p)
    return gap / gap.sum() if gap.sum() > 0 else nothing_left


def _with_or_without_guard(function, message):
    """The same mistake by those who treat p = q apart and by those who get 0/0 there."""
    return (Misconception(lambda p, q: function(p, q, p), message),
            Misconception(lambda p, q: function(p, q, np.full(p.size, np.nan)), message))


residual = Exercise(
    title="Fill the gap",
    statement="Return the residual of p and q, both arrays of shape (V,): the distribution that a rejected "
              "token is replaced from. Where p = q nothing is left over: return p.",
    stub="def my_residual(p, q):\n    ...  # your code",
    reference=rejection.residual,
    cases=(_arrays([0.6, 0.4], [0.8, 0.2]), _arrays([0.25, 0.25, 0.5], [0.75, 0.125, 0.125]),
           _arrays([0.5, 0.3, 0.2, 0.0], [0.2, 0.2, 0.2, 0.4]), _arrays([0.0, 1.0], [1.0, 0.0]),
           _arrays([0.5, 0.5], [0.5, 0.5])),
    hints=(
        "Which tokens does the kept part leave short of p, and by how much each?",
        "np.maximum(0, p - q) is the shortage. It sums to the probability of a rejection, not to 1.",
        "Divide by its sum; if the sum is 0, return p.",
    ),
    solution_code="def my_residual(p, q):\n    short = np.maximum(0, p - q)\n"
                  "    return short / short.sum() if short.sum() > 0 else p",
    misconceptions=(
        Misconception(
            lambda p, q: p,
            "That resamples from p: tokens that were drafted too often get a second chance."),
        Misconception(
            _positive_part,
            "Right shape, but it must sum to 1: divide by its sum."),
        Misconception(
            lambda p, q: np.abs(p - q),
            "Take only where p is above q (max(0, p − q), not |p − q|), and divide by the sum."),
        *_with_or_without_guard(
            _absolute, "|p − q| also hands out tokens that the draft proposes too often already."),
        *_with_or_without_guard(
            _surplus, "That is the surplus of q, what was thrown away. Fill in what p still lacks."),
        Misconception(
            lambda p, q: p - q,
            "Negative entries are no probabilities: max(0, p − q), over its sum."),
        Misconception(
            _unguarded,
            "All right but for p = q, where nothing is left over and 0/0 is nan: return p there."),
    ),
)


# -- how often a draft is kept ----------------------------------------------------------------------

acceptance_rate = Exercise(
    title="How often?",
    statement="Return the probability that a token drawn from q is accepted; "
              "p and q are arrays of shape (V,), q > 0.",
    stub="def my_acceptance_rate(p, q):\n    ...  # your code",
    reference=rejection.acceptance_probability,
    cases=(_arrays([0.6, 0.4], [0.8, 0.2]), _arrays([0.25, 0.25, 0.5], [0.75, 0.125, 0.125]),
           _arrays([0.5, 0.5], [0.5, 0.5]), _arrays([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])),
    hints=(
        "Token x is drafted with probability q(x) and then accepted with probability min(1, p(x)/q(x)).",
        "Multiply the two and sum over the tokens.",
        "q · min(1, p/q) = min(q, p): np.minimum(p, q).sum().",
    ),
    solution_code="def my_acceptance_rate(p, q):\n    return np.minimum(p, q).sum()",
    misconceptions=(
        Misconception(
            lambda p, q: 1 - np.abs(p - q).sum(),
            "Σ|p − q| counts every difference twice, as too much and as too little: take half of it."),
        Misconception(
            lambda p, q: np.minimum(1, p / q).mean(),
            "That weighs all tokens alike. The draft proposes token x with probability q(x): weigh by q."),
        Misconception(
            lambda p, q: (p * np.minimum(1, p / q)).sum(),
            "The token was drawn from q, so weigh the chances by q, not by p."),
        Misconception(
            lambda p, q: (p * q).sum(),
            "That is the chance that two independent draws agree. Here there is one draw, and a coin."),
        Misconception(
            lambda p, q: 1 - np.abs(p - q).max(),
            "Several tokens can be drafted too often: add their surpluses, not only the largest."),
        Misconception(
            lambda p, q: np.abs(p - q).sum() / 2,
            "That is the total variation, the probability of a rejection. You want the other one."),
    ),
)


# -- one position -----------------------------------------------------------------------------------

def _one_position(p, q, x, coin, u):
    return x if coin < accept_ratio(x, p, q) else token_at(u, rejection.residual(p, q))


_PAIR = _arrays([0.25, 0.25, 0.5], [0.75, 0.125, 0.125])
_GONE = _arrays([0.0, 0.5, 0.5], [0.5, 0.5, 0.0])

one_position = Exercise(
    title="One position",
    statement="The draft drew token x from q. With the number `coin` decide whether it is accepted; if not, "
              "`token_at(u, …)` draws a token with the number u. Return the token that comes out. p and q "
              "are arrays of shape (V,); coin and u lie in [0, 1).",
    stub="def my_one_position(p, q, x, coin, u):\n    ...  # your code",
    reference=_one_position,
    cases=((*_PAIR, 0, 0.2, 0.1), (*_PAIR, 0, 0.6, 0.1), (*_PAIR, 1, 0.9, 0.6), (*_PAIR, 0, 0.34, 0.9),
           (*_PAIR, 2, 0.0, 0.2), (*_PAIR, 0, 0.5, 0.3), (*_GONE, 0, 0.0, 0.4)),
    hints=(
        "First the coin: accepted means coin < p[x] / q[x].",
        "Rejected: the token comes from residual(p, q), at a second number.",
        "x if coin < p[x] / q[x] else token_at(u, residual(p, q)). A coin can be exactly 0, so < and not <=.",
    ),
    solution_code="def my_one_position(p, q, x, coin, u):\n    if coin < p[x] / q[x]:\n        return x\n"
                  "    return token_at(u, residual(p, q))",
    misconceptions=(
        Misconception(
            lambda p, q, x, coin, u: x if coin < p[x] / q[x] else token_at(u, p),
            "A rejected token is replaced from the residual, not from p."),
        Misconception(
            lambda p, q, x, coin, u: x if coin < p[x] / q[x] else token_at(coin, rejection.residual(p, q)),
            "The coin is used up: given a rejection it is never small. Take u for the replacement."),
        Misconception(
            lambda p, q, x, coin, u: x if coin <= p[x] / q[x] else token_at(u, rejection.residual(p, q)),
            "A token with p(x) = 0 must never come out, and a coin can be exactly 0: use a strict <."),
        Misconception(
            lambda p, q, x, coin, u: x if q[x] <= p[x] else token_at(u, rejection.residual(p, q)),
            "You did not use the coin: a token with q above p is kept with probability p/q, not never."),
        Misconception(
            lambda p, q, x, coin, u: x if coin < p[x] else token_at(u, rejection.residual(p, q)),
            "Compare the coin with p(x)/q(x): the draft's draw has thinned the token out once already."),
        Misconception(
            lambda p, q, x, coin, u: x,
            "Keeping every draft puts out q. Let the coin decide."),
    ),
)
