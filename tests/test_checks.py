"""What counts as valid input, and what the one error says."""

import random
from fractions import Fraction

import numpy as np
import pytest

from specdec_lessons import _checks

NO_NUMBERS = ["x", "0.5", b"0.5", None, [None], ["a"], 1j, np.array([1j]), 10**400,
              [[1], [1, 2]], {}, {1}, object(), len]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("check", [_checks.probability, _checks.non_negative, _checks.positive, _checks.count,
                                   _checks.single_count, _checks.single_positive, _checks.distribution])
def test_what_is_no_number_is_named_and_shown(check, value):
    with pytest.raises(ValueError) as error:
        check("this", value)
    assert str(error.value).startswith("this must ")
    assert str(error.value).endswith(f"got {_checks.short(value)}")
    assert len(str(error.value)) < 160


@pytest.mark.parametrize("check, value, shown", [
    (_checks.probability, 1.2, "1.2"),
    (_checks.probability, 1.0000000001, "1.0000000001"),  # not "got 1", which would seem to be allowed
    (_checks.probability, [0.5, -0.25], "-0.25"),
    (_checks.probability, float("nan"), "nan"),
    (_checks.non_negative, -1, "-1"),
    (_checks.non_negative, np.inf, "inf"),
    (_checks.positive, 0, "0"),
    (_checks.count, 2.5, "2.5"),
    (_checks.count, [1, 2, -3], "-3"),
    (_checks.count, 1e300, "1e+300"),
    (_checks.count, True, "True"),  # eos=True is not token 1
    (_checks.single_count, [True, False], "[True, False]"),
    (_checks.distribution, [0.5, 0.6], "1.1"),
    (_checks.distribution, [2.3, 1.2], "2.3"),  # logits
    (_checks.distribution, [1e308, 1e308], "1e+308"),
    (_checks.distribution, [1.0, -0.5, 0.5], "-0.5"),
    (_checks.distribution, [0.5, np.nan], "nan"),
    (_checks.distribution, 1.0, "shape ()"),
    (_checks.distribution, [], "shape (0,)"),
    (_checks.distribution, [[0.5, 0.5]], "shape (1, 2)"),
    (_checks.single_count, [4], "shape (1,)"),
    (_checks.single_positive, [4.0, 1.0], "shape (2,)"),
    (_checks.shape, -1, "-1"),
    (_checks.shape, (2, 1.5), "1.5"),
    (_checks.shape, "3", "'3'"),
    (_checks.shape, [[1, 2]], "shape (1, 2)"),
])
def test_the_error_shows_the_very_value_that_came(check, value, shown):
    with pytest.raises(ValueError, match=r"^this must ") as error:
        check("this", value)
    assert shown in str(error.value).split("got")[1]


def test_a_long_wrong_value_is_cut_to_one_line():
    with pytest.raises(ValueError) as error:
        _checks.count("prompt", "the old woman\nlooked " * 500)
    assert "\n" not in str(error.value) and len(str(error.value)) < 160


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(1), np.array(1)])
def test_every_kind_of_one_is_one(value):
    assert float(_checks.probability("a", value)) == 1.0
    assert _checks.single_count("k", value) == 1 and type(_checks.single_count("k", value)) is int


def test_exact_fractions_are_welcome_in_lists():
    assert _checks.distribution("p", [Fraction(1, 4), Fraction(3, 4)]).tolist() == [0.25, 0.75]


def test_a_sum_off_by_float32_rounding_is_divided_out_and_a_larger_one_is_not():
    assert _checks.distribution("p", np.float32([0.5, 0.49999997])).sum() == 1.0
    assert _checks.distribution("p", [1.00005, 0.0]).tolist() == [1.0, 0.0]
    for off in (0.9998, 1.0002):
        with pytest.raises(ValueError, match="must sum to 1|in \\[0, 1\\]"):
            _checks.distribution("p", [off, 0.0])


def test_the_input_is_never_changed():
    value = np.array([0.5, 0.49999997])
    kept = value.copy()
    _checks.distribution("p", value)[0] = 7
    _checks.probability("a", value)[0] = 7
    assert np.array_equal(value, kept)


def test_broadcast_names_both_parameters_and_shapes():
    a, k = _checks.broadcast(a=np.zeros((2, 1)), k=np.zeros(3))
    assert a.shape == k.shape == (2, 3)
    with pytest.raises(ValueError, match=r"^a and k must broadcast to one shape, got \(2,\) and \(3,\)$"):
        _checks.broadcast(a=np.zeros(2), k=np.zeros(3))


def test_pair_says_both_lengths():
    with pytest.raises(ValueError, match="p and q must have the same length, got 2 and 3"):
        _checks.pair([0.5, 0.5], [0.5, 0.25, 0.25])


@pytest.mark.parametrize("rng", [
    42, None, "seed", np.random.default_rng, np.random.Generator, np.random, random, random.Random(0)],
    ids=["a number", "None", "text", "a function", "a class", "numpy.random", "random", "random.Random"])
def test_what_cannot_serve_as_a_generator_is_refused(rng):
    with pytest.raises(ValueError, match="rng must be a numpy.random.Generator, got "):
        _checks.generator(rng)


@pytest.mark.parametrize("rng", [np.random.default_rng(0), np.random.RandomState(0)])
def test_numpys_generators_new_and_old_can_serve(rng):
    assert _checks.generator(rng) is rng


def test_scalars_come_back_plain():
    assert type(_checks.scalar_or_array(np.float64(2))) is float
    assert type(_checks.scalar_or_array(np.int64(2))) is int
    assert _checks.scalar_or_array(np.zeros(1)).shape == (1,)
