"""A decoder-only transformer in numpy, small enough to read: one token's way from an id to a distribution.

    two embeddings → (norm → attention → add) → (norm → hidden layer → add) → … → norm → head → softmax

Norm first and without gains, rotary positions, no biases. Each position looks up two embeddings, of its
token and of the one before it: that saves a small model a layer that would only look one place back.

What each position leaves for the later ones, its keys and values, stays in a cache, so that a call computes
only the tokens that are new, all of them in ONE pass. That is what makes checking k drafts cost about one
step, and what a rejected draft must be rolled back from.

Shapes: n new positions, t positions with the cached ones, ``width`` numbers a position, ``heads`` of
``size`` = width / heads numbers each, V tokens.

Sources: Vaswani et al., arXiv 1706.03762 (attention); Zhang and Sennrich, arXiv 1910.07467 (the norm);
Su et al., arXiv 2104.09864 (rotary positions). The models of this course are made by data/training/train.py.
"""

from itertools import compress, count
from operator import ne

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.models import as_tokens

EPSILON = 1e-5  # keeps the norm of a zero vector finite


class Transformer:
    """A language model (see ``models.LanguageModel``) with a cache of its own.

    ``vocabulary``: V tokens; ``start``: the id of the token that stands before every context;
    ``weights``: arrays ``embedding`` and ``previous`` (V, width), ``qkv`` (layers, width, 3 width), ``out``
    (layers, width, width), ``up`` (layers, width, hidden), ``down`` (layers, hidden, width), ``head`` (width,
    V); ``heads`` of attention; ``positions``: the longest context and drafts together, in tokens; ``dtype``
    float32 or float64, in which it computes.
    ValueError where shapes do not fit, and later for unknown tokens and for a context that is too long.

    The cache holds one text. A call finds how much of it the new text shares, forgets the rest, and computes
    what is missing; the answer never depends on what was asked before (up to rounding).

    >>> model = random_transformer(["a", "b", "c"], seed=0)
    >>> model.next_probs([0, 1]).shape, model.score([0, 1], [2, 2]).shape
    ((3,), (3, 3))
    >>> model.new_positions    # 1, 2 and 2: the start token and the 0 came from the cache
    3
    """

    def __init__(self, vocabulary, weights, heads, positions=200, start=0, dtype=np.float32):
        self.vocabulary = tuple(vocabulary)
        name = getattr(dtype, "__name__", str(dtype))
        if name not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', got {_checks.short(dtype)}")
        self.dtype = np.dtype(name)
        self.positions = _checks.single_count("positions", positions, at_least=1)
        self.start = as_tokens(self, "start", [start])[0]
        arrays = _weights(weights, len(self.vocabulary), self.dtype)
        self.embedding, self.previous, self.head = map(arrays.get, ("embedding", "previous", "head"))
        self.layers = list(zip(*(arrays[part] for part in ("qkv", "out", "up", "down"))))
        self.heads = _checks.single_count("heads", heads, at_least=1)
        self.width = self.embedding.shape[1]
        if self.width % (2 * self.heads):
            raise ValueError(f"heads must divide the width {self.width} into even parts, got {heads}")
        size, length = self.width // self.heads, self.positions + 1  # one more for the start token
        self.rotation = rotations(length, size).astype(np.result_type(self.dtype, np.complex64))
        self.mask = np.triu(np.full((length, length), -np.inf, self.dtype), 1)  # nobody sees what comes after
        self.keys = np.zeros((len(self.layers), self.heads, size, length), self.dtype)
        self.values = np.zeros((len(self.layers), self.heads, length, size), self.dtype)
        self.cached = ()  # the tokens whose keys and values are in the cache
        self.new_positions = 0  # how many positions the last pass computed

    @property
    def parameters(self):
        """How many numbers were trained."""
        in_layers = sum(part.size for layer in self.layers for part in layer)
        return self.embedding.size + self.previous.size + self.head.size + in_layers

    def next_probs(self, context):
        """Distribution of the token that follows ``context`` (token ids), shape (V,)."""
        return self.score(context, ())[0]

    def score(self, context, drafts):
        """ONE causal pass over what is new in ``context`` and over the ``drafts``.

        Shape (len(drafts) + 1, V), float64; row i is the distribution after ``context + drafts[:i]``.
        """
        return softmax(self.logits(context, drafts).astype(np.float64))

    def logits(self, context, drafts=()):
        """The scores before the softmax, in the model's own dtype: shape (len(drafts) + 1, V)."""
        context, drafts = self._tuple("context", context), self._tuple("drafts", drafts)
        tokens = (self.start, *context, *drafts)
        if len(tokens) > self.positions + 1:
            raise ValueError(f"context and drafts must have at most {self.positions} tokens together, "
                             f"got {len(tokens) - 1}")
        kept = min(shared(self.cached, tokens), len(context))  # the context's last token must answer
        as_tokens(self, "context", tokens[kept:])
        self.roll_back(kept)
        x = self._pass(tokens[kept:])
        return norm(x[len(context) - kept:]) @ self.head

    def roll_back(self, length):
        """Keep the first ``length`` cached tokens (the start token counts) and forget the others.

        Nothing is moved or wiped: what lies behind the new end is overwritten by the next pass.
        """
        self.cached = self.cached[:length]

    def _pass(self, tokens):
        """All layers for n new tokens, (n, width); their keys and values go into the cache."""
        begin, end = len(self.cached), len(self.cached) + len(tokens)
        rotation = self.rotation[begin:end]
        mask = self.mask[begin:end, :end] if len(tokens) > 1 else None  # one token comes after all the others
        before = (self.cached or (self.start,))[-1:] + tokens[:-1]
        x = self.embedding[list(tokens)] + self.previous[list(before)]  # (n, width)
        for (qkv, out, up, down), keys, values in zip(self.layers, self.keys, self.values):
            x = x + self._attention(norm(x) @ qkv, rotation, mask, keys, values, begin, end) @ out
            x = x + np.maximum(norm(x) @ up, 0) @ down
        self.cached += tuple(tokens)
        self.new_positions = len(tokens)
        return x

    def _attention(self, qkv, rotation, mask, keys, values, begin, end):
        """Each new position takes a weighted mean of the values up to its own: (n, width)."""
        n = len(qkv)
        qkv = qkv.reshape(n, 3, self.heads, -1)  # queries, keys and values of each head
        rotate(qkv[:, :2], rotation)  # places enter here, in queries and keys
        keys[:, :, begin:end] = qkv[:, 1].transpose(1, 2, 0)  # (heads, size, n) of (heads, size, length)
        values[:, begin:end] = qkv[:, 2].transpose(1, 0, 2)  # (heads, n, size)
        scores = qkv[:, 0].transpose(1, 0, 2) @ keys[:, :, :end]  # (heads, n, t)
        scores *= (self.width // self.heads) ** -0.5
        if mask is not None:
            scores += mask
        mixed = softmax(scores) @ values[:, :end]  # (heads, n, size)
        return mixed.transpose(1, 0, 2).reshape(n, self.width)

    def _tuple(self, name, tokens):
        return tokens if type(tokens) is tuple else as_tokens(self, name, tokens)


def norm(x):
    """Each row divided by its root mean square (of (n, width), unchanged in shape).

    >>> norm(np.array([[3.0, -3.0]])).round(3)
    array([[ 1., -1.]])
    """
    return x / np.sqrt(np.vecdot(x, x)[:, None] / x.shape[1] + EPSILON)


def softmax(scores):
    """Positive numbers that sum to 1 along the last axis; the largest score is taken off first.

    >>> softmax(np.array([0.0, -np.inf]))
    array([1., 0.])
    """
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def rotations(length, size):
    """For each place and each pair of numbers of a head the rotation e^(i angle): (length, 1, 1, size / 2).

    The angle is place × 10000^(−2j / size) for pair j: near places differ in the first pairs alone.

    >>> rotations(2, 2)[1, 0, 0].round(3)    # one radian further
    array([0.54+0.841j])
    """
    half = size // 2
    angles = np.arange(length)[:, None] * 10_000.0 ** (-np.arange(half) / half)
    return np.exp(1j * angles)[:, None, None]


def rotate(x, rotation):
    """Turn each pair of numbers of ``x`` (n, …, size) by its angle, in place: a pair is one complex number.

    After it, the product of a query and a key depends on how far apart they are, not on where.
    """
    pairs = x.view(rotation.dtype)
    pairs *= rotation


def shared(one, other):
    """How many tokens two texts have in common at their beginning.

    >>> shared((1, 2, 3), (1, 2, 4, 5))
    2
    """
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))


def random_transformer(vocabulary, seed, layers=2, width=16, heads=2, hidden=32, **settings):
    """A transformer that has learnt nothing: for tests, and to time a shape before it is trained.

    >>> random_transformer(["a", "b"], seed=1).parameters
    4192
    """
    rng = np.random.default_rng(_checks.single_count("seed", seed))
    size = len(vocabulary)
    shapes = _shapes(size, layers, width, hidden)
    weights = {part: rng.standard_normal(shape) * shape[-2] ** -0.5 for part, shape in shapes.items()}
    return Transformer(vocabulary, weights, heads, **settings)


def _weights(weights, size, dtype):
    parts = tuple(_shapes(0, 0, 0, 0))
    missing = [part for part in parts if part not in weights]
    if missing:
        raise ValueError(f"weights must hold {', '.join(parts)}; {', '.join(missing)} is missing")
    arrays = {part: np.ascontiguousarray(weights[part], dtype) for part in parts}
    layers, width = arrays["qkv"].shape[0], arrays["embedding"].shape[-1]
    hidden = arrays["up"].shape[-1]
    for part, shape in _shapes(size, layers, width, hidden).items():
        if arrays[part].shape != shape:
            raise ValueError(f"weights must have {part} of shape {shape}, got {arrays[part].shape}")
    return arrays


def _shapes(size, layers, width, hidden):
    return dict(embedding=(size, width), previous=(size, width), qkv=(layers, width, 3 * width),
                out=(layers, width, width), up=(layers, width, hidden), down=(layers, hidden, width),
                head=(width, size))
