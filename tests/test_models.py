"""The toy models: what they count, what they promise to the loop, what they refuse."""

import numpy as np
import pytest

from specdec_lessons import models, rejection
from specdec_lessons.models import AgreeingDraft, MixtureModel, NgramModel, TableModel

WORDS = ("a", "b", "c", "d")


def random_rows(rng, *shape, zeros=0.3):
    rows = rng.exponential(size=shape) * (rng.random(shape) > zeros)
    rows[..., 0] += 0.01
    return rows / rows.sum(-1, keepdims=True)


def some_models():
    rng = np.random.default_rng(0)
    table = TableModel(WORDS, random_rows(rng, 4, 4), random_rows(rng, 4))
    other = TableModel(WORDS, random_rows(rng, 4, 4))
    return {
        "table": table,
        "one row": TableModel(WORDS, random_rows(rng, 4)),
        "n-gram": NgramModel(WORDS, rng.integers(0, 4, 60), order=2, smoothing=0.7),
        "n-gram, sharp": NgramModel(WORDS, rng.integers(0, 4, 60), order=3, smoothing=0),
        "mixture": MixtureModel(table, other, 0.3),
        "agreeing": AgreeingDraft(table, 0.9),
    }


@pytest.mark.parametrize("name, model", some_models().items())
def test_a_row_of_score_is_next_probs_after_the_drafts_before_it(name, model):
    assert isinstance(model, models.LanguageModel)
    for context in ((), (1,), (3, 0, 2)):
        for drafts in ((), (2,), (0, 3, 1, 1)):
            rows = model.score(context, drafts)
            assert rows.shape == (len(drafts) + 1, 4)
            assert np.allclose(rows.sum(1), 1, atol=1e-12) and np.all(rows >= 0)
            for i, row in enumerate(rows):
                assert np.array_equal(row, model.next_probs(context + drafts[:i]))


@pytest.mark.parametrize("name, model", some_models().items())
@pytest.mark.parametrize("kind", [list, np.array])
def test_lists_and_arrays_are_contexts_too(name, model, kind):
    assert np.array_equal(model.next_probs(kind([1, 2])), model.next_probs((1, 2)))
    assert np.array_equal(model.score(kind([1]), kind([2, 0])), model.score((1,), (2, 0)))


@pytest.mark.parametrize("name, model", some_models().items())
@pytest.mark.parametrize("context", [
    "the old", 3, None, [[0, 1]], [4], [-1], [0.5], [None], np.zeros((1, 2), int)], ids=repr)
def test_what_is_no_context_is_refused(name, model, context):
    with pytest.raises(ValueError, match="^context must "):
        model.next_probs(context)
    with pytest.raises(ValueError, match="^context must "):
        model.score(context, [0])
    with pytest.raises(ValueError, match="^drafts must "):
        model.score([0], context)


@pytest.mark.parametrize("name, model", some_models().items())
def test_nobody_can_change_a_model_by_writing_into_what_it_returned(name, model):
    for context in ((), (1,)):
        before = model.next_probs(context).copy()
        try:
            model.next_probs(context)[:] = 0
        except ValueError:
            pass
        assert np.array_equal(model.next_probs(context), before)


def test_table_rows_follow_the_last_token_alone():
    model = TableModel("xy", [[0.25, 0.75], [1, 0]], start=[0.5, 0.5])
    assert model.next_probs([]).tolist() == [0.5, 0.5]
    assert model.next_probs([1, 0]).tolist() == [0.25, 0.75]
    assert model.next_probs([0, 0, 1]).tolist() == [1, 0]
    assert TableModel("xy", [[0.25, 0.75], [1, 0]]).next_probs([]).tolist() == [0.5, 0.5]
    assert TableModel("xy", [0.25, 0.75]).next_probs([]).tolist() == [0.25, 0.75]


# -- n-gram -----------------------------------------------------------------------------------------

TEXT = "a b a b a c a b c c"  # after a: b 3, c 1; after b: a 2, c 1; after c: a 1, c 1; all: a 4, b 3, c 3


@pytest.mark.parametrize("context, counts", [
    ("", (4, 3, 3)), ("a", (0, 3, 1)), ("b", (2, 0, 1)), ("c", (1, 0, 1)), ("c b", (2, 0, 1)),
])
def test_bigrams_against_hand_counts(context, counts):
    model = NgramModel.from_text(TEXT, order=1, smoothing=0)
    probs = model.next_probs(models.encode(model, context))
    assert np.allclose(probs, np.divide(counts, sum(counts)), rtol=1e-15)


def test_trigrams_against_hand_counts():
    """Of the pairs, a b is followed by a, a, c; b a by b, c; c a by b; b c by c."""
    model = NgramModel.from_text(TEXT, order=2, smoothing=0)
    for context, right in (("a b", (2 / 3, 0, 1 / 3)), ("b a", (0, 1 / 2, 1 / 2)), ("c a", (0, 1, 0)),
                           ("b c", (0, 0, 1)), ("c c", (1 / 2, 0, 1 / 2))):  # c c ends the text: back to c
        assert np.allclose(model.next_probs(models.encode(model, context)), right, rtol=1e-15), context


def test_smoothing_weighs_the_shorter_context_as_so_many_counts():
    model = NgramModel.from_text(TEXT, order=1, smoothing=2.0)
    alone = (np.array([4, 3, 3]) + 2 / 3) / 12
    assert np.allclose(model.next_probs([]), alone, rtol=1e-14)
    assert np.allclose(model.next_probs([0]), (np.array([0, 3, 1]) + 2 * alone) / 6, rtol=1e-14)


def test_order_zero_knows_frequencies_only():
    model = NgramModel.from_text(TEXT, order=0, smoothing=0)
    assert model.next_probs([]).tolist() == model.next_probs([1, 2]).tolist() == [0.4, 0.3, 0.3]


def test_the_story_model_knows_its_story():
    model = models.story_model()
    words = models.split_words(models.story_text())
    assert set(model.vocabulary) == set(words)
    follow = [b for a, b in zip(zip(words, words[1:], words[2:]), words[3:]) if a == ("the", "old", "woman")]
    probs = model.next_probs(models.encode(model, "the old woman"))
    for word in set(follow):
        assert probs[model.vocabulary.index(word)] == pytest.approx(follow.count(word) / len(follow))
    assert models.story_model() is model


# -- mixtures and the agreeing draft ----------------------------------------------------------------

def test_a_mixture_lies_between_its_two_models():
    first, second = TableModel("xy", [1, 0]), TableModel("xy", [0.5, 0.5])
    assert np.allclose(MixtureModel(first, second, 0.25).next_probs([]), [0.625, 0.375])
    assert np.array_equal(MixtureModel(first, second, 1).next_probs([1]), first.next_probs([1]))


@pytest.mark.parametrize("a", [0.3, 0.5, 0.8, 0.999, 1.0])
def test_the_agreeing_draft_is_accepted_with_a_in_every_context(a):
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 6, 6)
    rows[:, 5] = 0  # every row rules out a token, so that every a can be reached
    rows /= rows.sum(1, keepdims=True)
    target = TableModel("abcdef", rows, rows[0])
    draft = AgreeingDraft(target, a)
    for context in [(), *((token,) for token in range(6)), (1, 2, 3)]:
        p, q = target.next_probs(context), draft.next_probs(context)
        assert abs(q.sum() - 1) < 1e-14 and np.all(q >= 0)
        assert abs(np.minimum(p, q).sum() - a) < 1e-12
        assert abs(rejection.acceptance_probability(p, q) - a) < 1e-12


def test_the_agreeing_draft_on_the_story():
    target = models.story_model()
    draft = AgreeingDraft(target, 0.8)
    context = models.encode(target, "the old woman")
    for _ in range(30):
        p, q = target.next_probs(context), draft.next_probs(context)
        assert abs(np.minimum(p, q).sum() - 0.8) < 1e-12
        context += (int(p.argmax()),)


def test_an_agreement_out_of_reach_is_an_error():
    target = TableModel("xy", [0.7, 0.3])  # the likeliest disagreement still shares 0.3
    assert np.allclose(AgreeingDraft(target, 0.3).next_probs([]), [0, 1])
    with pytest.raises(ValueError, match="a must be at least 0.3 in this context, got 0.2"):
        AgreeingDraft(target, 0.2).next_probs([])


# -- text -------------------------------------------------------------------------------------------

def test_text_goes_to_tokens_and_back():
    model = models.story_model()
    text = "the boy had a dog, and the dog had a red ribbon."
    tokens = models.encode(model, text.title())
    assert all(type(token) is int for token in tokens)
    assert models.to_text(model, tokens) == text
    assert models.to_text(model, np.array(tokens)) == text
    assert models.encode(model, "") == () and models.to_text(model, ()) == ""


# -- bad input --------------------------------------------------------------------------------------

PAIR = TableModel("xy", [0.5, 0.5])


@pytest.mark.parametrize("call, says", [
    (lambda: models.encode(PAIR, "x z q"), "text must use words of the model's vocabulary, got 'z'"),
    (lambda: models.encode(PAIR, 3), "text must be a string, got 3"),
    (lambda: models.encode(PAIR, ["x"]), "text must be a string, got ['x']"),
    (lambda: models.encode("x", PAIR), "model must be a language model (with vocabulary), got 'x'"),
    (lambda: models.to_text(PAIR, "x"), "tokens must be a sequence of token ids below 2"),
    (lambda: models.to_text(PAIR, [0, 2]), "tokens must be a sequence of token ids below 2"),
    (lambda: models.to_text(PAIR, [-1]), "tokens must be a whole number of at least 0, got -1"),
    (lambda: models.to_text(PAIR, 1), "tokens must be a sequence of token ids below 2"),
    (lambda: models.to_text(PAIR, [[0, 1]]), "tokens must be a sequence of token ids below 2"),
    (lambda: TableModel([], [[]]), "vocabulary must hold at least one token"),
    (lambda: TableModel("xx", [0.5, 0.5]), "none twice, got ('x', 'x')"),
    (lambda: TableModel(2, [0.5, 0.5]), "vocabulary must be a sequence of tokens, got 2"),
    (lambda: TableModel([["x"], ["y"]], [0.5, 0.5]), "vocabulary must be a sequence of tokens"),
    (lambda: TableModel("xy", [0.5, 0.6]), "table row 0 must sum to 1, got a sum of 1.1"),
    (lambda: TableModel("xy", [[1, 0], [0.4, 0.4]]), "table row 1 must sum to 1, got a sum of 0.8"),
    (lambda: TableModel("xy", [[1, 0]]), "table must have shape (2, 2) or (2,), got (1, 2)"),
    (lambda: TableModel("xy", [[1, 0], [1]]), "table must be a number or an array of numbers"),
    (lambda: TableModel("xy", [[1, 0], [np.nan, 1]]), "table must be finite and at least 0, got nan"),
    (lambda: TableModel("xy", None), "table must be a number or an array of numbers, got None"),
    (lambda: TableModel("xy", [[1, 0], [0, 1]], [1.0]), "start must have 2 entries, got 1"),
    (lambda: TableModel("xy", [[1, 0], [0, 1]], "x"), "start must be a list of probabilities, got 'x'"),
    (lambda: NgramModel("xy", [], 1), "tokens must hold at least one token, got none"),
    (lambda: NgramModel("xy", [0, 2], 1), "tokens must be a sequence of token ids below 2"),
    (lambda: NgramModel("xy", [0], 1.5), "order must be a whole number of at least 0, got 1.5"),
    (lambda: NgramModel("xy", [0], 1, -1), "smoothing must be finite and at least 0, got -1"),
    (lambda: NgramModel("xy", [0], 1, [1, 2]), "smoothing must be a single number"),
    (lambda: NgramModel.from_text(""), "text must hold at least one word, got ''"),
    (lambda: NgramModel.from_text(None), "text must be a string, got None"),
    (lambda: MixtureModel(PAIR, TableModel("xyz", [1, 0, 0]), 0.5),
     "first and second must share one vocabulary, got 2 and 3 tokens"),
    (lambda: MixtureModel(PAIR, TableModel("yx", [1, 0]), 0.5),
     "first and second must share one vocabulary, got different tokens"),
    (lambda: MixtureModel(PAIR, PAIR, 1.5), "weight must lie in [0, 1], got 1.5"),
    (lambda: MixtureModel(PAIR, PAIR, [0.5]), "weight must be a single number"),
    (lambda: MixtureModel(PAIR, [0.5, 0.5], 0.5), "second must be a language model"),
    (lambda: AgreeingDraft(PAIR, -0.1), "a must lie in [0, 1], got -0.1"),
    (lambda: AgreeingDraft([0.5, 0.5], 0.9), "target must be a language model"),
    (lambda: AgreeingDraft(TableModel, 0.9), "target must be a language model"),
])
def test_bad_input_is_named_and_shown(call, says):
    with pytest.raises(ValueError) as error:
        call()
    assert says in str(error.value)
