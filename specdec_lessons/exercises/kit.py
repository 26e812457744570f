"""What an exercise is, and how a learner's answer is checked.

An :class:`Exercise` compares a learner's function with a reference on inputs that go from small to
large, and answers a wrong one with the first input on which it differs. It never raises.
"""

import dis
import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from specdec_lessons import _checks


@dataclass(frozen=True)
class Verdict:
    """The answer of a check; shown as its text. ``passed`` is None where nothing was attempted."""

    passed: bool | None
    message: str

    def __repr__(self):
        sign = {True: "✓", False: "✗", None: "○"}[self.passed]
        return f"{sign} {self.message}"


@dataclass(frozen=True)
class Misconception:
    """A wrong answer that people really give: what it computes, and what to say to it."""

    function: Callable
    message: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    ``title`` and ``statement``: text. ``stub``, ``solution_code``: source of a function. ``reference``: the
    right function. ``cases``: tuples of arguments, the smallest first. ``hints``: from a nudge to nearly
    everything. ``misconceptions``: known wrong answers. ``tolerance``: relative and absolute, on numbers.

    >>> double = Exercise("Double", "Write double(x).", "def double(x):\\n    ...", lambda x: 2 * x,
    ...                   cases=((1.0,), (3.0,)), hints=("Add x to itself.",),
    ...                   solution_code="def double(x):\\n    return 2 * x",
    ...                   misconceptions=(Misconception(lambda x: x * x, "That is the square."),))
    >>> double.check(lambda x: None)
    ○ Double: not attempted yet.
    >>> double.check(lambda x: x * x)
    ✗ Double: for x = 1 yours gives 1, expected 2. That is the square.
    >>> double.check(lambda x: x + x)
    ✓ Double: right on all 2 inputs.
    """

    title: str
    statement: str
    stub: str
    reference: Callable
    cases: tuple
    hints: tuple
    solution_code: str
    misconceptions: tuple = field(default=())
    tolerance: float = 1e-9

    def check(self, answer):
        """Compare ``answer``, the learner's function, with the reference; returns a :class:`Verdict`."""
        if not callable(answer):
            return Verdict(False, f"{self.title}: give the function itself, without calling it; got {show(answer)}.")
        names = tuple(inspect.signature(self.reference).parameters)
        for arguments in self.cases:
            given = ", ".join(f"{name} = {show(value)}" for name, value in zip(names, arguments))
            expected = self.reference(*deepcopy(arguments))
            try:
                got = answer(*deepcopy(arguments))
            except NotImplementedError:
                return Verdict(None, f"{self.title}: not attempted yet.")
            except Exception as error:
                return Verdict(False, f"{self.title}: for {given} yours stops with {_told(error)}")
            if got is Ellipsis or got is None and _is_blank(answer):
                return Verdict(None, f"{self.title}: not attempted yet.")
            if got is None:
                return Verdict(False, f"{self.title}: for {given} yours gives nothing back. Is a return missing?")
            if not same(got, expected, self.tolerance):
                digits = 6 if show(got) != show(expected) else 15
                message = (f"{self.title}: for {given} yours gives {show(got, digits)}, "
                           f"expected {show(expected, digits)}.")
                return Verdict(False, " ".join([message, *_shape_wanted(got, expected), *self._recognise(answer)]))
        return Verdict(True, f"{self.title}: right on all {len(self.cases)} inputs.")

    def _recognise(self, answer):
        """The message of the misconception that gives what ``answer`` gives, on all inputs where that does not fail."""
        given = [(one, _call(answer, one)) for one in self.cases]
        given = [(one, got) for one, got in given if got is not _FAILED]
        for wrong in self.misconceptions:
            if given and all(same(got, _call(wrong.function, one), self.tolerance) for one, got in given):
                return [wrong.message]
        return []

    def hint(self, number=1):
        """Print hint ``number``, counted from 1."""
        if number in range(1, len(self.hints) + 1):
            print(f"Hint {number} of {len(self.hints)}: {self.hints[number - 1]}")
        else:
            print(f"{self.title} has hints 1 to {len(self.hints)}.")

    def solution(self):
        """Print one solution."""
        print(self.solution_code)


def _shape_wanted(got, expected):
    """A remark where a list was given for a number, or the other way round."""
    try:
        given, wanted = np.ndim(got), np.ndim(expected)
    except Exception:
        return []
    if given and not wanted:
        return ["One number is wanted, not a list."]
    return ["A list is wanted, not one number."] if wanted and not given and not isinstance(got, str) else []


def _is_blank(answer):
    """Whether a function computes nothing at all, like a stub: it only returns a constant."""
    code = getattr(answer, "__code__", None)
    return code is not None and {step.opname for step in dis.get_instructions(code)} <= _JUST_RETURN


_JUST_RETURN = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def _told(error):
    told = f"{type(error).__name__}: {error}."
    if "truth value of an array" in str(error):
        told += " On arrays, numpy's own functions work entry by entry: np.maximum, np.minimum, np.where."
    return told


_FAILED = object()


def _call(function, arguments):
    try:
        return function(*deepcopy(arguments))
    except Exception:
        return _FAILED


def same(got, expected, tolerance):
    """Whether an answer agrees with the expected one: numbers within the tolerance, anything else equal."""
    try:
        expected = np.asarray(expected)
        if expected.dtype.kind not in "iufb":
            return np.shape(got) == expected.shape and bool(np.all(np.asarray(got) == expected))
        got = _checks.numbers("answer", got)
        return got.shape == expected.shape and np.allclose(
            got, expected.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True)
    except Exception:  # whatever a learner's object may do: it is not the expected one
        return False


def show(value, digits=6):
    """A value as a learner would write it: plain rounded numbers, short lists."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= 144 else value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.{digits}g}"
    try:
        if isinstance(value, (list, tuple)) and len(value) <= 12:
            text = "[" + ", ".join(show(item, digits) for item in value) + "]"
            return text if len(text) <= 200 else text[:199] + "…"
        return _checks.short(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # a learner's object whose repr fails, a list that holds itself
        return f"something of type {type(value).__name__}"


def compare_guess(guess, truth, unit="", digits=2):
    """One line that sets a guess (None: no guess yet) beside the right value.

    >>> print(compare_guess(4.2, 3.3616, "tokens"))
    You guessed 4.2 tokens; it is 3.36 tokens.
    >>> print(compare_guess(None, 3.3616, "tokens"))
    No guess yet; it is 3.36 tokens.
    """
    unit = f" {unit}" if unit else ""
    opening = "No guess yet" if guess is None else f"You guessed {guess}{unit}"
    return f"{opening}; it is {round(float(truth), digits):,.12g}{unit}."
