"""The exercises of lesson 4: the speedup, the best draft length, the break-even pass, the price of waste."""

from specdec_lessons import formulas
from specdec_lessons.exercises.kit import Exercise, Misconception


def _tokens(a, k):
    return sum(a**i for i in range(k + 1))


def _speedup(a, k, c):
    return formulas.speedup(a, k, c)


def _best_k(a, c, k_max):
    return formulas.best_draft_length(a, c, k_max)


def _break_even_verify_cost(a, k, c):
    return formulas.expected_tokens(a, k) - k * c


def _wasted_time(a, k, c):
    return c * formulas.expected_wasted_drafts(a, k)


def _argmax(values):
    return max(range(len(values)), key=values.__getitem__)


def _greedy_k(a, c, k_max):
    return next((k for k in range(k_max) if a ** (k + 1) <= c), k_max)


speedup = Exercise(
    title="Speedup",
    statement="Write speedup(a, k, c) without the package: tokens per pass over its cost. 0 ≤ a < 1.",
    stub="def speedup(a, k, c):\n    ...  # your code",
    reference=_speedup,
    cases=((0.5, 1, 0.5), (0.5, 2, 0.25), (0.8, 4, 0.1), (0.9, 13, 0.05), (0.3, 8, 0.4)),
    hints=(
        "What does one pass yield, and what does it cost? Divide the first by the second.",
        "It yields 1 + a + a² + … + a^k tokens. It costs two things: the drafts, and the target's own pass.",
        "sum(a**i for i in range(k + 1)) / (1 + k * c)",
    ),
    solution_code="def speedup(a, k, c):\n    tokens = sum(a**i for i in range(k + 1))\n"
                  "    return tokens / (1 + k * c)",
    misconceptions=(
        Misconception(lambda a, k, c: _tokens(a, k) / (k * c),
                      "You charge for the drafts alone. The target's own pass costs 1: together 1 + k c."),
        Misconception(lambda a, k, c: _tokens(a, k),
                      "That is E, what a pass yields. Divide by what it costs: the target's pass and k drafts."),
        Misconception(lambda a, k, c: _tokens(a, k) / (1 + c),
                      "You pay for one draft step; there are k of them, one after the other."),
        Misconception(lambda a, k, c: (a * k + 1) / (1 + k * c),
                      "a·k + 1 counts drafts behind a rejection as if they survived: E = 1 + a + … + a^k."),
        Misconception(lambda a, k, c: _tokens(a, k - 1) / (1 + k * c),
                      "Your sum stops one short: k drafts can give up to k + 1 tokens, so it runs to a^k."),
        Misconception(lambda a, k, c: _tokens(a, k) / (1 + (k + 1) * c),
                      "You pay the draft for k + 1 steps, but it makes only k: one token is the target's."),
    ),
)

best_k = Exercise(
    title="Best draft length",
    statement="Write best_k(a, c, k_max): the k in 0..k_max with the largest speedup, the smaller on a tie.",
    stub="def best_k(a, c, k_max):\n    ...  # your code",
    reference=_best_k,
    cases=((0.7, 0.5, 4), (0.5, 0.5, 8), (0.8, 0.1, 4), (0.8, 0.1, 16), (0.3, 0.4, 16), (0.9, 0.05, 32)),
    hints=(
        "Try every length from 0 to k_max with formulas.speedup, and keep the best.",
        "max(numbers, key=f) gives the first number at which f is largest: that settles ties, too.",
        "max(range(k_max + 1), key=lambda k: formulas.speedup(a, k, c))",
    ),
    solution_code="def best_k(a, c, k_max):\n"
                  "    return max(range(k_max + 1), key=lambda k: formulas.speedup(a, k, c))",
    misconceptions=(
        Misconception(lambda a, c, k_max: _speedup(a, _best_k(a, c, k_max), c),
                      "That is the largest speedup; asked is the k at which it is reached."),
        Misconception(lambda a, c, k_max: _best_k(a, c, k_max) + 1,
                      "That is k + 1, the number of positions the target scores. The draft length is k."),
        Misconception(lambda a, c, k_max: 1 + _argmax([_speedup(a, k, c) for k in range(1, k_max + 1)]),
                      "You never consider k = 0. Where no draft pays, 'do not speculate' is the answer."),
        Misconception(lambda a, c, k_max: _argmax([_speedup(a, k, c) for k in range(k_max)]),
                      "Your search stops at k_max − 1: range(k_max) leaves out its end."),
        Misconception(lambda a, c, k_max: k_max,
                      "That maximises tokens per pass, which grow with every k. Maximise tokens per cost."),
        Misconception(_greedy_k,
                      "You draft while a^(k+1) > c. A draft step must earn more than c tokens: you make"
                      " c·S(k) of them in that time anyway."),
    ),
)

break_even_verify_cost = Exercise(
    title="How dear may the pass be?",
    statement="Write break_even_verify_cost(a, k, c): the cost v of the verify pass at which S is 1.",
    stub="def break_even_verify_cost(a, k, c):\n    ...  # your code",
    reference=_break_even_verify_cost,
    cases=((0.5, 1, 0.25), (0.5, 2, 0.5), (0.8, 5, 0.05), (0.6, 8, 0.1), (0.9, 3, 0.0)),
    hints=(
        "Write S = E / (v + k c) = 1 and solve for v.",
        "formulas.expected_tokens(a, k) is E. What remains of it when the drafts are paid?",
        "formulas.expected_tokens(a, k) - k * c",
    ),
    solution_code="def break_even_verify_cost(a, k, c):\n    return formulas.expected_tokens(a, k) - k * c",
    misconceptions=(
        Misconception(lambda a, k, c: formulas.expected_tokens(a, k),
                      "The drafts take time too: subtract their k c."),
        Misconception(lambda a, k, c: formulas.expected_tokens(a, k) - 1 - k * c,
                      "That is what the pass may cost beyond one plain step: v itself is one more."),
        Misconception(lambda a, k, c: formulas.expected_tokens(a, k) - c,
                      "You subtract one draft step; a pass has k of them."),
        Misconception(lambda a, k, c: formulas.expected_tokens(a, k) / (1 + k * c),
                      "That is the speedup at v = 1. Set E / (v + k c) equal to 1 and solve for v."),
    ),
)

wasted_time = Exercise(
    title="The price of waste",
    statement="Write wasted_time(a, k, c): the target steps that one pass spends on drafts thrown away.",
    stub="def wasted_time(a, k, c):\n    ...  # your code",
    reference=_wasted_time,
    cases=((0.5, 1, 0.5), (0.5, 2, 0.5), (0.8, 4, 0.1), (0.9, 13, 0.05), (0.2, 6, 0.3)),
    hints=(
        "How many of the k drafts end up in the text, on average? Not E: one token of each pass is no draft.",
        "Kept drafts: E − 1. Thrown away: k − (E − 1). Each took c.",
        "c * (k + 1 - formulas.expected_tokens(a, k))",
    ),
    solution_code="def wasted_time(a, k, c):\n    return c * (k + 1 - formulas.expected_tokens(a, k))",
    misconceptions=(
        Misconception(lambda a, k, c: c * k * (1 - a),
                      "k(1 − a) takes each draft alone, but a rejection throws away all that follow it."),
        Misconception(lambda a, k, c: c * (k - formulas.expected_tokens(a, k)),
                      "E counts the target's own token, which is no draft: only E − 1 drafts are kept."),
        Misconception(lambda a, k, c: formulas.expected_wasted_drafts(a, k),
                      "That is the number of drafts thrown away; each took c steps of time."),
        Misconception(lambda a, k, c: c * k * (1 - a**k),
                      "One rejection does not lose all k drafts: those before it are kept."),
    ),
)
