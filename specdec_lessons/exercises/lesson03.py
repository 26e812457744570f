"""Exercises of lesson 3: survivors, tokens per pass, their law, and a from what a run counted."""

import numpy as np

from specdec_lessons import formulas
from specdec_lessons.exercises.kit import Exercise, Misconception


def _survival(a, k):
    return [a**i for i in range(1, k + 1)]


survival = Exercise(
    title="Survivors",
    statement="Write survival(a, k): the k chances that draft 1, draft 2, …, draft k is kept, as a list.",
    stub="def survival(a, k):\n    ...  # your code",
    reference=_survival,
    cases=((0.5, 1), (0.5, 2), (0.8, 4), (1.0, 3), (0.0, 2), (0.3, 7)),
    hints=(
        "Draft 2 is kept only where draft 1 was kept too. What is the chance of both?",
        "Draft i needs i coins in a row that say yes.",
        "That is a multiplied by itself i times, for i = 1, …, k.",
    ),
    solution_code="def survival(a, k):\n    return [a ** i for i in range(1, k + 1)]",
    misconceptions=(
        Misconception(
            lambda a, k: [a] * k,
            "Each draft is right with chance a, but it is kept only where all before it were right"
            " as well."),
        Misconception(
            lambda a, k: [a**i for i in range(k)],
            "Your list begins with 1: that is the target's own token, kept in every pass."
            " Draft 1 is kept with chance a."),
        Misconception(
            lambda a, k: [a**i for i in range(k + 1)],
            "That is one number too many: the 1 in front belongs to the target's own token."),
        Misconception(
            lambda a, k: [a**i * (1 - a) for i in range(k)],
            "That is the chance that draft i is the first rejected one; asked is that it is kept."),
    ),
)

expected_tokens = Exercise(
    title="Tokens per pass",
    statement="Write expected_tokens(a, k): the expected number of tokens of one pass, at a = 1 too.",
    stub="def expected_tokens(a, k):\n    ...  # your code",
    reference=formulas.expected_tokens,
    cases=((0.5, 0), (0.5, 1), (0.8, 2), (0.8, 4), (0.9, 4), (0.0, 4), (1.0, 4)),
    hints=(
        "Add up the chances of all tokens that can come out of a pass, the target's own one included.",
        "1 + a + a² + … + a^k: a sum over i from 0 to k.",
        "The quotient divides by zero at a = 1 and loses digits near it; the sum does neither.",
    ),
    solution_code="def expected_tokens(a, k):\n    return sum(a ** i for i in range(k + 1))",
    misconceptions=(
        Misconception(
            lambda a, k: k * a + 1,
            "k·a + 1 counts every draft that is right, also those behind a miss, which nobody looks at."),
        Misconception(
            lambda a, k: k * a,
            "k·a counts drafts that lie behind a miss, and leaves out the target's own token."),
        Misconception(
            lambda a, k: sum(a**i for i in range(k)),
            "You stopped at a^(k−1), which is (1 − a^k)/(1 − a): one term short."
            " A pass can yield k + 1 tokens."),
        Misconception(
            lambda a, k: sum(a**i for i in range(1, k + 1)),
            "Those are the accepted drafts alone. Every pass adds one token of the target's own."),
        Misconception(
            lambda a, k: a**k,
            "a^k is the chance that all k drafts are accepted, not a number of tokens."),
        Misconception(
            lambda a, k: 1 + k * a**k,
            "That counts all k drafts or none; a pass with a miss still keeps the drafts before it."),
    ),
)

token_law = Exercise(
    title="The law of tokens per pass",
    statement="Write token_law(a, k): the k + 1 chances of 1 token, 2 tokens, …, k + 1 tokens, as a list.",
    stub="def token_law(a, k):\n    ...  # your code",
    reference=formulas.tokens_per_pass_pmf,
    cases=((0.5, 0), (0.5, 1), (0.5, 2), (0.8, 4), (0.0, 3), (1.0, 3)),
    hints=(
        "Exactly n tokens, n ≤ k: n − 1 drafts were accepted and then one was rejected.",
        "k + 1 tokens: all k drafts were accepted. No coin is left that could say no.",
        "a^(n−1) (1 − a) for n = 1, …, k, and a^k at the end. Do they add up to 1?",
    ),
    solution_code=(
        "def token_law(a, k):\n"
        "    return [a ** (n - 1) * (1 - a) for n in range(1, k + 1)] + [a ** k]"),
    misconceptions=(
        Misconception(
            lambda a, k: [a**n * (1 - a) for n in range(k + 1)],
            "The last one needs no miss: when all k drafts are accepted the pass is over."
            " Yours do not add up to 1."),
        Misconception(
            lambda a, k: [a**n for n in range(k + 1)],
            "Those are the chances of at least n tokens; asked is exactly n. Yours add up to E."),
        Misconception(
            lambda a, k: [float(x) for x in _binomial(a, k)],
            "That is the number of coins that say yes, wherever they lie. Only those before the first"
            " no count."),
        Misconception(
            lambda a, k: [a ** (n - 1) * (1 - a) for n in range(1, k + 1)],
            "That is k numbers: the pass in which all k drafts are accepted, with its bonus, is missing."),
    ),
)


def _binomial(a, k):
    law = np.ones(1)
    for _ in range(k):
        law = np.convolve(law, [1 - a, a])
    return law


def _acceptance_from_rounds(tokens, k):
    accepted = sum(n - 1 for n in tokens)
    judged = sum(min(n, k) for n in tokens)
    return accepted / judged


acceptance_from_rounds = Exercise(
    title="a from a run",
    statement=(
        "Write acceptance_from_rounds(tokens, k): the estimate of a from a list with the tokens of each pass,"
        " where every pass drafted k."),
    stub="def acceptance_from_rounds(tokens, k):\n    ...  # your code",
    reference=_acceptance_from_rounds,
    cases=(
        ([2, 1], 1), ([1, 3], 2), ([3, 1, 2, 3], 2), ([5, 1, 5, 2, 4, 5], 4), ([1, 1, 1], 4), ([4, 4], 3)),
    hints=(
        "A pass with n tokens accepted n − 1 drafts. How many did the target look at?",
        "With a miss: the accepted ones and the rejected one, n in all. Without a miss: all k.",
        "So it judged min(n, k). Add up both over the run, and divide once at the end.",
    ),
    solution_code=(
        "def acceptance_from_rounds(tokens, k):\n"
        "    accepted = sum(n - 1 for n in tokens)\n"
        "    judged = sum(min(n, k) for n in tokens)\n"
        "    return accepted / judged"),
    misconceptions=(
        Misconception(
            lambda tokens, k: sum(n - 1 for n in tokens) / (k * len(tokens)),
            "That is accepted / drafted: it counts the discarded drafts as failures, though nobody"
            " judged them."),
        Misconception(
            lambda tokens, k: sum(n - 1 for n in tokens) / sum(tokens),
            "You divided by all tokens: after a full accept the last one is the bonus,"
            " which is no judged draft."),
        Misconception(
            lambda tokens, k: sum(n == k + 1 for n in tokens) / len(tokens),
            "That is the share of passes whose whole draft was accepted, an estimate of a^k."),
        Misconception(
            lambda tokens, k: sum(tokens) / (len(tokens) * (k + 1)),
            "That compares tokens with the most there could be, and counts the target's own tokens"
            " as accepted."),
        Misconception(
            lambda tokens, k: sum((n - 1) / min(n, k) for n in tokens) / len(tokens),
            "You averaged the rates of the passes; a pass that judged one draft then weighs as much"
            " as one that judged k. Add up first, divide once."),
        Misconception(
            lambda tokens, k: sum(n - 1 for n in tokens) / len(tokens),
            "That is accepted drafts per pass: a number of tokens, not a rate."),
    ),
)
