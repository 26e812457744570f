"""The closed forms against exact fractions, brute force and substitution."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specdec_lessons import formulas

ACCURACY = 1e-12  # relative
RATES = [0.0, 1e-300, 1e-17, 1e-9, 0.001, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.999,
         1 - 1e-6, 1 - 1e-9, 1 - 1e-12, float(np.nextafter(1, 0)), 1.0]
LENGTHS = [0, 1, 2, 3, 4, 7, 64, 333, 1000]


def close(got, exact):
    exact = Fraction(exact)
    return abs(Fraction(got) - exact) <= Fraction(ACCURACY) * abs(exact)


def powers(a, k):
    """1, a, …, a^(k+1), each exact to 60 digits or so (exact fractions of a^1000 are needlessly long)."""
    a, one, result = Fraction(a), 1 << 2000, [Fraction(1)]
    for _ in range(k + 1):
        result.append(Fraction(int(result[-1] * a * one), one))
    return result


def tokens(a, k):
    return sum(powers(a, k)[:k + 1])


@pytest.mark.parametrize("a", RATES)
def test_expected_tokens_is_the_sum_of_the_powers(a):
    exact = powers(a, 1000)
    for k in LENGTHS:
        assert close(formulas.expected_tokens(a, k), sum(exact[:k + 1])), k


@given(a=st.floats(0, 1), k=st.integers(0, 60), c=st.floats(0, 5), v=st.floats(0.01, 50))
def test_each_closed_form_equals_its_fraction(a, k, c, v):
    exact = [Fraction(a) ** i for i in range(k + 1)]
    e, c_, v_ = sum(exact), Fraction(c), Fraction(v)
    assert close(formulas.expected_tokens(a, k), e)
    assert close(formulas.speedup(a, k, c, v), e / (v_ + k * c_))
    assert close(formulas.operations_factor(a, k, c), (k * c_ + k + 1) / e)
    assert close(formulas.expected_wasted_drafts(a, k), k + 1 - e)


@pytest.mark.parametrize("a", RATES)
def test_wasted_drafts_keep_their_accuracy_where_nearly_none_is_wasted(a):
    exact = powers(a, 1000)
    for k in LENGTHS:
        assert close(formulas.expected_wasted_drafts(a, k), sum(1 - power for power in exact[1:k + 1])), k


def test_a_million_drafts_are_counted_at_once():
    assert close(formulas.expected_wasted_drafts(0.5, 10**6), 10**6 - 1)
    assert formulas.expected_tokens(0.5, 10**9) == 2.0
    assert formulas.expected_tokens(1, 10**9) == 10**9 + 1


@pytest.mark.parametrize("a", RATES)
@pytest.mark.parametrize("k", [0, 1, 4, 50])
def test_pmf_is_the_truncated_geometric_law(a, k):
    got, exact = formulas.tokens_per_pass_pmf(a, k), powers(a, k)
    assert got.shape == (k + 1,)
    for n in range(k + 1):  # n accepted, then a rejection; or all k accepted
        right = exact[k] if n == k else exact[n] * (1 - Fraction(a))
        assert close(got[n], right) or right < Fraction(1e-300)
    assert abs(got.sum() - 1) < 1e-14


@given(a=st.floats(0, 1), k=st.integers(0, 40))
def test_the_mean_of_the_pmf_is_e(a, k):
    law = formulas.tokens_per_pass_pmf(a, k)
    assert np.isclose(law @ np.arange(1, k + 2), formulas.expected_tokens(a, k), rtol=1e-12)


def test_pmf_over_several_draft_lengths_leaves_impossible_counts_at_zero():
    law = formulas.tokens_per_pass_pmf([[0.5], [1.0]], [0, 2])
    assert law.tolist() == [[[1, 0, 0], [0.5, 0.25, 0.25]], [[1, 0, 0], [0, 0, 1]]]


# -- best draft length ------------------------------------------------------------------------------

def best_by_brute_force(a, c, k_max, verify_cost=None):
    """The smallest k with the largest E / (v + k c), in exact fractions."""
    a, c, best, total, power = Fraction(a), Fraction(c), None, Fraction(0), Fraction(1)
    for k in range(k_max + 1):
        total, power = total + power, power * a
        v = Fraction(1) if verify_cost is None else Fraction(verify_cost[k])
        if best is None or total / (v + k * c) > best[0]:
            best = total / (v + k * c), k
    return best[1]


GRID = [Fraction(i, 40) for i in range(41)]


@pytest.mark.parametrize("a", GRID, ids=str)
def test_best_draft_length_is_the_brute_force_optimum(a):
    for c in [Fraction(0), *GRID[1:21], Fraction(2), Fraction(1, 1000)]:
        assert formulas.best_draft_length(float(a), float(c), 20) == best_by_brute_force(a, c, 20), c


def exact_ties():
    """Pairs (a, c, k) of binary fractions at which k and k + 1 drafts give exactly the same speedup."""
    for a in (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(7, 8)):
        for k in range(6):  # E(k+1) (1 + k c) = E(k) (1 + (k + 1) c)  <=>  a^(k+1) = c (E(k) − k a^(k+1))
            yield a, a**(k + 1) / (sum(a**i for i in range(k + 1)) - k * a**(k + 1)), k


@pytest.mark.parametrize("a, c, k", list(exact_ties()), ids=str)
def test_exact_ties_go_to_the_smaller_length(a, c, k):
    def speedup(k):
        return sum(a**i for i in range(k + 1)) / (1 + k * c)
    assert speedup(k) == speedup(k + 1)
    assert formulas.best_draft_length(float(a), float(c)) == best_by_brute_force(a, c, 64) == k


@given(a=st.floats(0, 1), c=st.floats(0, 2),
       v=st.lists(st.floats(0.1, 10), min_size=1, max_size=12))
def test_measured_verify_costs_are_searched_exhaustively(a, c, v):
    k = formulas.best_draft_length(a, c, k_max=len(v) - 1, verify_cost=v)
    right = best_by_brute_force(a, c, len(v) - 1, v)
    if k != right:  # only where the two speedups are equal to rounding
        speedups = [formulas.speedup(a, n, c, v[n]) for n in (k, right)]
        assert np.isclose(*speedups, rtol=1e-11)


def test_verify_costs_may_have_several_peaks():
    v = [1, 3, 3, 1.2, 3, 3, 3, 3]
    assert formulas.best_draft_length(0.8, 0.05, k_max=7, verify_cost=v) == 3
    assert best_by_brute_force(0.8, 0.05, 7, v) == 3


def test_a_dear_verify_pass_with_one_price_for_every_length():
    """v = 2 for k ≥ 1 and 1 for no drafts: 'do not speculate' can win although drafts are good."""
    assert formulas.best_draft_length(0.8, 0.05, k_max=8, verify_cost=[1] + [2] * 8) \
        == best_by_brute_force(0.8, 0.05, 8, [1] + [2] * 8) == 8
    assert formulas.best_draft_length(0.6, 0.05, k_max=8, verify_cost=[1] + [3] * 8) == 0


@pytest.mark.parametrize("a, v, best", [
    (0.6, 3, 0),  # E never reaches 2.5, and the pass alone costs 3: plain decoding is better
    (0.8, 2, 10),  # (1 - .8^11) / .2 / (2 + 10 * .05) = 1.828, its neighbours give 1.822 and 1.826
])
def test_one_verify_cost_is_that_of_a_pass_with_drafts(a, v, best):
    assert formulas.best_draft_length(a, 0.05, verify_cost=v) == best
    assert best_by_brute_force(Fraction(a), Fraction(0.05), 64, [1] + [v] * 64) == best


@pytest.mark.parametrize("a, k_max, best", [
    (0.8, 64, 64), (0.5, 2000, 2000), (1e-3, 200, 200), (1e-200, 5, 5),
    (1.0, 64, 64), (0.0, 64, 0), (0.8, 0, 0)])
def test_a_free_draft_has_no_finite_best(a, k_max, best):
    assert formulas.best_draft_length(a, 0.0, k_max) == best


@given(a=st.floats(0, 1), c=st.floats(0, 2))
def test_no_draft_pays_when_it_costs_as_much_as_it_is_accepted(a, c):
    assert (formulas.best_draft_length(a, c) == 0) == (a <= c * (1 + 1e-12)) or np.isclose(a, c, rtol=1e-11)


# -- break-even -------------------------------------------------------------------------------------

@given(k=st.integers(1, 200), c=st.floats(1e-6, 1))
def test_break_even_by_substitution(k, c):
    a = formulas.break_even_acceptance(k, c)
    assert 0 <= a <= 1
    assert np.isclose(formulas.speedup(a, k, c), 1.0, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, 64, 1000])
def test_break_even_at_the_ends(k):
    assert formulas.break_even_acceptance(k, 1.0) == 1.0
    assert formulas.break_even_acceptance(k, 0.0) == 0.0
    assert np.isnan(formulas.break_even_acceptance(k, float(np.nextafter(1, 2))))
    assert 0.999 < formulas.break_even_acceptance(k, float(np.nextafter(1, 0))) <= 1.0
    tiny = formulas.break_even_acceptance(k, 1e-200)
    assert np.isclose(tiny, k * 1e-200, rtol=1e-9, atol=0)  # a + a² + … = k c, and a² is nothing beside a


def test_break_even_of_one_draft_is_its_cost_and_of_none_is_zero():
    assert np.allclose(formulas.break_even_acceptance(1, [0.1, 0.25, 0.9]), [0.1, 0.25, 0.9], rtol=1e-12)
    assert formulas.break_even_acceptance(0, 3.0) == 0.0


@given(a=st.floats(0, 1), k=st.integers(1, 100))
def test_acceptance_for_tokens_inverts_expected_tokens(a, k):
    back = formulas.acceptance_for_tokens(formulas.expected_tokens(a, k), k)
    assert np.isclose(back, a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tokens, k", [(0.5, 4), (5.1, 4), (1.5, 0), (0.0, 3)])
def test_no_rate_gives_impossible_tokens(tokens, k):
    assert np.isnan(formulas.acceptance_for_tokens(tokens, k))


# -- shapes and types -------------------------------------------------------------------------------

FUNCTIONS = {
    formulas.expected_tokens: (0.8, 4),
    formulas.speedup: (0.8, 4, 0.1, 1.0),
    formulas.best_draft_length: (0.8, 0.1),
    formulas.break_even_acceptance: (4, 0.1),
    formulas.acceptance_for_tokens: (3.0, 4),
    formulas.expected_wasted_drafts: (0.8, 4),
    formulas.operations_factor: (0.8, 4, 0.1),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_scalars_give_plain_numbers_and_arrays_broadcast(function):
    arguments = FUNCTIONS[function]
    plain = int if function is formulas.best_draft_length else float
    scalar = function(*arguments)
    assert type(scalar) is plain
    assert type(function(*map(np.float64, arguments))) is plain
    first, *others = arguments
    shapes = [(3, 1)] + [(2,)] + [()] * (len(others) - 1)
    spread = [np.full(shape, value) for shape, value in zip(shapes, arguments)]
    result = function(*spread)
    assert result.shape == (3, 2) and np.all(result == scalar)
    assert function([first] * 3, *others).shape == (3,)
    assert function(np.empty((0, 2)), *others).shape == (0, 2)


def test_pmf_broadcasts_with_the_count_as_last_axis():
    assert formulas.tokens_per_pass_pmf(0.8, 4).shape == (5,)
    assert formulas.tokens_per_pass_pmf(np.full((3, 1), 0.8), [1, 4]).shape == (3, 2, 5)
    assert formulas.tokens_per_pass_pmf([], 3).shape == (0, 4)


@pytest.mark.parametrize("function", [*FUNCTIONS, formulas.tokens_per_pass_pmf], ids=lambda f: f.__name__)
def test_shapes_that_do_not_fit_are_named(function):
    arguments = FUNCTIONS.get(function, (0.8, 4))
    with pytest.raises(ValueError, match="must broadcast to one shape"):
        function([arguments[0]] * 2, [arguments[1]] * 3, *arguments[2:])


@pytest.mark.parametrize("call, says", [
    (lambda: formulas.expected_tokens(1.2, 4), "a must lie in [0, 1], got 1.2"),
    (lambda: formulas.expected_tokens(-0.1, 4), "a must lie in [0, 1], got -0.1"),
    (lambda: formulas.expected_tokens(float("nan"), 4), "a must lie in [0, 1], got nan"),
    (lambda: formulas.expected_tokens("0.8", 4), "got '0.8'"),
    (lambda: formulas.expected_tokens(None, 4), "got None"),
    (lambda: formulas.expected_tokens(0.8, 2.5), "k must be a whole number of at least 0, got 2.5"),
    (lambda: formulas.expected_tokens(0.8, -1), "k must be a whole number of at least 0, got -1"),
    (lambda: formulas.expected_tokens(0.8, 1e17), "k must be a whole number of at least 0, got 1e+17"),
    (lambda: formulas.tokens_per_pass_pmf(80, 4), "a must lie in [0, 1], got 80"),
    (lambda: formulas.tokens_per_pass_pmf(0.8, np.inf), "k must be a whole number of at least 0, got inf"),
    (lambda: formulas.speedup(0.8, 4, -0.1), "c must be finite and at least 0, got -0.1"),
    (lambda: formulas.speedup(0.8, 4, np.inf), "c must be finite and at least 0, got inf"),
    (lambda: formulas.speedup(0.8, 4, 0.1, 0), "verify_cost must be finite and above 0, got 0"),
    (lambda: formulas.best_draft_length(0.8, 0.1, k_max=2.5),
     "k_max must be a whole number of at least 0, got 2.5"),
    (lambda: formulas.best_draft_length(0.8, 0.1, k_max=[4]), "k_max must be a single whole number"),
    (lambda: formulas.best_draft_length(0.8, 0.1, 3, [1, 2]),
     "verify_cost must be one number or k_max + 1 = 4"),
    (lambda: formulas.best_draft_length(0.8, 0.1, 1, [[1, 2]]), "got shape (1, 2)"),
    (lambda: formulas.break_even_acceptance(4, -1), "c must be finite and at least 0, got -1"),
    (lambda: formulas.acceptance_for_tokens(np.nan, 4),
     "tokens_per_pass must be finite and at least 0, got nan"),
    (lambda: formulas.expected_wasted_drafts(0.8, "4"), "got '4'"),
    (lambda: formulas.operations_factor(0.8, 4, -1), "c_hat must be finite and at least 0, got -1"),
])
def test_bad_input_is_named_and_shown(call, says):
    with pytest.raises(ValueError) as error:
        call()
    assert says in str(error.value)
