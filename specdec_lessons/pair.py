"""The course's real models: a target and drafts that have read some thousands of short stories.

They are transformers of this package (``transformer.Transformer``), trained for this course on stories from a
grammar (``data/training``) and small enough to travel with it. ``data/pair/MODEL_CARD.md`` says how they were
made and how good they are.
"""

from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.data.training.stories import END, stories
from specdec_lessons.models import NgramModel
from specdec_lessons.transformer import Transformer

HELD_OUT_SEED = 99  # no model has read the stories of this seed


class Pair(NamedTuple):
    """The target and two drafts, all over one vocabulary."""

    target: Transformer
    aligned: Transformer
    weak: Transformer

    @property
    def end(self):
        """The token id of the mark that ends a story; ``eos`` of the decoders."""
        return self.target.start


def load_pair(dtype="float32"):
    """The target, the aligned draft (distilled from it) and the weak draft -> :class:`Pair`.

    ``dtype`` 'float32' or 'float64' is what they compute in; the weights are stored in float16. Each call
    makes models of its own, each with a cache of its own. ValueError for another ``dtype``.

    In float32 a pass and single steps differ by about 1e-5 in the logits, because sums are taken in another
    order; where the two likeliest tokens are as close as that, greedy decoding may take the other one. In
    float64 the difference is about 1e-14, and such a tie has not been seen.

    >>> target, aligned, weak = load_pair()
    >>> target.vocabulary == aligned.vocabulary == weak.vocabulary, len(target.layers)
    (True, 16)
    """
    vocabulary = pair_vocabulary()
    return Pair(*(_load(name, vocabulary, dtype) for name in Pair._fields))


def ngram_draft(order=3, number=1500):
    """A draft that costs next to nothing: it counted ``number`` stories of the grammar.

    ``order``: how many tokens it looks back. It shares the pair's vocabulary.

    >>> ngram_draft(number=20).order
    3
    """
    number = _checks.single_count("number", number, at_least=1)
    return _ngram(_checks.single_count("order", order), number)


def prompts(number, seed=HELD_OUT_SEED):
    """The first sentences of ``number`` stories that no model has read: tuples of token ids.

    >>> [len(prompt) > 5 for prompt in prompts(2)]
    [True, True]
    """
    number = _checks.single_count("number", number)
    index = {word: token for token, word in enumerate(pair_vocabulary())}
    openings, opening, inside = [], [], True
    for word in stories(_checks.single_count("seed", seed), number):
        if inside:
            opening.append(index[word])
        if word == "." and inside:
            openings.append(tuple(opening))
            opening, inside = [], False
        inside = inside or word == END
    return openings


@lru_cache(maxsize=None)
def pair_vocabulary():
    """The words and marks that the pair knows, in the order of their token ids.

    >>> "kite" in pair_vocabulary()
    True
    """
    return tuple(_file("vocabulary.txt").read_text(encoding="utf-8").split())


@lru_cache(maxsize=None)
def _ngram(order, number):
    vocabulary = pair_vocabulary()
    index = {word: token for token, word in enumerate(vocabulary)}
    words = stories(1, number)
    return NgramModel(vocabulary, [index[END], *(index[word] for word in words)], order)


def _load(name, vocabulary, dtype):
    with _file(f"{name}.npz").open("rb") as file, np.load(file) as arrays:
        weights = dict(arrays)
    heads, positions = int(weights.pop("heads")), int(weights.pop("positions"))
    return Transformer(vocabulary, weights, heads, positions - 1, vocabulary.index(END), dtype)


def _file(name):
    return resources.files("specdec_lessons").joinpath("data", "pair", name)
