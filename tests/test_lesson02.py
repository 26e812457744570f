"""Lesson 2: what its cells print, recomputed by other means; its figures; its exercises."""

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import cost, figures, models, publish
from specdec_lessons.exercises import lesson02
from tests.stored import printed

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "02_parallel_verification.ipynb"
WORDS = models.split_words(models.story_text())
CONTEXT = "every morning the man went".split()


@pytest.fixture(scope="module")
def cells():
    return publish.code_cells(publish.read(NOTEBOOK))


# -- greedy decoding of the story, by counting words: none of the course's code -----------------------------

def followers(prefix, order):
    """Counts of what follows the longest suffix of ``prefix`` (at most ``order`` words) that the story has."""
    for length in range(min(order, len(prefix)), -1, -1):
        suffix = list(prefix[len(prefix) - length:])
        seen = Counter(WORDS[i + length] for i in range(len(WORDS) - length) if WORDS[i:i + length] == suffix)
        if seen:
            return seen
    raise AssertionError("the story is empty")


def best(prefix, order):
    """The most frequent follower; of several the first in the alphabet."""
    seen = followers(prefix, order)
    return min(word for word in seen if seen[word] == max(seen.values()))


def greedy(prefix, order, n):
    text = list(prefix)
    for _ in range(n):
        text.append(best(text, order))
    return text[len(prefix):]


def rounds(prefix, order, n, k):
    """(drafted, accepted, own word) of each round, by the rule in words: longest agreed prefix, then one more."""
    text, made = list(prefix), []
    while (remaining := len(prefix) + n - len(text)) > 0:
        drafted = greedy(text, order, min(k, remaining - 1))
        accepted = 0
        while accepted < len(drafted) and drafted[accepted] == best(text, 3):
            text.append(drafted[accepted])
            accepted += 1
        own = best(text, 3)
        text.append(own)
        made.append((drafted, accepted, own))
    return text[len(prefix):], made


def joined(words):
    return " ".join(words).replace(" .", ".").replace(" ,", ",")


def test_whole_text_and_passes(cells):
    text = greedy(CONTEXT, 3, 24)
    fast, made = rounds(CONTEXT, 2, 24, 4)
    assert fast == text
    shown = printed(cells, "friend = story_model(order=2)")
    assert f"plain:       {joined(text)}\n" in shown
    assert f"speculative: {joined(text)}\n" in shown
    assert "the same text: True" in shown
    assert f"target passes: 24 and {len(made)}\n" in shown
    assert len(made) == 10


def test_round_by_round(cells):
    lines = printed(cells, "enumerate(fast.rounds").splitlines()
    _, made = rounds(CONTEXT, 2, 24, 4)
    assert len(lines) == len(made)
    for number, (line, (drafted, accepted, own)) in enumerate(zip(lines, made), start=1):
        last = "bonus" if accepted == len(drafted) else "correction"
        assert line.split() == [
            str(number), *drafted, str(accepted), "of", str(len(drafted)), "kept", "→",
            *drafted[:accepted], own, f"({last})"]


def test_the_parrot(cells):
    text, made = rounds(CONTEXT, 0, 24, 4)
    assert text == greedy(CONTEXT, 3, 24)
    rejections = sum(accepted < len(drafted) for drafted, accepted, _ in made)
    shown = printed(cells, "rejections = sum")
    assert f"rejections: {rejections}\n" in shown
    assert f"passes, if each rejection cost one more: {len(made) + rejections}\n" in shown
    assert f"passes counted: {len(made)}" in shown
    assert len(made) <= 24
    assert "the same text as plain decoding: True" in printed(cells, "parrot = story_model(order=0)")


def test_the_six_guesses(cells):
    drafted = greedy(CONTEXT, 2, 6)
    preferred = [best(CONTEXT + drafted[:i], 3) for i in range(7)]
    assert f"The draft proposes {', '.join(drafted)}. The target’s rows prefer {', '.join(preferred)}." in printed(
        cells, "figures.greedy_round(guessed, preferred),")
    assert "Emitted: to the sea." in printed(cells, "figures.greedy_round(guessed, preferred),")
    assert "six drafts:  ['to', 'the', 'sea']" in printed(cells, "def one_round")
    assert "it is 3 words" in printed(cells, "def one_round")


def test_rows_in_words(cells):
    lines = printed(cells, "scored = target.score").splitlines()
    drafts = ["to", "the", "shore", ","]
    for i in range(5):
        prefix = CONTEXT + drafts[:i]
        assert lines[i] == f"row {i}: after “{joined(prefix)}” the target prefers “{best(prefix, 3)}”"
    assert "it is 4 rows" in lines[5]  # the last row judges nobody


def test_the_tail(cells):
    shown = printed(cells, "wrong_prefix = ")
    went = CONTEXT + ["to", "the"]
    assert f"after “… to the shore” the target prefers “{best(went + ['shore'], 3)}”" in shown
    assert f"after “… to the sea” the target prefers “{best(went + ['sea'], 3)}”" in shown
    assert "text: to the sea " + joined(greedy(went + ["sea"], 3, 3)) in shown
    drafted = greedy(CONTEXT, 2, 6)
    assert "the wrong rule's text:  " + " ".join([*drafted[:2], "sea", *drafted[3:]]) in shown


def test_ties(cells):
    seen = followers("the little boat of".split(), 3)
    assert len(set(seen.values())) == 1
    assert printed(cells, "equally likely").strip() == f"equally likely: {sorted(seen)}"
    text = list(CONTEXT)
    for _ in range(24):
        seen = followers(text, 3)
        text.append(max(word for word in seen if seen[word] == max(seen.values())))
    shown = printed(cells, "of equal words take the last one")
    assert f"last of equals:  {joined(text[5:])}" in shown
    assert f"first of equals: {joined(greedy(CONTEXT, 3, 24))}" in shown


def test_the_lab_and_the_cell_beside_it(cells):
    text, made = rounds(CONTEXT, 1, 24, 4)
    assert f"it is {len(made)} passes" in printed(cells, "weak_friend = ")
    assert f"24 tokens from {len(made)} target passes" in printed(cells, "lab = ReplayLab")
    lines, start = printed(cells, "right by luck").splitlines(), 0
    for number, (line, (drafted, accepted, _)) in enumerate(zip(lines, made, strict=True), start=1):
        lucky = [drafted[i] for i in range(accepted + 1, len(drafted)) if text[start + i] == drafted[i]]
        start += accepted + 1
        assert line == f"round {number:2}: {start:2} tokens from {number:2} passes; right by luck: {lucky}"


# -- attention ----------------------------------------------------------------------------------------------

def test_attention_of_the_lesson_is_attention(cells):
    """The lesson's own cells against a loop over positions with the softmax written out."""
    space = {}
    for cell in cells:
        if any(start in cell.source for start in ("import numpy", "target = story_model(order=3)", "def attend(",
                                                  "def rows(", "def continue_rows(")):
            exec(cell.source, space)
    tokens = space["context"] + space["drafts"]
    x = [space["embed"][token] + space["place"][i] for i, token in enumerate(tokens)]
    expected = []
    for i in range(len(tokens)):
        query = x[i] @ space["to_query"]
        fits = [math.exp(float(query @ (x[j] @ space["to_key"])) / math.sqrt(space["width"])) for j in range(i + 1)]
        seen = sum(fit / sum(fits) * (x[j] @ space["to_value"]) for j, fit in enumerate(fits))
        expected.append((x[i] + seen) @ space["embed"].T)
    np.testing.assert_allclose(space["rows"](tokens), expected, rtol=1e-10, atol=1e-10)
    empty = np.zeros((0, space["width"]))
    _, keys, values = space["continue_rows"](tokens[:4], empty, empty)
    last, keys, values = space["continue_rows"](tokens[4:], keys, values)
    np.testing.assert_allclose(last, expected[4:], rtol=1e-10, atol=1e-10)
    assert len(keys) == len(values) == 9


def test_what_the_attention_cells_say(cells):
    assert "largest difference below 1e-12: True" in printed(cells, "one_by_one = np.stack")
    # the third of four drafts is position 8 of 9: the rows that stand on it and behind it
    assert "row changed: [False, False, False, True, True]" in printed(cells, "to the cave")
    assert "it is 2 rows" in printed(cells, "to the cave")
    # without a mask only the last position has nothing to peek at
    assert "row still right: [False, False, False, False, True]" in printed(cells, "everyone = np.ones")
    verify = printed(cells, "verify_rows, keys, values")
    assert "before the pass: 4\n" in verify and "after the pass:  9\n" in verify and "before: True" in verify
    rolled = printed(cells, "truth = rows")
    assert "from 7 cached positions: same row as from scratch: True" in rolled
    assert "from 9 cached positions: same row as from scratch: False" in rolled


# -- costs, logits, caches -----------------------------------------------------------------------------------

def test_one_pass_against_five(cells):
    shown = printed(cells, "model, chip = ")
    reading = Decimal(14) / Decimal("2.039")  # ms: 14 GB at 2.039 TB/s
    assert f"14 GB, {reading:4.1f} ms" in shown
    assert f"70 GB, {5 * reading:.1f} ms" in shown
    assert f"70 and 70 GFLOP, which takes the chip {Decimal(70) / 312:.2f} ms" in shown


def test_predicted_pass_cost(cells):
    shown = printed(cells, "positions = [1, 2, 5")
    for n in (1, 2, 5, 17, 100, 200, 400):
        # 14 GFLOP a position and attention among the new ones, 4 x 32 x 4096 a pair, against 14 GB of reading
        compute = (14e9 * n + 4 * 32 * 4096 * n * (n + 1) / 2) / 312e12
        assert f"v({n}) = {max(1.0, compute / (14e9 / 2.039e12)):.2f}" in shown
    assert "price of one: 152" in shown


def test_the_two_logits(cells):
    shown = printed(cells, "plain_step = ")
    assert f"A leads by {Decimal('24.319630') - Decimal('24.295303'):+}, greedy takes A" in shown
    assert f"A leads by {Decimal('24.298832') - Decimal('24.301819'):+}, greedy takes B" in shown


def caches_by_hand(context, k, accepted):
    """Feed two lists as the two models are fed, and cut them back to what the text has."""
    text, drafts = [f"c{i}" for i in range(context)], [f"d{i}" for i in range(k)]
    target, draft = text[:-1], text[:-1]
    for token in [text[-1], *drafts[:-1]]:  # one draft step each, which writes the next draft
        draft.append(token)
    target += [text[-1], *drafts]
    true = [*text, *drafts[:accepted], "own"]
    lengths = []
    for cache in (target, draft):
        while cache != true[:len(cache)]:
            cache.pop()
        lengths.append(len(cache))
    return tuple(lengths)


def test_cache_lengths(cells):
    lines = printed(cells, "n, k = 4, 4").splitlines()
    for accepted in range(5):
        target, draft = caches_by_hand(4, 4, accepted)
        assert lines[accepted] == (
            f"{accepted} accepted: wanted {target}, draft's cache {draft}, lacking {target - draft}")
    assert "it is 1 lacking" in lines[5]


def test_measured_cell_starts_at_one(cells):
    shown = printed(cells, "times = cost.measure_columns")
    assert "  1 columns:" in shown and "1.00 times one column" in shown


# -- exercises ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("context, k", [(1, 1), (4, 4), (7, 2), (30, 9)])
def test_exercise_caches(context, k):
    for accepted in range(k + 1):
        assert lesson02.cache_lengths_after.reference(context, k, accepted) == caches_by_hand(context, k, accepted)


def test_exercise_round_with_an_end():
    right = lesson02.greedy_round.reference
    assert right([1, 9, 3], [1, 9, 3, 2], 9) == [1, 9]  # the end inside a draft that all matches: no bonus
    assert right([1, 2, 3], [1, 9, 3, 4], 9) == [1, 9]
    assert right([1, 2], [1, 2, 3], 9) == [1, 2, 3]
    assert right([], [9], 9) == [9]


def test_exercise_window_mask():
    for cached, new, window in ((0, 1, 1), (3, 4, 2), (5, 2, 100)):
        mask = lesson02.window_mask.reference(cached, new, window)
        assert mask.shape == (new, cached + new)
        for i in range(new):
            seen = [j for j in range(cached + new) if mask[i, j]]
            assert seen == list(range(cached + new))[:cached + i + 1][-window:]


# -- figures -----------------------------------------------------------------------------------------------------

def test_causal_mask_fills_the_lower_triangle():
    fig = figures.causal_mask(["a", "b", "c"], ["d", "e"])
    white = [patch for patch in fig.axes[0].patches if patch.get_facecolor() == (1, 1, 1, 1)]
    assert len(fig.axes[0].patches) == 25 and len(white) == 10  # 5 x 5, of which 5 x 4 / 2 are out of sight
    assert all(patch.get_x() > patch.get_y() for patch in white)
    assert "last 3 rows" in fig.alt
    labels = [text.get_text() for text in fig.axes[0].texts]
    assert "row 2: what comes after “e”?  the bonus row" in labels


@pytest.mark.parametrize("choices, signs", [
    (["a", "b", "c"], "✓✓★"), (["a", "x", "c"], "✓✗↺"), (["x", "b", "c"], "✗–↺"),
])
def test_greedy_round_signs(choices, signs):
    texts = [text.get_text() for text in figures.greedy_round(["a", "b"], choices).axes[0].texts]
    assert all(any(text.startswith(sign) for text in texts) for sign in signs)
    assert not any(text.startswith(sign) for text in texts for sign in set("✓✗–↺★") - set(signs))
    hidden = [text.get_text() for text in figures.greedy_round(["a", "b"], choices, verdict=False).axes[0].texts]
    assert not any(text[0] in "✓✗–↺★" for text in hidden)


def test_caches_show_what_lacks():
    def lacking(fig):
        return sum(text.get_text() == "lacking" for text in fig.axes[0].texts)

    assert lacking(figures.caches(["a"], ["b", "c"], ["b", "c", "d"])) == 1
    assert lacking(figures.caches(["a"], ["b", "c"], ["b", "x", "d"])) == 0
    assert "kept 3. Draft cache: 2 entries after drafting, kept 2, lacking 1" in figures.caches(
        ["a"], ["b", "c"], ["b", "c", "d"]).alt


@pytest.mark.parametrize("call, message", [
    (lambda: figures.causal_mask([], ["a"]), "context"),
    (lambda: figures.causal_mask("a b", ["a"]), "context must be a list of words"),
    (lambda: figures.greedy_round(["a"], ["a"]), "choices must hold"),
    (lambda: figures.caches([], ["a"], ["a", "b"]), "context"),
    (lambda: figures.pass_cost([1.0], cost.MODELS["7B"], cost.HARDWARE["L4"]), "times must be"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_trained_transformer_answers_alike_in_one_pass_and_after_a_cut(cells):
    """Once upon … mary. is 11 tokens: with the start token and 4 drafts 16 are cached, 14 kept, 1 computed."""
    assert "(5, 496)" in printed(cells, "one_pass = real.logits") and "True" in printed(cells, "one_pass = real.logits")
    lines = printed(cells, "went_on = real.logits").splitlines()
    assert lines == ["cached after the pass: 16", "went on from 14 cached positions; newly computed: 1",
                     "same row as from scratch: True"]
