"""One place that says what valid input is, so that every module says it alike.

Each function returns its argument as numpy sees it, or raises a ``ValueError``
that names the parameter, what it must be and what came.
"""

import random
from numbers import Real
from types import ModuleType

import numpy as np

SUM_TOLERANCE = 1e-4  # a float32 softmax over a large vocabulary is off by about 1e-5


def numbers(name, value, what="a number or an array of numbers", kinds="biuf"):
    """Real numbers of any shape, as float64: no text, no None, nothing complex."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in kinds and not (
                array.dtype == object and all(isinstance(one, Real) for one in array.flat)):
            raise TypeError("text, None and complex numbers are no numbers here")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {what}, got {short(value)}") from None


def short(value):
    """What ``repr`` says, cut to one short line."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "…"


def _show(values):
    return repr(float(np.ravel(values)[0])).removesuffix(".0")


def _require(name, array, ok, what):
    if not np.all(ok):
        raise ValueError(f"{name} must {what}, got {_show(array[~ok] if array.ndim else array)}")
    return array


def probability(name, value):
    """Numbers in [0, 1], of any shape."""
    array = numbers(name, value, "a number or an array of numbers in [0, 1]")
    return _require(name, array, (array >= 0) & (array <= 1), "lie in [0, 1]")


def non_negative(name, value):
    """Finite numbers that are zero or more, of any shape."""
    array = numbers(name, value)
    return _require(name, array, np.isfinite(array) & (array >= 0), "be finite and at least 0")


def positive(name, value):
    """Finite numbers above zero, of any shape."""
    array = numbers(name, value)
    return _require(name, array, np.isfinite(array) & (array > 0), "be finite and above 0")


def single_positive(name, value):
    """One finite number above zero, as a Python float."""
    return single(name, positive, value)


def count(name, value, at_least=0):
    """Whole numbers of at least ``at_least``, of any shape, as int64 (4.0 counts, True does not)."""
    array = numbers(name, value, "a whole number or an array of whole numbers", kinds="iuf")
    whole = np.isfinite(array) & (array == np.floor(array)) & (array >= at_least)
    _require(name, array, whole & (array < 2**53), f"be a whole number of at least {at_least}")
    return array.astype(np.int64)


def single_count(name, value, at_least=0):
    """One whole number of at least ``at_least``, as a Python int."""
    array = count(name, value, at_least)
    if array.ndim:
        raise ValueError(f"{name} must be a single whole number, got an array of shape {array.shape}")
    return int(array)


def distribution(name, value):
    """One probability distribution of shape (V,): finite, nothing negative, sum 1.

    A sum within ``SUM_TOLERANCE`` of one is rounding (float32 softmax) and is divided out;
    anything further off is an error.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1 and value.size:
        total = value.sum()
        if value.min() >= 0 and abs(total - 1) <= SUM_TOLERANCE:  # the usual case, in a decoder's loop
            return value / total
    array = numbers(name, value, "a list of probabilities")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be one distribution of shape (V,), got shape {array.shape}")
    _require(name, array, (array >= 0) & (array <= 1 + SUM_TOLERANCE), "hold probabilities in [0, 1]")
    total = array.sum()
    if abs(total - 1) > SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got a sum of {total:g}")
    return array / total


def broadcast(**arrays):
    """The arrays in one common shape; the error names all of them."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise ValueError(f"{' and '.join(arrays)} must broadcast to one shape, got {shapes}") from None


def shape(name, value):
    """What ``size`` of a draw may be: a whole number or a tuple of them, as a tuple of ints; None is ()."""
    sizes = count(name, () if value is None else value)
    if sizes.ndim > 1:
        raise ValueError(f"{name} must be a whole number or a tuple of them, got shape {sizes.shape}")
    return tuple(sizes.ravel().tolist())


def single(name, check, value):
    """One number that passes ``check`` (one of the functions above), as a Python float."""
    array = check(name, value)
    if array.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {array.shape}")
    return float(array)


def pair(p, q):
    """The target's and the draft's distribution over one vocabulary, both of shape (V,)."""
    p, q = distribution("p", p), distribution("q", q)
    if p.shape != q.shape:
        raise ValueError(f"p and q must have the same length, got {p.size} and {q.size}")
    return p, q


def generator(rng):
    """A source of uniform numbers: a numpy ``Generator``, or any object with its ``random(size)``."""
    looks_alike = isinstance(rng, (type, ModuleType, random.Random))  # their random() takes no size
    if looks_alike or not callable(getattr(rng, "random", None)):
        raise ValueError(f"rng must be a numpy.random.Generator, got {short(rng)}")
    return rng


def scalar_or_array(result):
    """A plain Python float for a 0-d result, the array itself otherwise."""
    result = np.asarray(result)
    return result.item() if result.ndim == 0 else result
