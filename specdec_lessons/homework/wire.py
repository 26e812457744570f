"""Plain data as JSON: all that passes between the student's process and the tests.

Numbers, text, truth values, None, lists, dicts and arrays pass; nothing that could carry behaviour does.
Tuples arrive as lists. A random generator passes to the student by its state, never back.
"""

import io
import json
import traceback
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

LARGEST = 5_000_000  # characters of one message


def encode(value):
    """``value`` as JSON text; ValueError where something in it is no plain data.

    >>> encode([np.array([0.5, 0.5]), 4])
    '[{"array": [0.5, 0.5], "shape": [2], "dtype": "float64"}, 4]'
    >>> encode(print)
    Traceback (most recent call last):
    ...
    ValueError: numbers, text, lists, dicts and arrays can be handed over, got builtin_function_or_method
    """
    try:
        text = json.dumps(_plain(value))
    except RecursionError:
        raise ValueError("the value is nested too deeply, or holds itself") from None
    return _of_length(text)


def decode(text):
    """What :func:`encode` was given, made of Python's and numpy's own types; ValueError for anything else.

    >>> decode(encode({"pass": (1, float("inf"), np.arange(3))}))
    {'pass': [1, inf, array([0, 1, 2])]}
    """
    try:
        return _back(json.loads(_of_length(text)))
    except (AttributeError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"no plain data: {error}") from None


def _of_length(text):
    if len(text) > LARGEST:
        raise ValueError(f"the value takes {len(text):,} characters, the most is {LARGEST:,}")
    return text


def _plain(value):
    if value is None or value is Ellipsis:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = value if value.dtype.itemsize <= 8 else value.astype(np.float64)
        return {"array": value.ravel().tolist(), "shape": list(value.shape), "dtype": value.dtype.name}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if isinstance(value, np.random.Generator):
        return {"generator": _plain_state(value.bit_generator.state)}
    if not callable(value) and not isinstance(value, (bytes, set, frozenset, np.ndarray)):
        array = np.asarray(value)  # ranges, series and other tables of numbers
        if array.dtype.kind in "biuf" and (array.ndim or hasattr(value, "dtype")):
            return _plain(array)
    raise ValueError(f"numbers, text, lists, dicts and arrays can be handed over, got {type(value).__name__}")


def _plain_state(state):
    return {key: _plain_state(one) if isinstance(one, dict) else one for key, one in state.items()}


def _back(value):
    if isinstance(value, list):
        return [_back(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        if np.dtype(value["dtype"]).kind not in "biuf":
            raise ValueError("an array of something else than numbers")
        return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
    if "dict" in value:
        return {_back(key): _back(one) for key, one in value["dict"]}
    if value.get("generator", {}).get("bit_generator") == "PCG64":
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = value["generator"]
        return generator
    raise ValueError("an object with none of the known marks")


# The student's side: what the grading asks, answered as JSON text. Whatever goes wrong there becomes data.

def look(namespace, name):
    """What ``name`` is: a value, a function, or missing."""
    if name not in namespace:
        return encode({"is": "missing"})
    value = namespace[name]
    try:
        return encode({"is": "value", "value": value})
    except Exception:
        return encode({"is": "function"}) if callable(value) else _told(lambda: value)


def call(namespace, name, payload, times=None):
    """The result of ``name(*arguments, **keywords)``, or of ``times`` such calls in a row."""
    arguments, keywords = decode(payload)

    def run():
        function = namespace[name]
        if times is None:
            return function(*arguments, **keywords)
        return [function(*arguments, **keywords) for _ in range(times)]

    return _told(run)


def _told(run):
    try:
        with redirect_stdout(_Nowhere()), redirect_stderr(_Nowhere()):
            value = run()
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the student's answer as well
        return encode({"is": "error", "name": type(error).__name__, "message": str(error)[:500],
                       "where": _where(error)})
    try:
        return encode({"is": "value", "value": value})
    except Exception as error:
        return encode({"is": "error", "name": "ValueError", "message": str(error)[:500], "where": ""})


class _Nowhere(io.TextIOBase):
    """What a function prints while it is tested goes here: it may be called thousands of times."""

    encoding, errors = "utf-8", "strict"

    def writable(self):
        return True

    def write(self, text):
        return len(text)


def _where(error):
    """The student's own lines of a traceback, the innermost last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return "\n".join(f"line {frame.lineno} of {frame.name}: {frame.line or ''}".rstrip(": ") for frame in frames[-5:])
