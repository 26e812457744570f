"""Exercises of lesson 2: a mask with a window, a greedy round with an end, the caches' lengths."""

import numpy as np

from specdec_lessons.exercises.kit import Exercise, Misconception


def _window_mask(cached, new, window):
    j, at = np.arange(cached + new), cached + np.arange(new)[:, None]
    return (j <= at) & (j > at - window)


def _no_window(cached, new, window):
    return np.tri(new, cached + new, cached, dtype=bool)


def _one_too_many(cached, new, window):
    return _window_mask(cached, new, window + 1)


def _ahead_too(cached, new, window):
    j, at = np.arange(cached + new), cached + np.arange(new)[:, None]
    return np.abs(j - at) < window


window_mask = Exercise(
    title="A mask with a window",
    statement="With ``cached`` positions in the cache and ``new`` positions in the pass, return a table"
              " of True and False of shape (new, cached + new): may new position i look at position j, if"
              " every position sees itself and what comes before it, ``window`` positions in all?",
    stub="def my_window_mask(cached, new, window):\n    ...  # your code",
    reference=_window_mask,
    cases=((0, 1, 3), (0, 3, 2), (2, 1, 2), (2, 3, 9), (4, 5, 3), (7, 3, 1)),
    hints=(
        "New position i (counted from 0) is position cached + i of the whole text.",
        "It sees position j when j <= cached + i (nothing from ahead) and j > cached + i - window"
        " (nothing too old).",
        "np.arange(cached + new) holds all j, of shape (cached + new,); np.arange(new)[:, None] holds all i,"
        " of shape (new, 1). Compared, the two broadcast to a table; & joins two tables.",
    ),
    solution_code="def my_window_mask(cached, new, window):\n"
                  "    j = np.arange(cached + new)\n"
                  "    i = np.arange(new)[:, None]\n"
                  "    return (j <= cached + i) & (j > cached + i - window)",
    misconceptions=(
        Misconception(_no_window, "That is the plain causal mask: the oldest positions must drop out of the"
                      " window."),
        Misconception(_one_too_many, "Your window is one position too wide: the position itself counts as one"
                      " of it."),
        Misconception(_ahead_too, "Yours lets a position see what comes after it: then row i knows the draft"
                      " that it is to judge, and judges by peeking."),
    ),
)


def _agreed(drafted, target_choices):
    n = 0
    while n < len(drafted) and drafted[n] == target_choices[n]:
        n += 1
    return n


def _round_with_end(drafted, target_choices, eos):
    n = _agreed(drafted, target_choices)
    emitted = [*drafted[:n], target_choices[n]]
    return emitted[:emitted.index(eos) + 1] if eos in emitted else emitted


def _round_past_the_end(drafted, target_choices, eos):
    n = _agreed(drafted, target_choices)
    return [*drafted[:n], target_choices[n]]


def _drafts_alone(drafted, target_choices, eos):
    emitted = list(drafted[:_agreed(drafted, target_choices)])
    return emitted[:emitted.index(eos) + 1] if eos in emitted else emitted


def _drafts_alone_past_the_end(drafted, target_choices, eos):
    return list(drafted[:_agreed(drafted, target_choices)])


def _every_match_past_the_end(drafted, target_choices, eos):
    kept = [d for d, t in zip(drafted, target_choices) if d == t]
    return [*kept, target_choices[_agreed(drafted, target_choices)]]


def _every_match(drafted, target_choices, eos):
    kept = [d for d, t in zip(drafted, target_choices) if d == t]
    emitted = [*kept, target_choices[_agreed(drafted, target_choices)]]
    return emitted[:emitted.index(eos) + 1] if eos in emitted else emitted


_FORGETS_OWN = ("Yours forgets the target's own token: every round adds one, so even a round without an accepted"
                " draft moves the text on.")
_KEEPS_MATCHES = ("Yours keeps matches behind the first mismatch: their rows were computed after a word that is"
                  " not in the text.")

greedy_round = Exercise(
    title="A round with an end",
    statement="Return the list of tokens that a greedy round emits, and let it stop at the end-of-sequence"
              " token ``eos`` (which is emitted too).",
    stub="def my_greedy_round(drafted, target_choices, eos):\n    ...  # your code",
    reference=_round_with_end,
    cases=(
        ([], [7], 9),
        ([1], [1, 2], 9),
        ([1], [3, 4], 9),
        ([1, 2, 3, 4], [1, 5, 3, 4, 6], 9),
        ([4, 4, 4, 4, 4, 4], [4, 4, 5, 4, 4, 4, 8], 9),
        ([1, 9, 3], [1, 9, 3, 2], 9),
        ([1, 2], [1, 9, 3], 9),
        ([9, 2], [5, 2, 6], 9),
    ),
    hints=(
        "First the round as if there were no end: the longest agreed prefix, then the target's own token.",
        "With n drafts agreed, that is [*drafted[:n], target_choices[n]].",
        "Then cut: if eos is in the list, keep everything up to and including its first place"
        " (emitted.index(eos)).",
    ),
    solution_code="def my_greedy_round(drafted, target_choices, eos):\n"
                  "    n = 0\n"
                  "    while n < len(drafted) and drafted[n] == target_choices[n]:\n"
                  "        n += 1\n"
                  "    emitted = [*drafted[:n], target_choices[n]]\n"
                  "    return emitted[:emitted.index(eos) + 1] if eos in emitted else emitted",
    misconceptions=(
        Misconception(_round_past_the_end, "Yours writes on after the end of the sequence: an accepted"
                      " draft can be the end, and nothing comes after it, no bonus"
                      " either."),
        Misconception(_drafts_alone, _FORGETS_OWN),
        Misconception(_drafts_alone_past_the_end, f"{_FORGETS_OWN} It also writes on after eos."),
        Misconception(_every_match, _KEEPS_MATCHES),
        Misconception(_every_match_past_the_end, f"{_KEEPS_MATCHES} It also writes on after eos."),
    ),
)


def _cache_lengths(context, k, accepted):
    return context + accepted, context + min(accepted, k - 1)


def _draft_as_long_as_target(context, k, accepted):
    return context + accepted, context + accepted


def _swapped(context, k, accepted):
    return _cache_lengths(context, k, accepted)[::-1]


def _own_token_cached(context, k, accepted):
    return context + accepted + 1, context + min(accepted + 1, k - 1)


def _not_rolled_back(context, k, accepted):
    return context + k, context + k - 1


cache_lengths_after = Exercise(
    title="How long are the caches?",
    statement="The text has ``context`` tokens, the last of which has been through neither model; ``k``"
              " (at least 1) are drafted and ``accepted`` of them accepted. Return how many positions"
              " (target's cache, draft's cache) hold after the round, when all that is wrong has been cut"
              " away.",
    stub="def my_cache_lengths_after(context, k, accepted):\n    ...  # your code",
    reference=_cache_lengths,
    cases=((5, 4, 2), (4, 4, 4), (1, 1, 0), (1, 1, 1), (10, 6, 5), (10, 6, 6), (200, 8, 0)),
    hints=(
        "After the verify pass the target's cache holds the context and all k drafts. How much of it is still"
        " true?",
        "The target's own token has come out of the pass, but it has not gone into one.",
        "The draft runs k steps and is fed the last token of the context and the drafts 1 to k - 1. It never"
        " reads its own last draft, so its cache never holds more than context + k - 1.",
    ),
    solution_code="def my_cache_lengths_after(context, k, accepted):\n"
                  "    return context + accepted, context + min(accepted, k - 1)",
    misconceptions=(
        Misconception(_draft_as_long_as_target, "After a full accept the draft's cache lacks one token: the"
                      " draft proposed its last word but never read it."),
        Misconception(_swapped, "Right lengths, wrong order: the target's cache comes first."),
        Misconception(_own_token_cached, "Yours counts the target's own token: it came out of the pass"
                      " and has not gone into one yet."),
        Misconception(_not_rolled_back, "Yours keeps the entries of rejected and discarded drafts: the next"
                      " tokens would look at words that are not in the text."),
    ),
)
