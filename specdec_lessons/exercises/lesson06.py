"""Exercises of lesson 6: one round by hand, how much to draft, a speedup predicted from a log."""

from specdec_lessons import formulas
from specdec_lessons.exercises.kit import Exercise, Misconception


def _cut(tokens, eos):
    return tokens[:tokens.index(eos) + 1] if eos in tokens else tokens


def _kept(drafted, ratios, coins):
    """How many drafts are accepted."""
    verdicts = [coin < ratio for ratio, coin in zip(ratios, coins)]
    return verdicts.index(False) if False in verdicts else len(drafted)


def _one_round(drafted, ratios, coins, own, eos):
    n = _kept(drafted, ratios, coins)
    return _cut([*drafted[:n], own[n]], eos)


def _end_at_the_end_only(drafted, ratios, coins, own, eos):
    n = _kept(drafted, ratios, coins)
    return [*drafted[:n], own[n]]


def _goes_on(drafted, ratios, coins, own, eos):
    kept = [x if coin < ratio else mine for x, ratio, coin, mine in zip(drafted, ratios, coins, own)]
    return _cut([*kept, own[-1]], eos)


def _no_own_token(drafted, ratios, coins, own, eos):
    return _cut(list(drafted[:_kept(drafted, ratios, coins)]), eos)


def _always_the_bonus(drafted, ratios, coins, own, eos):
    return _cut([*drafted[:_kept(drafted, ratios, coins)], own[-1]], eos)


def _at_least(drafted, ratios, coins, own, eos):
    verdicts = [coin <= ratio for ratio, coin in zip(ratios, coins)]
    n = verdicts.index(False) if False in verdicts else len(drafted)
    return _cut([*drafted[:n], own[n]], eos)


def _without_the_end(drafted, ratios, coins, own, eos):
    whole = _end_at_the_end_only(drafted, ratios, coins, own, eos)
    return whole[:whole.index(eos)] if eos in whole else whole


one_round = Exercise(
    title="One round",
    statement=(
        "Write one_round(drafted, ratios, coins, own, eos): the tokens that a round emits. own[i] is what the"
        " target puts in at place i itself; nothing comes after eos."),
    stub="def one_round(drafted, ratios, coins, own, eos):\n    ...  # your code",
    reference=_one_round,
    cases=(
        (["the"], [0.5], [0.2], ["a", "kite"], "¶"),
        (["the"], [0.5], [0.7], ["a", "kite"], "¶"),
        (["the", "red", "kite"], [1.0, 0.5, 1.0], [0.9, 0.8, 0.1], ["a", "blue", "ball", "."], "¶"),
        (["the", "end", "."], [1.0, 0.9, 0.8], [0.3, 0.3, 0.3], ["a", "kite", "!", "¶"], "¶"),
        ([".", "¶", "once"], [1.0, 1.0, 1.0], [0.3, 0.3, 0.3], ["!", "she", "a", "upon"], "¶"),
        ([".", "she"], [1.0, 0.1], [0.4, 0.6], ["!", "¶", "had"], "¶"),
        (["gpu", "."], [0.0, 1.0], [0.0, 0.5], ["kite", "!", "she"], "¶"),
        ([], [], [], ["kite"], "¶"),
    ),
    hints=(
        "Go from left to right. A draft is accepted where its coin lies below its ratio.",
        "Count the accepted ones up to the first miss: n. Then the round adds own[n], correction or bonus.",
        "Cut the list behind eos if eos is in it: result[:result.index(eos) + 1].",
    ),
    solution_code=(
        "def one_round(drafted, ratios, coins, own, eos):\n"
        "    n = 0\n"
        "    while n < len(drafted) and coins[n] < ratios[n]:\n"
        "        n += 1\n"
        "    result = drafted[:n] + [own[n]]\n"
        "    return result[:result.index(eos) + 1] if eos in result else result"),
    misconceptions=(
        Misconception(_end_at_the_end_only,
                      "The end can stand among the accepted drafts; nothing may come after it, no bonus"
                      " either."),
        Misconception(_without_the_end, "The mark of the end is a token of the text too: emit it."),
        Misconception(_goes_on, "You went on after a miss. What lies behind it is discarded, unseen."),
        Misconception(_no_own_token,
                      "Every round adds one token of the target's own, unless the text has ended."),
        Misconception(_always_the_bonus,
                      "After a miss the correction comes from that very place: own[n], not own[k]."),
        Misconception(_at_least, "The coin must lie strictly below the ratio: a ratio of 0 accepts nothing,"
                                 " not even a coin of exactly 0."),
    ),
)


def _draft_lengths(n, k):
    lengths = []
    while n > 0:
        lengths.append(min(k, n - 1))
        n -= lengths[-1] + 1
    return lengths


def _lengths(n, k, allowed):
    lengths = []
    while n > 0:
        lengths.append(allowed(n, k))
        n -= lengths[-1] + 1
    return lengths


draft_lengths = Exercise(
    title="How much to draft",
    statement=(
        "Write draft_lengths(n, k): the draft length of each round when n tokens are wanted, at most k are"
        " drafted a round, and all are accepted."),
    stub="def draft_lengths(n, k):\n    ...  # your code",
    reference=_draft_lengths,
    cases=((1, 5), (3, 5), (6, 5), (10, 4), (12, 4), (11, 4), (4, 0), (0, 3)),
    hints=(
        "A round that drafts d tokens, all accepted, emits d + 1.",
        "If m tokens are still wanted, a round may draft m − 1: the last one is the target's own.",
        "While n > 0: append min(k, n − 1), and take that plus one from n.",
    ),
    solution_code=(
        "def draft_lengths(n, k):\n"
        "    lengths = []\n"
        "    while n > 0:\n"
        "        lengths.append(min(k, n - 1))\n"
        "        n -= lengths[-1] + 1\n"
        "    return lengths"),
    misconceptions=(
        Misconception(lambda n, k: _lengths(n, k, min),
                      "That drafts as many as are wanted. One of them will be the target's own:"
                      " n − 1 are enough."),
        Misconception(lambda n, k: _lengths(n, k, lambda _, k: k),
                      "The last round drafts past what is wanted: those drafts are thrown away for sure."),
        Misconception(lambda n, k: [min(k, n - start) for start in range(0, n, max(k, 1))],
                      "A round with d accepted drafts emits d + 1 tokens, not d: the bonus counts."),
    ),
)


def _predicted(step, draft_step, verify_pass, accepted, judged, k):
    return formulas.speedup(accepted / judged, k, draft_step / step, verify_pass / step)


def _sum(a, k):
    return sum(a**i for i in range(k + 1))


predicted_speedup = Exercise(
    title="Predict the speedup",
    statement=(
        "Write predicted_speedup(step, draft_step, verify_pass, accepted, judged, k): S from three times in"
        " seconds and two counts."),
    stub="def predicted_speedup(step, draft_step, verify_pass, accepted, judged, k):\n    ...  # your code",
    reference=_predicted,
    cases=(
        (2.0, 1.0, 3.0, 5, 10, 1),
        (0.010, 0.001, 0.010, 80, 100, 4),
        (0.010, 0.001, 0.015, 80, 100, 4),
        (0.0005, 0.00005, 0.0008, 30, 60, 8),
        (0.030, 0.0024, 0.045, 72, 100, 2),
    ),
    hints=(
        "Make everything a number without units: a is a share, c and v are times in plain steps.",
        "a = accepted / judged, c = draft_step / step, v = verify_pass / step.",
        "S = E / (v + k c) with E = 1 + a + … + a^k.",
    ),
    solution_code=(
        "def predicted_speedup(step, draft_step, verify_pass, accepted, judged, k):\n"
        "    a = accepted / judged\n"
        "    E = sum(a ** i for i in range(k + 1))\n"
        "    return E * step / (verify_pass + k * draft_step)"),
    misconceptions=(
        Misconception(
            lambda step, draft_step, verify_pass, accepted, judged, k:
            _sum(accepted / judged, k) / (1 + k * draft_step / step),
            "You took the verify pass for free, v = 1; it has been measured."),
        Misconception(
            lambda step, draft_step, verify_pass, accepted, judged, k:
            _sum(accepted / judged, k) / (verify_pass + k * draft_step),
            "Tokens per second is not a speedup yet: compare it with one token per plain step."),
        Misconception(
            lambda step, draft_step, verify_pass, accepted, judged, k:
            (1 + k * accepted / judged) * step / (verify_pass + k * draft_step),
            "1 + k·a counts drafts that lie behind a miss. Use E = 1 + a + … + a^k."),
        Misconception(
            lambda step, draft_step, verify_pass, accepted, judged, k:
            _sum(accepted / judged, k) * step / (verify_pass + draft_step),
            "A round takes k draft steps, one after the other."),
        Misconception(
            lambda step, draft_step, verify_pass, accepted, judged, k:
            _sum(accepted / judged, k) * step / (step + verify_pass + k * draft_step),
            "The verify pass takes the place of the plain step: it is not paid on top of one."),
    ),
)
