"""What the test cells of the homework call: each passes in silence or raises one AssertionError in words.

A test cell runs twice in its life: in the student's own notebook, and when the work is graded, where the
student's names stand for values and functions in another process. The same calls serve both.
"""

import numpy as np

from specdec_lessons._checks import short


def number(name, got, expected, tolerance=1e-6, hint="", tell=False):
    """``got`` must be one real number within ``tolerance`` (relative, and absolute near 0) of ``expected``.

    With ``tell`` the message says the right value. NaN is never right.

    >>> number("E", 3.3616, 3.36160)
    >>> number("E", 3.0, 3.3616, hint="Is the bonus counted?")
    Traceback (most recent call last):
    ...
    AssertionError: E: got 3, which is not right. Is the bonus counted?
    """
    if _blank(got):
        raise AssertionError(f"{name}: not attempted yet.")
    if isinstance(got, bool) or not isinstance(got, (int, float, np.integer, np.floating)):
        if not (isinstance(got, np.ndarray) and got.ndim == 0 and got.dtype.kind in "iuf"):
            raise AssertionError(f"{name}: one number is wanted, got {short(got)}.")
    if not abs(float(got) - float(expected)) <= tolerance * max(1.0, abs(float(expected))):
        _wrong(name, f"{float(got):.6g}", f"{float(expected):.6g}", hint, tell)


def numbers(name, got, expected, tolerance=1e-6, hint="", tell=False):
    """``got`` must be a list or an array of the shape of ``expected``, each entry within ``tolerance``.

    >>> numbers("residual", [0.0, 1.0], np.array([0.0, 1.0]))
    >>> numbers("residual", [1.0], np.array([0.0, 1.0]))
    Traceback (most recent call last):
    ...
    AssertionError: residual: an array of shape (2,) is wanted, got one of shape (1,).
    """
    if _blank(got):
        raise AssertionError(f"{name}: not attempted yet.")
    expected = np.asarray(expected, dtype=float)
    try:
        given = np.asarray(got)
        if given.dtype.kind not in "biuf":
            raise TypeError
        given = given.astype(float)
    except (TypeError, ValueError):
        raise AssertionError(f"{name}: numbers are wanted, got {short(got)}.") from None
    if given.shape != expected.shape:
        raise AssertionError(" ".join([f"{name}: an array of shape {expected.shape} is wanted, got one of shape "
                                       f"{given.shape}.", *([hint] if hint else [])]))
    if not np.all(np.abs(given - expected) <= tolerance * np.maximum(1.0, np.abs(expected))):
        _wrong(name, _rounded(given), _rounded(expected), hint, tell)


def choice(name, got, expected, hint=""):
    """``got`` must be the same word, number or truth value as ``expected``; letters' case does not matter.

    >>> choice("bound", "Memory", "memory")
    """
    if _blank(got) or isinstance(got, str) and not got.strip():
        raise AssertionError(f"{name}: not attempted yet.")
    same = (got.strip().casefold() == expected.casefold() if isinstance(got, str) and isinstance(expected, str)
            else type(got) is type(expected) and got == expected)
    if not same:
        _wrong(name, short(got), short(expected), hint, False)


def true(name, condition, hint=""):
    """``condition`` must be the truth value True (numpy's too); nothing else counts as true.

    >>> true("probabilities sum to 1", abs(0.3 + 0.7 - 1) < 1e-9)
    """
    if not (isinstance(condition, (bool, np.bool_)) and bool(condition)):
        raise AssertionError(" ".join([f"{name}: this does not hold.", *([hint] if hint else [])]))


def repeat(function, times, *arguments, rng):
    """Call ``function(*arguments, rng)`` ``times`` times with one generator; returns the list of results.

    In grading all calls travel together, which makes a statistical test quick.
    """
    many = getattr(type(function), "repeat_in_its_process", None)
    if many is not None:
        return many(function, times, arguments, rng)
    return [function(*arguments, rng) for _ in range(times)]


def _blank(value):
    return value is None or value is Ellipsis


def _rounded(array):
    flat = ", ".join(f"{one:.6g}" for one in array.ravel()[:8])
    return f"[{flat}{', …' if array.size > 8 else ''}]"


def _wrong(name, got, expected, hint, tell):
    told = f"got {got}, expected {expected}." if tell else f"got {got}, which is not right."
    raise AssertionError(" ".join([f"{name}: {told}", *([hint] if hint else [])]))
