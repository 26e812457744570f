"""The real pair: its files, its exactness, greedy and sampled, and the race's bookkeeping."""

import math
from collections import Counter

import numpy as np
import pytest
import threadpoolctl

from specdec_lessons import models, pair, race
from specdec_lessons.data.training.stories import END, stories
from specdec_lessons.decoding import decode, speculative_decode
from specdec_lessons.evidence import joint_chi_square
from specdec_lessons.rejection import acceptance_probability
from specdec_lessons.wrong_rules import WRONG_RULES

MEGABYTE = 1e6


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The matrices are small: a second BLAS thread would mostly wait for the first."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def real():
    return pair.load_pair()


@pytest.fixture(scope="module")
def exact():
    """The same pair in float64."""
    return pair.load_pair("float64")


class Remembering:
    """A model that answers each question once: the same rows, without computing them 20,000 times."""

    def __init__(self, model):
        self.model, self.vocabulary, self.rows = model, model.vocabulary, {}

    def next_probs(self, context):
        if context not in self.rows:
            self.rows[context] = self.model.next_probs(context)
        return self.rows[context]

    def score(self, context, drafts):
        if (context, drafts) not in self.rows:
            self.rows[context, drafts] = self.model.score(context, drafts)
        return self.rows[context, drafts]


# -- the files ----------------------------------------------------------------------------------------

def test_the_weights_are_small():
    files = [pair._file(f"{name}.npz") for name in pair.Pair._fields]
    assert sum(len(file.read_bytes()) for file in files) < 12 * MEGABYTE
    loaded = pair.load_pair()
    assert loaded.target.parameters > 5 * loaded.aligned.parameters > 5 * loaded.weak.parameters
    assert all(part.dtype == np.float32 for model in loaded for part in (model.embedding, *model.layers[0]))


def test_the_vocabulary_is_that_of_the_grammar():
    words = pair.pair_vocabulary()
    assert 400 <= len(words) <= 1500 and len(set(words)) == len(words)
    assert set(stories(12345, 500)) <= set(words)
    assert END in words and "." in words


def test_every_story_fits_the_context(real):
    lengths, length = [], 0
    for word in stories(2, 2000):
        length += 1
        if word == END:
            lengths.append(length)
            length = 0
    assert max(lengths) <= real.target.positions


def test_the_stories_tell_the_truth():
    """Who keeps the thing is who has it in the end."""
    text = " ".join(stories(3, 400)).split(END)
    given = [story for story in text if "put the" in story and "on the table and looked at it" in story]
    assert len(given) > 10
    for story in given:
        keeper = story.split(" put the ")[-2 if story.count(" put the ") > 1 else 0].split()[-1]
        assert f"in the end {keeper} had the" in story


def test_an_article_agrees_with_the_word_after_it():
    words = stories(4, 500)
    for article, word in zip(words, words[1:]):
        if article in ("a", "an"):
            assert (article == "an") == (word[0] in "aeiou"), (article, word)


def test_what_the_models_have_learnt(real):
    """Held-out loss in nats per token: far below guessing, and the drafts in their order."""
    text = [pair.pair_vocabulary().index(word) for word in stories(pair.HELD_OUT_SEED + 1, 20)]
    chunks = [tuple(text[i:i + 190]) for i in range(0, len(text) - 190, 190)]
    losses = []
    for model in real:
        rows = [model.score((), chunk) for chunk in chunks]
        losses.append(-np.mean([np.log(row[token]) for block, chunk in zip(rows, chunks)
                                for row, token in zip(block, chunk)]))
    assert losses[0] < losses[1] < losses[2] < math.log(len(pair.pair_vocabulary()))
    assert losses[0] < 1.0


def test_the_aligned_draft_agrees_more_than_the_weak_one(real):
    overlaps = np.zeros(2)
    for prompt in pair.prompts(5):
        tokens = decode(real.target, prompt, 60, np.random.default_rng(len(prompt))).tokens
        p, *qs = (model.score(prompt, tokens) for model in real)
        overlaps += [np.mean([acceptance_probability(*rows) for rows in zip(p, q)]) / 5 for q in qs]
    assert 0.7 < overlaps[0] < 1
    assert overlaps[1] < overlaps[0] - 0.1


# -- one pass and single steps ------------------------------------------------------------------------

@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("float64", 1e-10)])
def test_one_pass_equals_single_steps(dtype, tolerance):
    prompt, *_ = pair.prompts(1)
    for once, stepwise in zip(pair.load_pair(dtype), pair.load_pair(dtype)):
        tokens = decode(once, prompt, 40, np.random.default_rng(0)).tokens
        once.roll_back(0)
        steps = [stepwise.logits(prompt + tokens[:i])[0] for i in range(41)]
        np.testing.assert_allclose(once.logits(prompt, tokens), steps, rtol=0, atol=tolerance)


# -- exactness ----------------------------------------------------------------------------------------

def test_greedy_texts_are_identical(exact):
    """200 prompts of 64 tokens each. In float64: the rounding of a pass is far below any tie seen."""
    for number, prompt in enumerate(pair.prompts(200)):
        plain = decode(exact.target, prompt, 64, temperature=0).tokens
        draft, k = ((exact.aligned, 4), (exact.aligned, 7), (exact.weak, 2))[number % 3]
        assert speculative_decode(exact.target, draft, prompt, 64, k, temperature=0).tokens == plain


def test_greedy_texts_in_float32_part_at_ties_only(real, exact):
    """In float32 two texts may part, but only where the two tokens are as likely as rounding can tell."""
    for prompt in pair.prompts(30):
        plain = decode(real.target, prompt, 64, temperature=0).tokens
        other = speculative_decode(real.target, real.aligned, prompt, 64, 4, temperature=0).tokens
        parted = next((i for i, both in enumerate(zip(plain, other)) if both[0] != both[1]), None)
        if parted is not None:
            logits = exact.target.logits(prompt + plain[:parted])[0]
            assert abs(logits[plain[parted]] - logits[other[parted]]) < 1e-3


def first_two(target, draft, prompt, runs, seed, **settings):
    rng = np.random.default_rng(seed)
    texts = (speculative_decode(target, draft, prompt, 3, 2, rng, **settings).tokens for _ in range(runs))
    return Counter(tokens[:2] for tokens in texts)


def law_of_two(target, prompt):
    """The target's exact law of the next two tokens, by the chain rule, step by step."""
    first = target.next_probs(prompt)
    law = {(x, y): float(first[x] * chance) for x in range(len(first)) if first[x] > 0
           for y, chance in enumerate(target.next_probs((*prompt, x)))}
    total = math.fsum(law.values())
    return {tokens: chance / total for tokens, chance in law.items()}


def test_sampled_texts_follow_the_targets_law(exact):
    target, draft = Remembering(exact.target), Remembering(exact.aligned)
    prompt = pair.prompts(3)[2]
    law = law_of_two(exact.target, prompt)
    right = joint_chi_square(first_two(target, draft, prompt, 20_000, seed=1), law)
    assert right.n == 20_000 and right.dof > 20
    assert right.p_value > 1e-3


@pytest.mark.parametrize("rule", ["resample from p", "no residual"])
def test_the_same_test_sees_a_wrong_rule(exact, rule):
    target, draft = Remembering(exact.target), Remembering(exact.weak)
    prompt = pair.prompts(3)[2]
    observed = first_two(target, draft, prompt, 4_000, seed=1, verify=WRONG_RULES[rule])  # a fifth is enough
    assert joint_chi_square(observed, law_of_two(exact.target, prompt)).p_value < 1e-6


# -- bad input ----------------------------------------------------------------------------------------

def test_a_prompt_with_unknown_words_names_the_word(real):
    with pytest.raises(ValueError, match="text must use words of the model's vocabulary, got 'gpu'"):
        models.encode(real.target, "once upon a time there was a gpu .")


def test_an_empty_prompt_begins_a_story(real):
    trace = speculative_decode(real.target, real.aligned, (), 12, 4, np.random.default_rng(0))
    assert len(trace.tokens) == 12
    assert real.target.vocabulary[decode(real.target, (), 1, temperature=0).tokens[0]] in ("once", "a", "in")


def test_no_tokens_wanted_means_no_pass(real):
    assert speculative_decode(real.target, real.aligned, (), 0, 4).target_passes == 0


def test_k_larger_than_what_is_left(real):
    trace = speculative_decode(real.target, real.aligned, (), 3, 50, np.random.default_rng(0))
    assert len(trace.tokens) == 3 and max(len(r.drafted) for r in trace.rounds) <= 2


def test_a_context_that_is_too_long_says_so(real):
    limit = real.target.positions
    with pytest.raises(ValueError, match=f"must have at most {limit} tokens together"):
        decode(real.target, (1,) * limit, 2)


def test_a_run_fills_the_context_to_its_end(real):
    prompt, limit = pair.prompts(1)[0], real.target.positions
    rng = np.random.default_rng(0)
    trace = speculative_decode(real.target, real.aligned, prompt, limit - len(prompt), 4, rng)
    assert len(prompt) + len(trace.tokens) == limit


@pytest.mark.parametrize("call, message", [
    (lambda: pair.load_pair("float16"), "dtype must be 'float32' or 'float64'"),
    (lambda: pair.prompts(-1), "number must be a whole number of at least 0, got -1"),
    (lambda: pair.ngram_draft(number=0), "number must be a whole number of at least 1, got 0"),
    (lambda: pair.ngram_draft(order="x"), "order must be"),
    (lambda: race.race(None, None, [], 2), "prompts must hold at least one prompt"),
    (lambda: race.race(None, None, [(1,)], -2), "k must be a whole number of at least 0, got -2"),
])
def test_bad_input_in_one_line(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)


# -- the drafts and the race --------------------------------------------------------------------------

def test_the_ngram_draft_shares_the_vocabulary(real):
    draft = pair.ngram_draft(number=50)
    trace = speculative_decode(real.target, draft, pair.prompts(1)[0], 20, 3, np.random.default_rng(0))
    assert len(trace.tokens) == 20


def test_a_race_adds_up(real):
    result = race.race(real.target, real.aligned, pair.prompts(2), k=3, n_tokens=24, repeats=1)
    assert result.tokens == 48 and 48 / 4 <= result.passes <= 48
    assert result.tokens_per_pass == pytest.approx(48 / result.passes)
    expected = (1 - result.a**4) / (1 - result.a)
    assert result.expected == pytest.approx(expected)
    assert result.predicted == pytest.approx(expected / (result.v + 3 * result.c))
    assert result.measured == pytest.approx(result.plain_seconds / result.speculative_seconds)


def test_a_race_without_drafts_is_plain_decoding(real):
    result = race.race(real.target, real.aligned, pair.prompts(1), k=0, n_tokens=16, repeats=2)
    assert result.passes == 16 and result.a == 0 and result.c == 0
    assert result.expected == 1


def test_progress_goes_around_the_prompts(real):
    seen = []

    def bar(items):
        for item in items:
            seen.append(item)
            yield item

    race.race(real.target, real.weak, pair.prompts(3), k=1, n_tokens=4, repeats=1, progress=bar)
    assert seen == pair.prompts(3)


def test_the_table_is_plain_text():
    text = race.race_table([race.Race(2, 100, 1.0, 0.5, 40, 0.8, 0.1, 1.2)])
    assert "nan" not in text and len(text.splitlines()) == 2
