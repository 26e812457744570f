"""What the test cells of the homework call: each passes in silence or raises one AssertionError in words.

A test cell runs twice in its life: in the student's own notebook, and when the work is graded, where the
student's names stand for values and functions in another process. The same calls serve both.
"""

import numpy as np

from specdec_lessons._checks import short


def attempted(name, got):
    """``got`` must be an answer at all: not None, not ``...`` and no empty text. The other checks begin with this.

    >>> attempted("best_k", None)
    Traceback (most recent call last):
    ...
    AssertionError: best_k: not attempted yet. (Or is a return missing?)
    """
    __tracebackhide__ = True
    if got is None or got is Ellipsis or isinstance(got, str) and not got.strip():
        _fail(f"{name}: not attempted yet. (Or is a return missing?)")


def whole(name, got, low, high, hint=""):
    """``got`` must be a whole number from ``low`` to ``high``: the form of an answer, not the answer.

    >>> whole("best_k", 3, 0, 16)
    >>> whole("best_k", 2.5, 0, 16)
    Traceback (most recent call last):
    ...
    AssertionError: best_k: a whole number from 0 to 16 is wanted, got 2.5.
    """
    between(name, got, low, high, hint, _whole=True)


def between(name, got, low, high, hint="", _whole=False):
    """``got`` must be one real number from ``low`` to ``high``: the form of an answer, not the answer.

    >>> between("speedup", 2.4, 0, 10)
    """
    __tracebackhide__ = True
    attempted(name, got)
    given = got.item() if isinstance(got, (np.generic, np.ndarray)) and np.ndim(got) == 0 else got
    fits = isinstance(given, (int, float)) and not isinstance(given, bool) and low <= given <= high
    if not (fits and (not _whole or given == int(given))):
        _fail(f"{name}: a {'whole ' * _whole}number from {low} to {high} is wanted, got {short(got)}.", hint)


def number(name, got, expected, tolerance=1e-6, hint="", tell=False):
    """``got`` must be one real number within ``tolerance`` (relative, and absolute near 0) of ``expected``.

    With ``tell`` the message says the right value. NaN is never right.

    >>> number("E", 3.3616, 3.36160)
    >>> number("E", 3.0, 3.3616, hint="Is the bonus counted?")
    Traceback (most recent call last):
    ...
    AssertionError: E: got 3, which is not right. Is the bonus counted?
    """
    __tracebackhide__ = True
    attempted(name, got)
    if isinstance(got, bool) or not isinstance(got, (int, float, np.integer, np.floating)):
        if not (isinstance(got, np.ndarray) and got.ndim == 0 and got.dtype.kind in "iuf"):
            _fail(f"{name}: one number is wanted, got {short(got)}.")
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
    __tracebackhide__ = True
    attempted(name, got)
    expected = np.asarray(expected, dtype=float)
    try:
        given = np.asarray(got)
        if given.dtype.kind not in "biuf":
            raise TypeError
        given = given.astype(float)
    except (TypeError, ValueError):
        given = None
    if given is None:
        _fail(f"{name}: numbers are wanted, got {short(got)}.")
    if given.shape != expected.shape:
        _fail(f"{name}: an array of shape {expected.shape} is wanted, got one of shape {given.shape}.", hint)
    if not np.all(np.abs(given - expected) <= tolerance * np.maximum(1.0, np.abs(expected))):
        _wrong(name, _rounded(given), _rounded(expected), hint, tell)


def choice(name, got, expected, hint=""):
    """``got`` must be the same word, number or truth value as ``expected``; letters' case does not matter.

    >>> choice("bound", "Memory", "memory")
    """
    __tracebackhide__ = True
    attempted(name, got)
    same = (got.strip().casefold() == expected.casefold() if isinstance(got, str) and isinstance(expected, str)
            else type(got) is type(expected) and got == expected)
    if not same:
        _wrong(name, short(got), short(expected), hint, False)


def true(name, condition, hint=""):
    """``condition`` must be the truth value True (numpy's too); nothing else counts as true.

    >>> true("probabilities sum to 1", abs(0.3 + 0.7 - 1) < 1e-9)
    """
    __tracebackhide__ = True
    if not (isinstance(condition, (bool, np.bool_)) and bool(condition)):
        _fail(f"{name}: this does not hold.", hint)


def repeat(function, times, *arguments, rng):
    """Call ``function(*arguments, rng)`` ``times`` times with one generator; returns the list of results.

    In grading all calls travel together, which makes a statistical test quick.
    """
    many = getattr(type(function), "repeat_in_its_process", None)
    if many is not None:
        return many(function, times, arguments, rng)
    return [function(*arguments, rng) for _ in range(times)]


def _rounded(array):
    flat = ", ".join(f"{one:.6g}" for one in array.ravel()[:8])
    return f"[{flat}{', …' if array.size > 8 else ''}]"


def _wrong(name, got, expected, hint, tell):
    __tracebackhide__ = True
    _fail(f"{name}: got {got}, expected {expected}." if tell else f"{name}: got {got}, which is not right.", hint)


# A notebook always shows the lines around the innermost one of a traceback: so that is a short function.
def _fail(message, hint=""):
    raise AssertionError(f"{message} {hint}".strip())
