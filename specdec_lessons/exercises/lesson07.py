"""The exercises of lesson 7: when to stop, the +2 / −1 schedule, the clairvoyant's speedup."""

from specdec_lessons import drafting, policy_race
from specdec_lessons.exercises.kit import Exercise, Misconception


def _draft_length(chances, price):
    return drafting.draft_length_for(chances, price)


def _next_length(k, accepted):
    return min(16, k + 2) if accepted == k else max(1, k - 1)


def _clairvoyant(a, c):
    return policy_race.clairvoyant_speedup(a, c)


def _each_alone(chances, price):
    return next((k for k, chance in enumerate(chances) if chance <= price), len(chances))


def _reached_only(chances, price):
    k, reached = 0, 1.0
    while k < len(chances) and reached > price:
        reached *= chances[k]
        k += 1
    return k


draft_length = Exercise(
    title="How many drafts?",
    statement="chances[i] is the chance that draft i is accepted if it is reached. Write"
              " draft_length(chances, price): how many to draft, when each must be kept with a chance above"
              " price.",
    stub="def draft_length(chances, price):\n    ...  # your code",
    reference=_draft_length,
    cases=(([0.9], 0.5), ([0.2], 0.5), ([0.9, 0.9, 0.3, 1.0], 0.25), ([0.8] * 16, 0.247),
           ([0.3, 0.95, 0.95], 0.1), ([1.0, 1.0, 0.6, 0.6], 0.4), ([], 0.1)),
    hints=(
        "A draft is kept only if it is accepted and all those before it are. What is the chance of that?",
        "Walk along the chances and multiply as you go. Stop when the product is no longer above the price.",
        "kept = kept * chance; if kept <= price, return the number of drafts so far.",
    ),
    solution_code="def draft_length(chances, price):\n    kept, k = 1.0, 0\n    for chance in chances:\n"
                  "        kept = kept * chance\n        if kept <= price:\n            break\n"
                  "        k = k + 1\n    return k",
    misconceptions=(
        Misconception(_each_alone,
                      "You look at each draft alone. It is lost, too, if one before it fails: multiply."),
        Misconception(_reached_only,
                      "You ask whether the draft is reached. It brings a token only if accepted, too."),
        Misconception(lambda chances, price: len(chances),
                      "That drafts whatever it costs. Stop where the product falls to the price."),
    ),
)

next_length = Exercise(
    title="Two up, one down",
    statement="The last round drafted k tokens and kept `accepted` of them. Write next_length(k, accepted):"
              " two more after a full accept (16 at most), else one fewer (1 at least).",
    stub="def next_length(k, accepted):\n    ...  # your code",
    reference=_next_length,
    cases=((4, 4), (4, 3), (4, 0), (1, 0), (1, 1), (15, 15), (16, 16), (16, 15)),
    hints=(
        "There are two cases: all k were kept, or not. How many exactly were kept does not matter.",
        "Add 2 in the first case, subtract 1 in the second, and mind both ends of the range.",
        "min(16, k + 2) if accepted == k else max(1, k - 1)",
    ),
    solution_code="def next_length(k, accepted):\n"
                  "    return min(16, k + 2) if accepted == k else max(1, k - 1)",
    misconceptions=(
        Misconception(lambda k, accepted: min(16, k + 2) if accepted == k else k - 1,
                      "Yours may reach 0 drafts. Then nothing is judged, and it never learns better."),
        Misconception(lambda k, accepted: k + 2 if accepted == k else max(1, k - 1),
                      "Yours has no upper end: after an easy stretch a miss wastes a very long draft."),
        Misconception(lambda k, accepted: min(16, k + 2) if accepted > 0 else max(1, k - 1),
                      "One kept draft is not enough: the schedule grows only when all k were kept."),
        Misconception(lambda k, accepted: min(16, accepted + 2),
                      "You start from what was kept; the schedule starts from what was drafted."),
    ),
)

clairvoyant = Exercise(
    title="The clairvoyant",
    statement="Write clairvoyant(a, c): the speedup of one who drafts exactly what will be kept. Of all"
              " tokens the share a < 1 is kept drafts, each for c; each of the others takes one pass.",
    stub="def clairvoyant(a, c):\n    ...  # your code",
    reference=_clairvoyant,
    cases=((0.5, 0.5), (0.8, 0.1), (0.9, 0.05), (0.0, 0.1), (0.6, 0.0)),
    hints=(
        "Take 100 tokens. How many of them are drafts, how many come from a pass, and what does that cost?",
        "The time for one token is a·c + (1 − a)·1 on average. Plain decoding takes 1.",
        "1 / (1 - a + c * a)",
    ),
    solution_code="def clairvoyant(a, c):\n    return 1 / (1 - a + c * a)",
    misconceptions=(
        Misconception(lambda a, c: 1 / (1 - a),
                      "Those are the tokens per pass. The drafts that are kept have to be paid, too."),
        Misconception(lambda a, c: 1 / (1 - a + c),
                      "You pay a draft for every token. Those that come from a pass were not drafted here."),
        Misconception(lambda a, c: 1 - a + c * a,
                      "That is the time for one token. The speedup is one over it."),
    ),
)
