"""What a language model is to this course, and toy models small enough to see through.

A language model answers two questions about token ids: what comes next, and, in one parallel pass,
what comes after each of several drafted tokens. Real transformers answer the second for nearly the
price of the first; a toy model just looks up its table k + 1 times.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Protocol, runtime_checkable

import numpy as np

from specdec_lessons import _checks


@runtime_checkable
class LanguageModel(Protocol):
    """Anything with a vocabulary and these two methods can be a target or a draft."""

    vocabulary: Sequence[str]

    def next_probs(self, context) -> np.ndarray:
        """Distribution of the token that follows ``context`` (token ids), shape (V,)."""

    def score(self, context, drafts) -> np.ndarray:
        """ONE parallel pass: the distributions after ``context`` and after each drafted token.

        Shape (len(drafts) + 1, V); row i is ``next_probs(context + drafts[:i])``.
        """


class ToyModel:
    """Base of the toy models: ``score`` by looking up ``next_probs`` once a position."""

    def __init__(self, vocabulary):
        try:
            self.vocabulary = tuple(vocabulary)
            distinct = set(self.vocabulary)
        except TypeError:
            raise ValueError(
                f"vocabulary must be a sequence of tokens, got {_checks.short(vocabulary)}") from None
        if not distinct or len(distinct) != len(self.vocabulary):
            raise ValueError("vocabulary must hold at least one token and none twice, got "
                             f"{_checks.short(self.vocabulary)}")

    def next_probs(self, context):
        raise NotImplementedError

    def score(self, context, drafts):
        context, drafts = as_tokens(self, "context", context), as_tokens(self, "drafts", drafts)
        return np.stack([self.next_probs(context + drafts[:i]) for i in range(len(drafts) + 1)])


class TableModel(ToyModel):
    """A model whose next token depends on the last token alone.

    ``table`` of shape (V, V): row i is the distribution after token i; or of shape (V,): the same
    distribution everywhere. ``start`` of shape (V,) is the distribution after an empty context
    (uniform if not given). ValueError where a row is not a distribution.

    >>> coin = TableModel(["heads", "tails"], [0.5, 0.5])
    >>> coin.score([], [0, 1]).shape
    (3, 2)
    """

    def __init__(self, vocabulary, table, start=None):
        super().__init__(vocabulary)
        size = len(self.vocabulary)
        rows = _checks.non_negative("table", table)
        if rows.shape == (size,):
            start = rows if start is None else start
            rows = np.tile(rows, (size, 1))
        if rows.shape != (size, size):
            raise ValueError(f"table must have shape ({size}, {size}) or ({size},), got {rows.shape}")
        self._rows = [read_only(_checks.distribution(f"table row {i}", row)) for i, row in enumerate(rows)]
        self._start = _checks.distribution("start", np.full(size, 1 / size) if start is None else start)
        if read_only(self._start).size != size:
            raise ValueError(f"start must have {size} entries, got {self._start.size}")

    def next_probs(self, context):
        try:
            if len(context) == 0:
                return self._start
            if context[-1] >= 0:
                return self._rows[context[-1]]
        except (TypeError, ValueError, IndexError):
            pass
        raise _wrong_tokens(self, "context", context)


class NgramModel(ToyModel):
    """A model that has counted which token follows the last ``order`` tokens of a text.

    Shorter contexts stand in where a longer one is rare: the distribution after n tokens is that after
    the last n − 1, updated with the counts after all n (each level weighs ``smoothing`` counts). With
    ``smoothing=0`` only the longest context that occurs in the text speaks, and unseen tokens have
    probability 0.

    >>> model = NgramModel.from_text("a b a b a c", order=1)
    >>> [round(float(x), 2) for x in model.next_probs(encode(model, "a"))]  # after a: b twice, c once
    [0.12, 0.58, 0.3]
    """

    def __init__(self, vocabulary, tokens, order, smoothing=1.0):
        super().__init__(vocabulary)
        self.order = _checks.single_count("order", order)
        self._smoothing = _checks.single("smoothing", _checks.non_negative, smoothing)
        self._counts = defaultdict(Counter)
        tokens = as_tokens(self, "tokens", tokens)
        if not tokens:
            raise ValueError("tokens must hold at least one token, got none")
        for end, token in enumerate(tokens):
            for length in range(min(self.order, end) + 1):
                self._counts[tokens[end - length:end]][token] += 1
        self._probs_after = lru_cache(maxsize=None)(
            lambda context: read_only(self._interpolate(as_tokens(self, "context", context))))

    @classmethod
    def from_text(cls, text, order=2, smoothing=1.0):
        """Count the words and punctuation marks of ``text``; the vocabulary is what occurs in it."""
        words = split_words(text)
        if not words:
            raise ValueError(f"text must hold at least one word, got {_checks.short(text)}")
        vocabulary = sorted(set(words))
        index = {word: token for token, word in enumerate(vocabulary)}
        return cls(vocabulary, [index[word] for word in words], order, smoothing)

    def next_probs(self, context):
        try:
            context = tuple(context)
            return self._probs_after(context[max(0, len(context) - self.order):])
        except TypeError:  # nothing to iterate over, or tokens that are lists
            raise _wrong_tokens(self, "context", context) from None

    def _interpolate(self, context):
        size = len(self.vocabulary)
        shorter = self._interpolate(context[1:]) if context else np.full(size, 1 / size)
        seen = self._counts.get(context)
        if not seen:
            return shorter
        counts = np.zeros(size)
        counts[list(seen)] = list(seen.values())
        probs = (counts + self._smoothing * shorter) / (counts.sum() + self._smoothing)
        return probs / probs.sum()


class MixtureModel(ToyModel):
    """Draws from ``first`` with probability ``weight`` and from ``second`` otherwise.

    A draft that mixes the target with something worse is a draft of adjustable quality.
    """

    def __init__(self, first, second, weight):
        require_same_vocabulary(first, second, names=("first", "second"))
        super().__init__(first.vocabulary)
        self._first, self._second = first, second
        self._weight = _checks.single("weight", _checks.probability, weight)

    def next_probs(self, context):
        return self._weight * self._first.next_probs(context) + (1 - self._weight) * self._second.next_probs(context)


class AgreeingDraft(ToyModel):
    """A draft whose acceptance probability against ``target`` is the same ``a`` in every context.

    With probability w it draws from the target, otherwise a token that the target finds least likely
    (its ``junk``, several tokens where there is a tie). Such a draft is accepted with probability
    w + (1 − w) n m, where m is the probability of one junk token under the target and n their
    number, and w is set so that this is a. ValueError, on use, where n m > a: then no choice of w
    reaches a.

    >>> target = TableModel(["x", "y", "z"], [0.6, 0.4, 0.0])
    >>> AgreeingDraft(target, 0.8).next_probs([])
    array([0.48, 0.32, 0.2 ])
    """

    def __init__(self, target, a):
        super().__init__(require_model("target", target).vocabulary)
        self._target = target
        self._a = _checks.single("a", _checks.probability, a)

    def next_probs(self, context):
        p = self._target.next_probs(context)
        junk = p == p.min()
        agrees_anyway = p[junk].sum()
        if self._a < agrees_anyway:
            raise ValueError(f"a must be at least {agrees_anyway:g} in this context, got {self._a:g}")
        weight = 1.0 if self._a == 1 else (self._a - agrees_anyway) / (1 - agrees_anyway)
        return weight * p + (1 - weight) * junk / junk.sum()


def read_only(probs):
    """The same array, closed to changes: a model hands out its own rows."""
    probs.flags.writeable = False
    return probs


def split_words(text):
    """The words and punctuation marks of a text, lower case, in order.

    >>> split_words("She didn't. Why?")
    ['she', "didn't", '.', 'why', '?']
    """
    if not isinstance(text, str):
        raise ValueError(f"text must be a string, got {_checks.short(text)}")
    return re.findall(r"[\w']+|[^\w\s]", text.lower())


def encode(model, text):
    """Token ids of the words of ``text``; ValueError names the first word the model does not know.

    >>> encode(TableModel(["no", "yes"], [0.5, 0.5]), "yes no")
    (1, 0)
    """
    index = {word: token for token, word in enumerate(require_model("model", model, "vocabulary").vocabulary)}
    words = split_words(text)
    for word in words:
        if word not in index:
            raise ValueError(f"text must use words of the model's vocabulary, got {word!r}")
    return tuple(index[word] for word in words)


def to_text(model, tokens):
    """The text of some token ids: words with spaces, punctuation close to the word before it.

    >>> to_text(TableModel(["yes", "."], [0.5, 0.5]), [0, 0, 1])
    'yes yes.'
    """
    words = [str(model.vocabulary[token]) for token in as_tokens(model, "tokens", tokens)]
    return re.sub(r"\s+([.,?!;:])", r"\1", " ".join(words))


def as_tokens(model, name, tokens):
    """``tokens`` as a tuple of ints, each a token id of ``model``; ValueError otherwise."""
    size = len(require_model("model", model, "vocabulary").vocabulary)
    if isinstance(tokens, tuple) and all(type(token) is int and 0 <= token < size for token in tokens):
        return tokens
    try:
        ids = _checks.count(name, [] if isinstance(tokens, str) else list(tokens))
    except TypeError:
        raise _wrong_tokens(model, name, tokens) from None
    if isinstance(tokens, (str, bytes)) or ids.ndim != 1 or ids.max(initial=0) >= size:
        raise _wrong_tokens(model, name, tokens)
    return tuple(ids.tolist())


def _wrong_tokens(model, name, tokens):
    return ValueError(f"{name} must be a sequence of token ids below {len(model.vocabulary)} "
                      f"(models.encode makes them from text), got {_checks.short(tokens)}")


def require_model(name, model, *parts):
    """``model`` itself, if it has these attributes (``vocabulary`` and ``next_probs``, if none is named)."""
    missing = [part for part in parts or ("vocabulary", "next_probs") if not hasattr(model, part)]
    if missing or isinstance(model, type):
        raise ValueError(f"{name} must be a language model (with {', '.join(missing) or 'its arguments'}), "
                         f"got {_checks.short(model)}")
    return model


def require_same_vocabulary(target, draft, names=("target", "draft")):
    """ValueError unless both models number the same tokens alike; ids are never matched by position alone."""
    for name, model in zip(names, (target, draft)):
        require_model(name, model)
    if tuple(target.vocabulary) != tuple(draft.vocabulary):
        sizes = len(target.vocabulary), len(draft.vocabulary)
        detail = "different tokens" if sizes[0] == sizes[1] else f"{sizes[0]} and {sizes[1]} tokens"
        raise ValueError(f"{names[0]} and {names[1]} must share one vocabulary, got {detail}")


def story_text():
    """The short story that the toy models of this course have read (written for it)."""
    return resources.files("specdec_lessons").joinpath("data/story.txt").read_text(encoding="utf-8")


@lru_cache(maxsize=None)
def story_model(order=3, smoothing=0.0):
    """The course's toy target: an n-gram model of :func:`story_text`, readable and quick.

    >>> model = story_model()
    >>> to_text(model, encode(model, "the old woman looked"))
    'the old woman looked'
    """
    return NgramModel.from_text(story_text(), order, smoothing)
