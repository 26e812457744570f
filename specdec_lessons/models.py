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
        self.vocabulary = tuple(vocabulary)
        if not self.vocabulary or len(set(self.vocabulary)) != len(self.vocabulary):
            raise ValueError(f"vocabulary must hold at least one token and none twice, got {self.vocabulary!r}")

    def next_probs(self, context):
        raise NotImplementedError

    def score(self, context, drafts):
        context, drafts = tuple(context), tuple(drafts)
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
        rows = np.asarray(table, dtype=np.float64)
        if rows.shape == (size,):
            start = rows if start is None else start
            rows = np.tile(rows, (size, 1))
        if rows.shape != (size, size):
            raise ValueError(f"table must have shape ({size}, {size}) or ({size},), got {rows.shape}")
        self._rows = [_checks.distribution(f"table row {i}", row) for i, row in enumerate(rows)]
        self._start = _checks.distribution("start", np.full(size, 1 / size) if start is None else start)
        if self._start.size != size:
            raise ValueError(f"start must have {size} entries, got {self._start.size}")

    def next_probs(self, context):
        return self._rows[context[-1]] if len(context) else self._start


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
        self._smoothing = float(_checks.non_negative("smoothing", smoothing))
        self._counts = defaultdict(Counter)
        tokens = as_tokens(self, "tokens", tokens)
        if not tokens:
            raise ValueError("tokens must hold at least one token, got none")
        for end, token in enumerate(tokens):
            for length in range(min(self.order, end) + 1):
                self._counts[tokens[end - length:end]][token] += 1
        self._probs_after = lru_cache(maxsize=None)(self._interpolate)

    @classmethod
    def from_text(cls, text, order=2, smoothing=1.0):
        """Count the words and punctuation marks of ``text``; the vocabulary is what occurs in it."""
        words = split_words(text)
        vocabulary = sorted(set(words))
        index = {word: token for token, word in enumerate(vocabulary)}
        return cls(vocabulary, [index[word] for word in words], order, smoothing)

    def next_probs(self, context):
        context = tuple(context)
        return self._probs_after(context[max(0, len(context) - self.order):])

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
        self._weight = _single_probability("weight", weight)

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
        super().__init__(target.vocabulary)
        self._target = target
        self._a = _single_probability("a", a)

    def next_probs(self, context):
        p = self._target.next_probs(context)
        junk = p == p.min()
        agrees_anyway = p[junk].sum()
        if self._a < agrees_anyway:
            raise ValueError(f"a must be at least {agrees_anyway:g} in this context, got {self._a:g}")
        weight = 1.0 if self._a == 1 else (self._a - agrees_anyway) / (1 - agrees_anyway)
        return weight * p + (1 - weight) * junk / junk.sum()


def _single_probability(name, value):
    array = _checks.probability(name, value)
    if array.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {array.shape}")
    return float(array)


def split_words(text):
    """The words and punctuation marks of a text, lower case, in order.

    >>> split_words("She didn't. Why?")
    ['she', "didn't", '.', 'why', '?']
    """
    return re.findall(r"[\w']+|[^\w\s]", text.lower())


def encode(model, text):
    """Token ids of the words of ``text``; ValueError names the first word the model does not know.

    >>> encode(TableModel(["no", "yes"], [0.5, 0.5]), "yes no")
    (1, 0)
    """
    index = {word: token for token, word in enumerate(model.vocabulary)}
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
    words = [model.vocabulary[token] for token in as_tokens(model, "tokens", tokens)]
    return re.sub(r"\s+([.,?!;:])", r"\1", " ".join(words))


def as_tokens(model, name, tokens):
    """``tokens`` as a tuple of ints, each a token id of ``model``; ValueError otherwise."""
    if isinstance(tokens, str):
        raise ValueError(f"{name} must be token ids (models.encode makes them from text), got {tokens!r}")
    size = len(model.vocabulary)
    ids = _checks.count(name, list(tokens))
    if ids.size and ids.max() >= size:
        raise ValueError(f"{name} must hold token ids below {size}, got {ids.max()}")
    return tuple(ids.tolist())


def require_same_vocabulary(target, draft, names=("target", "draft")):
    """ValueError unless both models number the same tokens alike; ids are never matched by position alone."""
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
