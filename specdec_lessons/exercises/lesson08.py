"""The exercises of lesson 8: best k under load, survival read rightly, a histogram, a second candidate."""

from specdec_lessons import formulas, rejection
from specdec_lessons.exercises.kit import Exercise, Misconception


def _best_k(a, c, v):
    return formulas.best_draft_length(a, c, len(v) - 1, v)


def _conditional(survival):
    return [now / before for before, now in zip([1, *survival], survival)]


def _tokens_per_pass(histogram):
    return 1 + sum(i * count for i, count in enumerate(histogram)) / sum(histogram)


def _second_chance(p, q):
    first = rejection.acceptance_probability(p, q)
    return first + (1 - first) * rejection.acceptance_probability(rejection.residual(p, q), q)


def _argmax(values):
    return max(range(len(values)), key=values.__getitem__)


best_k_under_load = Exercise(
    title="The best k under load",
    statement="Write best_k_under_load(a, c, v): v[k] is the cost of a pass over k drafts and one; the k in"
    " 0..len(v) − 1 with the largest speedup, the smaller on a tie.",
    stub="def best_k_under_load(a, c, v):\n    ...  # your code",
    reference=_best_k,
    cases=(
        (0.8, 0.1, [1, 1, 1, 1, 1]),
        (0.8, 0.1, [1, 1.9, 2.8, 3.7]),
        (0.7, 0.15, [1, 1, 1.2, 1.7, 2.3]),
        (0.7, 0.15, [1, 1.3, 1.9, 2.6, 3.3]),
        (0.8, 0.05, [1, 1.21, 1.42, 1.63, 1.87, 2.1]),
        (0.9, 0.1, [1, 2.5, 2.5, 2.5, 2.5]),
    ),
    hints=(
        "For each k there is one speedup: tokens per pass over the cost of pass and drafts.",
        "formulas.speedup(a, k, c, v[k]), for every k of range(len(v)); k = 0 is one of them.",
        "max(range(len(v)), key=lambda k: formulas.speedup(a, k, c, v[k]))",
    ),
    solution_code="def best_k_under_load(a, c, v):\n"
    "    return max(range(len(v)), key=lambda k: formulas.speedup(a, k, c, v[k]))",
    misconceptions=(
        Misconception(
            lambda a, c, v: formulas.best_draft_length(a, c, len(v) - 1),
            "You let every pass cost 1. Under load v[k] grows, and with it the price of a draft.",
        ),
        Misconception(
            lambda a, c, v: len(v) - 1, "That maximises tokens per pass. Divide by what the round costs."
        ),
        Misconception(
            lambda a, c, v: 1 + _argmax([formulas.speedup(a, k, c, v[k]) for k in range(1, len(v))]),
            "You never consider k = 0: under load 'switch it off' is often the answer.",
        ),
        Misconception(
            lambda a, c, v: _argmax([formulas.expected_tokens(a, k) / v[k] for k in range(len(v))]),
            "The drafts take time too: k c beside v[k].",
        ),
    ),
)

conditional_rates = Exercise(
    title="Survival is not a rate",
    statement="Write conditional_rates(survival): from the shares of passes that accepted position 1, 2, …,"
    " as logs print them, the acceptance rate among the drafts that were judged at each position.",
    stub="def conditional_rates(survival):\n    ...  # your code",
    reference=_conditional,
    cases=(([0.5],), ([0.8, 0.4],), ([0.8, 0.64, 0.512],), ([0.805, 0.632, 0.483],), ([0.6, 0.3, 0.27],)),
    hints=(
        "Of 100 passes 80 accepted draft 1 and 40 accepted draft 2. How many judged draft 2?",
        "Position i was judged in the passes that accepted position i − 1. Before position 1 that is all.",
        "[now / before for before, now in zip([1, *survival], survival)]",
    ),
    solution_code="def conditional_rates(survival):\n"
    "    return [now / before for before, now in zip([1, *survival], survival)]",
    misconceptions=(
        Misconception(
            lambda survival: list(survival),
            "That is the survival itself: of all passes. Divide by those that got as far as this position.",
        ),
        Misconception(
            lambda survival: [s / survival[0] for s in survival],
            "Divide by the position just before, not always by the first.",
        ),
        Misconception(
            lambda survival: [s ** (1 / i) for i, s in enumerate(survival, start=1)],
            "The i-th root is the one rate that would give this survival at all positions; asked is each"
            " position's own.",
        ),
        Misconception(
            lambda survival: [1 - (before - now) for before, now in zip([1, *survival], survival)],
            "You divide the losses by all passes. Most of them had ended before this position.",
        ),
    ),
)

tokens_from_histogram = Exercise(
    title="A histogram of accepted drafts",
    statement="Write tokens_from_histogram(histogram): entry i counts the passes that accepted i drafts;"
    " return the tokens per pass.",
    stub="def tokens_from_histogram(histogram):\n    ...  # your code",
    reference=_tokens_per_pass,
    cases=(([0, 1],), ([1, 1],), ([3, 0, 1],), ([11, 14, 11, 4, 0, 3],), ([5, 0, 0, 10],)),
    hints=(
        "How many passes were there, and how many drafts did they accept together?",
        "Passes: sum(histogram). Accepted: each entry times its place. And each pass adds one of its own.",
        "1 + sum(i * n for i, n in enumerate(histogram)) / sum(histogram)",
    ),
    solution_code="def tokens_from_histogram(histogram):\n"
    "    return 1 + sum(i * n for i, n in enumerate(histogram)) / sum(histogram)",
    misconceptions=(
        Misconception(
            lambda histogram: _tokens_per_pass(histogram) - 1,
            "Those are the accepted drafts. Each pass adds one token of the target's own.",
        ),
        Misconception(
            lambda histogram: (
                sum(i * n for i, n in enumerate(histogram)) / (sum(histogram) * (len(histogram) - 1))
            ),
            "That is accepted / drafted, the rate that logs print; asked is tokens per pass.",
        ),
        Misconception(
            lambda histogram: 1 + sum(i * n for i, n in enumerate(histogram, start=1)) / sum(histogram),
            "The first entry counts passes with no accepted draft: places start at 0.",
        ),
    ),
)

second_chance = Exercise(
    title="A second candidate",
    statement="Write second_chance(p, q): the chance that one of two independent candidates from q is accepted,"
    " when the second is judged against what the first left.",
    stub="def second_chance(p, q):\n    ...  # your code",
    reference=_second_chance,
    cases=(
        ([0.6, 0.4], [0.8, 0.2]),
        ([0.5, 0.5], [1.0, 0.0]),
        ([0.25, 0.25, 0.5], [0.75, 0.125, 0.125]),
        ([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]),
    ),
    hints=(
        "The first is accepted as always. Where it is not, what distribution does the target still owe?",
        "rejection.residual(p, q) takes the place of p when the second candidate is judged.",
        "first + (1 − first) × rejection.acceptance_probability(rejection.residual(p, q), q)",
    ),
    solution_code="def second_chance(p, q):\n"
    "    first = rejection.acceptance_probability(p, q)\n"
    "    owed = rejection.residual(p, q)\n"
    "    return first + (1 - first) * rejection.acceptance_probability(owed, q)",
    misconceptions=(
        Misconception(
            lambda p, q: 1 - (1 - rejection.acceptance_probability(p, q)) ** 2,
            "You judge the second against p again. The first one's mass has been paid out already: what is"
            " owed now is the residual.",
        ),
        Misconception(
            lambda p, q: sum(a * (1 - (1 - b) ** 2) for a, b in zip(p, q)),
            "That draws from p first and looks whether it is among the candidates: exact, but it accepts"
            " less.",
        ),
        Misconception(
            lambda p, q: rejection.acceptance_probability(p, q), "That is the first candidate alone."
        ),
    ),
)
