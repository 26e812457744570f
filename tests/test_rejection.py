"""One position: the paper's theorem as a property of random pairs, and the draw by chi-square."""

import math

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats

from specdec_lessons import rejection

FALSE_ALARM = 1e-9


# -- pairs of distributions -------------------------------------------------------------------------

def normalised(weights, dtype=np.float64):
    weights = np.asarray(weights, dtype=np.float64)
    return (weights / weights.sum()).astype(dtype)


def one_hot(size, token):
    return np.eye(size)[token]


@st.composite
def distributions(draw, size):
    kind = draw(st.sampled_from(["weights", "ties", "one-hot", "peaked", "float32", "tiny"]))
    if kind == "one-hot":
        return one_hot(size, draw(st.integers(0, size - 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = {
        "weights": lambda: rng.exponential(size=size) * (rng.random(size) < 0.7),
        "ties": lambda: rng.integers(0, 3, size).astype(float),
        "peaked": lambda: rng.exponential(size=size) ** 8,
        "float32": lambda: rng.exponential(size=size),
        "tiny": lambda: np.where(rng.random(size) < 0.5, 1e-310, rng.random(size)),
    }[kind]()
    weights[draw(st.integers(0, size - 1))] += 1.0
    return normalised(weights, np.float32 if kind == "float32" else np.float64)


@st.composite
def pairs(draw):
    size = draw(st.one_of(st.integers(2, 20), st.sampled_from([16, 17, 100, 1000])))
    p = draw(distributions(size))
    relation = draw(st.sampled_from(["other", "other", "same", "permuted", "nearly"]))
    if relation == "same":
        return p, p.copy()
    if relation == "permuted":
        return p, p[::-1].copy()
    if relation == "nearly":
        return p, normalised(p.astype(float) * (1 + 1e-15 * np.arange(size)))
    return p, draw(distributions(size))


def careful(p):
    """The distribution that an array stands for, in extended precision, divided by its exact sum."""
    return p.astype(np.longdouble) / math.fsum(p)


@given(pairs())
def test_the_output_is_distributed_as_p(pair):
    """Leviathan et al., appendix A.1; Chen et al., Theorem 1."""
    p, q = pair
    assert np.allclose(rejection.output_distribution(p, q), normalised(p), rtol=0, atol=1e-14)


@given(pairs())
def test_acceptance_is_one_minus_total_variation(pair):
    p, q = pair
    variation = math.fsum(abs(careful(p) - careful(q))) / 2
    got = rejection.acceptance_probability(p, q)
    assert type(got) is float and 0 <= got <= 1
    assert abs(got - (1 - variation)) < 1e-13


@given(pairs())
def test_acceptance_is_symmetric_and_one_only_for_equal_laws(pair):
    p, q = pair
    assert rejection.acceptance_probability(p, q) == rejection.acceptance_probability(q, p)
    assert rejection.acceptance_probability(p, p) == pytest.approx(1, abs=1e-15)


@given(pairs())
@example((np.float32([0.5, 0.49999997]), np.array([0.5, 0.5])))
def test_residual_is_always_a_distribution_on_what_the_draft_gives_too_little(pair):
    p, q = pair
    got = rejection.residual(p, q)
    assert np.all(np.isfinite(got)) and np.all(got >= 0)
    assert got.sum() == pytest.approx(1, abs=1e-12)
    p, q = normalised(p), normalised(q)
    if np.any(p > q + 1e-15):
        assert np.all(got[p <= q - 1e-15] == 0)
        short = np.maximum(0, p - q)
        assert np.allclose(got, short / short.sum(), atol=1e-15 / short.sum())


@given(pairs())
def test_the_residual_of_equal_laws_is_p_itself(pair):
    p, _ = pair
    assert np.allclose(rejection.residual(p, p), normalised(p), rtol=1e-12, atol=0)


@given(pairs())
def test_accept_ratios_are_nan_exactly_where_nothing_can_be_drafted(pair):
    p, q = pair
    ratios = rejection.accept_ratios(p, q)
    assert np.array_equal(np.isnan(ratios), q == 0)
    seen = ratios[q > 0]
    assert np.all((seen >= 0) & (seen <= 1))
    assert np.all(ratios[(q > 0) & (p == 0)] == 0)
    normal = q > 1e-290  # below, a float has few digits
    right = np.minimum(1, careful(p)[normal] / careful(q)[normal]).astype(float)
    assert np.allclose(ratios[normal], right, atol=1e-12)


@given(pairs(), st.integers(0, 2**32))
def test_a_token_that_the_target_rules_out_never_comes(pair, seed):
    p, q = pair
    tokens, accepted = rejection.draw(p, q, np.random.default_rng(seed), size=50)
    assert np.all(p[tokens] > 0)
    assert np.all(q[tokens[accepted]] > 0)
    assert tokens.min() >= 0 and tokens.max() < p.size


class Scripted:
    """A generator whose numbers are given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self, size=()):
        return np.array([self.numbers.pop(0) for _ in range(int(np.prod(size)))]).reshape(size)


def test_a_coin_of_exactly_zero_does_not_accept_what_p_rules_out():
    assert rejection.draw([0.0, 1.0], [1.0, 0.0], Scripted(0.0, 0.0, 0.0)) == (1, False)


def test_the_coin_must_be_strictly_below_the_ratio():
    just_below = np.nextafter(0.75, 0)  # ratio of token 0: 0.6 / 0.8
    p, q = [0.375, 0.625], [0.5, 0.5]
    assert rejection.draw(p, q, Scripted(0.0, 0.75, 0.0)) == (1, False)
    assert rejection.draw(p, q, Scripted(0.0, just_below)) == (0, True)


def test_token_coin_and_replacement_are_three_numbers():
    p, q = [0.25, 0.25, 0.5], [0.75, 0.125, 0.125]
    for last, token in ((0.0, 1), (0.2499, 1), (0.25, 2), (0.9999, 2)):  # residual (0, 1/4, 3/4)
        assert rejection.draw(p, q, Scripted(0.1, 0.9, last)) == (token, False)


@pytest.mark.parametrize("size, shape", [
    (5, (5,)), (0, (0,)), ((2, 3), (2, 3)), ((), ()), (np.int64(4), (4,))])
def test_draw_has_the_shape_asked_for(size, shape):
    tokens, accepted = rejection.draw([0.6, 0.4], [0.8, 0.2], np.random.default_rng(0), size)
    assert tokens.shape == accepted.shape == shape
    assert tokens.dtype.kind == "i" and accepted.dtype == bool


def test_one_draw_is_a_plain_int_and_a_plain_bool():
    tokens = {type(one) for one in rejection.draw([0.6, 0.4], [0.8, 0.2], np.random.default_rng(0))}
    assert tokens == {int, bool}


# -- the draw, by chi-square ------------------------------------------------------------------------

CASES = {
    "hand": ([0.6, 0.4], [0.8, 0.2]),
    "reuse": ([0.25, 0.25, 0.5], [0.75, 0.125, 0.125]),
    "greedy draft": ([0.3, 0.3, 0.2, 0.2], [0, 1, 0, 0]),
    "disjoint": ([0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0]),
    "binary search": (normalised(np.arange(1, 41)), normalised(np.arange(40, 0, -1))),
}
N = 100_000


def p_value(tokens, p):
    p = np.asarray(p, dtype=float)
    counts = np.bincount(tokens, minlength=p.size)
    if np.any(counts[p == 0]):
        return 0.0
    return stats.chisquare(counts[p > 0], tokens.size * p[p > 0]).pvalue if np.sum(p > 0) > 1 else 1.0


@pytest.mark.parametrize("name", CASES)
def test_draw_by_chi_square(name):
    p, q = CASES[name]
    tokens, accepted = rejection.draw(p, q, np.random.default_rng(11), N)
    assert p_value(tokens, p) > FALSE_ALARM
    rate = stats.binomtest(int(accepted.sum()), N, min(1.0, float(np.minimum(p, q).sum())))
    assert rate.pvalue > FALSE_ALARM


def draw_wrongly(p, q, rng, size, replacement):
    """The draw with another law for what replaces a rejected token, written out here."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    tokens = rng.choice(p.size, size, p=q)
    rejected = rng.random(size) >= np.minimum(1, p[tokens] / q[tokens])
    tokens[rejected] = rng.choice(p.size, rejected.sum(), p=replacement(p, q))
    return tokens


@pytest.mark.parametrize("name", CASES)
def test_the_same_chi_square_rejects_a_wrong_draw(name):
    """Negative control: without it a test that passes everything would look as good."""
    p, q = CASES[name]
    rng = np.random.default_rng(11)
    right = draw_wrongly(p, q, rng, N, lambda p, q: normalised(np.maximum(0, p - q)))
    wrong = draw_wrongly(p, q, rng, N, lambda p, q: q)  # draws again from the draft
    assert p_value(right, p) > FALSE_ALARM > p_value(wrong, p)
    if name != "disjoint":  # there p and the residual are the same
        assert p_value(draw_wrongly(p, q, rng, N, lambda p, q: p), p) < FALSE_ALARM


def test_consecutive_draws_are_independent():
    p, q = CASES["reuse"]
    tokens, accepted = rejection.draw(p, q, np.random.default_rng(5), (N, 2))
    joint = np.bincount(3 * tokens[:, 0] + tokens[:, 1], minlength=9)
    assert stats.chisquare(joint, N * np.outer(p, p).ravel()).pvalue > FALSE_ALARM
    verdicts = np.bincount(2 * accepted[:, 0] + accepted[:, 1], minlength=4)
    assert stats.chisquare(verdicts, np.full(4, N / 4)).pvalue > FALSE_ALARM  # acceptance is 1/2


def test_the_same_seed_draws_the_same():
    one, two = (rejection.draw([0.6, 0.4], [0.8, 0.2], np.random.default_rng(7), 20) for _ in range(2))
    assert np.array_equal(one, two)


# -- tokens_at --------------------------------------------------------------------------------------

@given(pairs(), st.floats(0, 1, exclude_max=True))
def test_a_uniform_lands_on_a_possible_token(pair, uniform):
    p = pair[0]
    extremes = np.array([0.0, uniform, np.nextafter(1, 0)])
    tokens = rejection.tokens_at(extremes, p)
    assert np.all(p[tokens] > 0)
    edges = np.cumsum(p, dtype=float) / np.sum(p, dtype=float)
    assert uniform < edges[tokens[1]] + 1e-9
    assert tokens[1] == 0 or uniform >= edges[tokens[1] - 1] - 1e-9


def test_few_and_many_tokens_agree_on_where_a_uniform_lands():
    rng = np.random.default_rng(2)
    p, uniforms = normalised(rng.random(16)), rng.random(1000)
    assert np.array_equal(rejection.tokens_at(uniforms, p),
                          rejection.tokens_at(uniforms, np.append(p, np.zeros(30))))


@pytest.mark.parametrize("weights", [
    np.arange(1.0, 41), np.ones(1000), 2.0 ** -np.arange(200), np.where(np.arange(300) % 3, 0, 1.0),
    np.append(1e9, np.ones(500)), np.eye(100)[70]], ids=range(6))
def test_many_uniforms_land_where_the_binary_search_says(weights):
    p = normalised(weights)
    edges = rejection.cumulative(p / p.sum())
    inside = edges[edges < 1]
    uniforms = np.concatenate([np.random.default_rng(4).random(50_000), inside, np.nextafter(inside, 0),
                               np.nextafter(inside, 1)])
    uniforms = uniforms[(uniforms >= 0) & (uniforms < 1)]
    assert np.array_equal(rejection.tokens_at(uniforms, p), np.searchsorted(edges, uniforms, side="right"))
    assert np.all(p[rejection.tokens_at(uniforms, p)] > 0)


def test_one_uniform_gives_a_plain_int():
    for size in (3, 40):
        token = rejection.tokens_at(0.5, np.full(size, 1 / size))
        assert type(token) is int and token == size // 2


# -- bad input --------------------------------------------------------------------------------------

HALF = [0.5, 0.5]


@pytest.mark.parametrize("function", [
    rejection.acceptance_probability, rejection.accept_ratios, rejection.residual,
    rejection.output_distribution,
    lambda p, q: rejection.draw(p, q, np.random.default_rng(0))])
@pytest.mark.parametrize("p, q, says", [
    ([0.6, 0.6], HALF, "p must sum to 1, got a sum of 1.2"),
    (HALF, [0.5, 0.4], "q must sum to 1, got a sum of 0.9"),
    ([1.0, -0.0001, 0.0001], HALF, "p must hold probabilities in [0, 1], got -0.0001"),
    (HALF, [np.nan, 1.0], "q must hold probabilities in [0, 1], got nan"),
    ([np.inf, 0], HALF, "p must hold probabilities in [0, 1], got inf"),
    ([2.0, 1.0], HALF, "p must hold probabilities in [0, 1], got 2"),
    (HALF, [1 / 3] * 3, "p and q must have the same length, got 2 and 3"),
    ([], [], "p must be one distribution of shape (V,), got shape (0,)"),
    (0.5, HALF, "p must be one distribution of shape (V,), got shape ()"),
    (HALF, [HALF], "q must be one distribution of shape (V,), got shape (1, 2)"),
    ("half", HALF, "p must be a list of probabilities, got 'half'"),
    (HALF, None, "q must be a list of probabilities, got None"),
    (HALF, [0.5, None], "q must be a list of probabilities, got [0.5, None]"),
    (HALF, [[0.5], [0.5, 0.5]], "q must be a list of probabilities, got [[0.5], [0.5, 0.5]]"),
])
def test_bad_distributions(function, p, q, says):
    with pytest.raises(ValueError) as error:
        function(p, q)
    assert str(error.value) == says


@pytest.mark.parametrize("rng, size, says", [
    (42, None, "rng must be a numpy.random.Generator, got 42"),
    (None, None, "rng must be a numpy.random.Generator, got None"),
    (np.random.default_rng, 3, "rng must be a numpy.random.Generator"),
    (np.random, 3, "rng must be a numpy.random.Generator"),
    (np.random.default_rng(0), -1, "size must be a whole number of at least 0, got -1"),
    (np.random.default_rng(0), 2.5, "size must be a whole number of at least 0, got 2.5"),
    (np.random.default_rng(0), (2, -3), "size must be a whole number of at least 0, got -3"),
    (np.random.default_rng(0), "3", "size must be a whole number"),
    (np.random.default_rng(0), np.inf, "size must be a whole number of at least 0, got inf"),
])
def test_bad_rng_and_size(rng, size, says):
    with pytest.raises(ValueError) as error:
        rejection.draw(HALF, HALF, rng, size)
    assert says in str(error.value)


@pytest.mark.parametrize("uniforms", [1.0, [0.5, 1.0], -0.1, 1.5, np.nan, "0.5", None])
def test_bad_uniforms(uniforms):
    with pytest.raises(ValueError, match="^uniforms must "):
        rejection.tokens_at(uniforms, HALF)
