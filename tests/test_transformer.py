"""The transformer: one pass equals single steps, a rollback leaves no trace, its parts do what they say."""

import numpy as np
import pytest

from specdec_lessons import transformer
from specdec_lessons.decoding import decode, speculative_decode
from specdec_lessons.models import LanguageModel, TableModel
from specdec_lessons.transformer import Transformer, random_transformer

VOCABULARY = tuple("abcdefghijk")
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


def make(seed=0, **settings):
    settings = dict(layers=3, width=24, heads=2, hidden=40, positions=40) | settings
    return random_transformer(VOCABULARY, seed, **settings)


def text(seed, length):
    return tuple(np.random.default_rng(seed).integers(0, len(VOCABULARY), length).tolist())


def slow_logits(model, tokens):
    """The same transformer in plain loops, no cache, no complex numbers: logits after every token."""
    tokens = [model.start, *tokens]
    size = model.width // model.heads
    before = [model.start, *tokens]  # the start token comes after itself
    x = [model.embedding[one] + model.previous[other] for one, other in zip(tokens, before)]

    def normed(row):
        return row / np.sqrt((row * row).mean() + 1e-5)

    def turned(row, place):
        row = row.copy()
        for j in range(size // 2):
            angle = place * 10_000.0 ** (-2 * j / size)
            a, b = row[2 * j], row[2 * j + 1]
            row[2 * j] = a * np.cos(angle) - b * np.sin(angle)
            row[2 * j + 1] = a * np.sin(angle) + b * np.cos(angle)
        return row

    for qkv, out, up, down in model.layers:
        parts = [(normed(row) @ qkv).reshape(3, model.heads, size) for row in x]
        mixed = []
        for i in range(len(x)):
            heads = []
            for h in range(model.heads):
                query = turned(parts[i][0, h], i)
                keys = [turned(parts[j][1, h], j) for j in range(i + 1)]
                weights = np.array([np.exp(query @ key / size**0.5) for key in keys])
                weights /= weights.sum()
                heads.append(sum(weight * parts[j][2, h] for j, weight in enumerate(weights)))
            mixed.append(np.concatenate(heads))
        x = [row + more @ out for row, more in zip(x, mixed)]
        x = [row + np.maximum(normed(row) @ up, 0) @ down for row in x]
    return np.array([normed(row) @ model.head for row in x])


def test_it_is_a_language_model():
    assert isinstance(make(), LanguageModel)


def test_the_same_numbers_as_plain_loops():
    model, tokens = make(dtype="float64"), text(1, 12)
    rows = model.logits((), tokens)
    np.testing.assert_allclose(rows, slow_logits(model, tokens), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("k", [0, 1, 4, 9])
def test_one_pass_equals_single_steps(dtype, k):
    context, drafts = text(2, 15), text(3, k)
    at_once = make(dtype=dtype).logits(context, drafts)
    stepwise, model = [], make(dtype=dtype)
    for end in range(len(context) + k + 1):
        stepwise.append(model.logits((*context, *drafts)[:end])[0])
        assert model.new_positions == 1
    assert at_once.dtype == dtype and at_once.shape == (k + 1, len(VOCABULARY))
    np.testing.assert_allclose(at_once, stepwise[-k - 1:], rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_after_a_rollback_as_after_none(dtype):
    model, context = make(dtype=dtype), text(4, 10)
    fresh = make(dtype=dtype).logits((*context, 5))
    model.score(context, (1, 2, 3))  # drafts that are all thrown away
    rolled = model.logits((*context, 5))
    assert model.new_positions == 1
    np.testing.assert_allclose(rolled, fresh, rtol=0, atol=TOLERANCE[dtype])


def test_the_answer_does_not_depend_on_what_was_asked_before():
    rng, model = np.random.default_rng(5), make(dtype="float64")
    for _ in range(60):
        context = text(rng.integers(3), rng.integers(0, 20))  # three texts, of all lengths
        drafts = text(rng.integers(99), rng.integers(0, 5))
        fresh = make(dtype="float64").score(context, drafts)
        np.testing.assert_allclose(model.score(context, drafts), fresh, rtol=0, atol=1e-12)


def test_the_cache_saves_what_can_be_saved():
    model, context = make(), text(6, 10)
    model.score(context, (1, 2, 3))
    assert model.new_positions == 1 + 10 + 3
    model.score((*context, 1, 2), (7,))  # two drafts were kept, the second of them must answer again
    assert model.new_positions == 2
    model.next_probs((*context, 1, 2))
    assert model.new_positions == 1
    model.next_probs(())
    assert model.new_positions == 1


def test_no_position_sees_what_comes_after_it():
    model = make(dtype="float64")
    one, other = model.score(text(7, 5), (1, 2, 3)), model.score(text(7, 5), (1, 2, 4))
    np.testing.assert_allclose(one[:3], other[:3], rtol=0, atol=1e-12)
    assert np.abs(one[3] - other[3]).max() > 1e-3


def test_attention_depends_on_distance_alone():
    rotation = transformer.rotations(30, 8)
    query, key = np.random.default_rng(8).standard_normal((2, 8))

    def product(place, other):
        q, k = query.reshape(1, 1, 1, 8).copy(), key.reshape(1, 1, 1, 8).copy()
        transformer.rotate(q, rotation[place:place + 1])
        transformer.rotate(k, rotation[other:other + 1])
        return float((q * k).sum())

    assert product(20, 15) == pytest.approx(product(9, 4), abs=1e-12)
    assert abs(product(20, 15) - product(20, 14)) > 1e-3


def test_rows_are_distributions_in_float64():
    rows = make().score(text(9, 5), text(10, 3))
    assert rows.dtype == np.float64 and rows.min() > 0
    np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-12)


def test_parameters_by_hand():
    width, hidden, layers, size = 24, 40, 3, len(VOCABULARY)
    assert make().parameters == layers * (4 * width**2 + 2 * width * hidden) + 3 * size * width


@pytest.mark.parametrize("k", [1, 4])
def test_greedy_speculation_is_greedy_decoding(k):
    target, draft = make(dtype="float64"), make(seed=1, layers=1, dtype="float64")
    for seed in range(10):
        prompt = text(seed, 4)
        plain = decode(target, prompt, 20, temperature=0).tokens
        assert speculative_decode(target, draft, prompt, 20, k, temperature=0).tokens == plain


@pytest.mark.parametrize("call, message", [
    (lambda: make().next_probs([11]), "context must be a sequence of token ids below 11"),
    (lambda: make().next_probs((1, -1)), "context must be"),
    (lambda: make().next_probs("abc"), "context must be a sequence of token ids"),
    (lambda: make().score((1,), (99,)), "must be a sequence of token ids below 11"),
    (lambda: make().score((1,), None), "drafts must be"),
    (lambda: make().next_probs(text(0, 41)), "at most 40 tokens together, got 41"),
    (lambda: make().score(text(0, 39), (1, 2)), "at most 40 tokens together, got 41"),
    (lambda: make(heads=5), "heads must divide"),
    (lambda: make(heads=24), "heads must divide"),
    (lambda: make(dtype="float16"), "dtype must be 'float32' or 'float64'"),
    (lambda: make(dtype=None), "dtype must be"),
    (lambda: make(positions=0), "positions must be a whole number of at least 1, got 0"),
    (lambda: Transformer(VOCABULARY, {}, 2), "weights must hold"),
    (lambda: Transformer("ab", {part: np.ones(shape) for part, shape in dict(
        embedding=(3, 4), previous=(2, 4), qkv=(1, 4, 12), out=(1, 4, 4), up=(1, 4, 8), down=(1, 8, 4),
        head=(4, 2)).items()}, 2),
     "weights must have embedding of shape (2, 4), got (3, 4)"),
    (lambda: speculative_decode(make(), TableModel("ab", [0.5, 0.5]), (), 3), "must share one vocabulary"),
])
def test_bad_input_in_one_line(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_error_leaves_the_model_usable():
    model, context = make(dtype="float64"), text(11, 6)
    model.score(context, (1, 2))
    with pytest.raises(ValueError):
        model.score((*context, 1), (99,))
    fresh = make(dtype="float64").next_probs((*context, 1))
    np.testing.assert_allclose(model.next_probs((*context, 1)), fresh, rtol=0, atol=1e-12)


def test_the_longest_context_is_allowed_and_an_empty_one_too():
    model = make()
    assert model.next_probs(text(0, 40)).shape == model.next_probs(()).shape == (len(VOCABULARY),)
